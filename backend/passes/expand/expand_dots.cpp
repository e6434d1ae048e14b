#include "backend/passes/expand/expand_dots.h"

#include "backend/passes/expand/expansion.h"

namespace imbrex::passes {
namespace {

using namespace ir;
using expand::ExpansionRecorder;

/// The nearest tf32, half away from zero: the magnitude's bits rounded at bit 13. Infinities and
/// NaNs stay, since their low bits must not carry into the sign.
ValueId toTf32(Builder &build, ValueId x) {
  constexpr std::int64_t kHalf = 0x1000, kKept = 0xffffe000, kExponent = 0x7f800000;
  const ValueId bits = build.bitcast(x, ElementKind::U32);
  const Type words = build.kernel().type(bits);
  const auto word = [&](std::int64_t number) { return build.integer(words, number); };
  const ValueId sum = build.elementwise(OpKind::Add, {bits, word(kHalf)});
  const ValueId rounded = build.elementwise(OpKind::And, {sum, word(kKept)});
  const ValueId exponent = build.elementwise(OpKind::And, {bits, word(kExponent)});
  const ValueId isSpecial = build.elementwise(OpKind::Eq, {exponent, word(kExponent)});
  return build.bitcast(build.elementwise(OpKind::Select, {isSpecial, bits, rounded}),
                       ElementKind::F32);
}

ValueId plainDot(Builder &build, ValueId a, ValueId b, ValueId c) {
  const Type result = build.kernel().type(c);
  return build.create(OpKind::Dot, {a, b, c}, result).result();
}

llvm::SmallVector<ValueId, 4> plainProduct(ExpansionRecorder &recorder, const Op &op) {
  if (op.kind != OpKind::Dot || !op.attrs<DotAttrs>().unit.empty()) return {};
  Builder build = recorder.builder();
  const auto isNarrow = [&](size_t i) {
    return isNarrowFloat(recorder.kernel().type(op.operand(i)).element());
  };
  const auto asF32 = [&](size_t i) { return build.cast(op.operand(i), ElementKind::F32); };
  if (isNarrow(0) || isNarrow(1)) {
    const ValueId a = asF32(0), b = asF32(1);
    return {plainDot(build, a, b, op.operand(2))};
  }
  if (op.attrs<DotAttrs>().precision != Precision::Tf32) return {};
  const ValueId a = toTf32(build, op.operand(0)), b = toTf32(build, op.operand(1));
  return {plainDot(build, a, b, op.operand(2))};
}

} // namespace

void expandDots(Kernel &kernel, const PassContext &) {
  expand::Expander(kernel, plainProduct).expandIn(kernel.body());
}

} // namespace imbrex::passes
