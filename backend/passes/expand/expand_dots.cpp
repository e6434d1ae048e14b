#include "backend/passes/expand/expand_dots.h"

#include "backend/passes/expand/expansion.h"

namespace imbrex::passes {
namespace {

using namespace ir;
using expand::Recorder;

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

ValueId toBf16(Builder &build, ValueId x) {
  return build.cast(build.cast(x, ElementKind::BF16), ElementKind::F32);
}

using Rounding = ValueId (*)(Builder &, ValueId);

/// An f32 tile as a sum of two that have few bits.
struct BigAndSmall {
  ValueId big, small;
};
BigAndSmall partsOf(Builder &build, Rounding round, ValueId x) {
  const ValueId big = round(build, x);
  return {big, round(build, build.elementwise(OpKind::Sub, {x, big}))};
}

ValueId plainDot(Builder &build, ValueId a, ValueId b, ValueId c) {
  const Type result = build.kernel().type(c);
  return build.create(OpKind::Dot, {a, b, c}, result).result();
}

/// The small products first; where an infinity makes their sum a NaN, it counts as 0.
ValueId threeProducts(Builder &build, Rounding round, const Op &op) {
  const BigAndSmall a = partsOf(build, round, op.operand(0)),
                    b = partsOf(build, round, op.operand(1));
  const Type type = build.kernel().type(op.operand(2));
  const ValueId zero = build.floating(type, 0);
  const ValueId first = plainDot(build, a.small, b.big, zero);
  const ValueId small = plainDot(build, a.big, b.small, first);
  const ValueId isNan = build.elementwise(OpKind::Ne, {small, small});
  const ValueId rest = build.elementwise(OpKind::Select, {isNan, zero, small});
  return build.elementwise(OpKind::Add, {plainDot(build, a.big, b.big, rest), op.operand(2)});
}

llvm::SmallVector<ValueId, 4> plainProduct(Recorder &recorder, const Op &op) {
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
  switch (op.attrs<DotAttrs>().precision) {
  case Precision::Ieee: return {};
  case Precision::Tf32: {
    const ValueId a = toTf32(build, op.operand(0)), b = toTf32(build, op.operand(1));
    return {plainDot(build, a, b, op.operand(2))};
  }
  case Precision::Tf32x3: return {threeProducts(build, toTf32, op)};
  case Precision::Bf16x3: return {threeProducts(build, toBf16, op)};
  }
  return {};
}

} // namespace

void expandDots(Kernel &kernel, const PassContext &) {
  expand::Expander(kernel, plainProduct).expandIn(kernel.body());
}

} // namespace imbrex::passes
