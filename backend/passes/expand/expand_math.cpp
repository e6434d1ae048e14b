#include "backend/passes/expand/expand_math.h"

#include "backend/analysis/never_positive.h"
#include "backend/math/elementary.h"
#include "backend/math/remainder.h"
#include "backend/passes/expand/expansion.h"
#include "backend/passes/expand/recorded.h"

#include <array>
#include <map>
#include <utility>

namespace imbrex::passes::expand {
/// Values that few elements ask for.
template <class ComputeRare, class T>
T rarely(const Recorded<bool> &condition, ComputeRare computeRare, T common) {
  ExpansionRecorder &recorder = *condition.recorder();
  if (recorder.rare() == ExpansionRecorder::RareValues::Select)
    return select(condition, T(computeRare()), common);
  recorder.askWhere(condition.in(recorder));
  return common;
}

namespace {

using ir::ElementKind;
using ir::OpKind;
using Single = Recorded<float>;
using Double = Recorded<double>;

/// A function of one or two operands in both precisions.
struct Function {
  OpKind kind;
  Single (*single)(llvm::ArrayRef<Single> x);
  Double (*inDouble)(llvm::ArrayRef<Double> x);
};

#define IMBREX_FUNCTION(Kind, name)                                                                \
  {OpKind::Kind, [](llvm::ArrayRef<Single> x) { return math::name<math::Single>(x[0]); },          \
   [](llvm::ArrayRef<Double> x) { return math::name<math::Double>(x[0]); }}
constexpr auto kFunctions = std::to_array<Function>({
    IMBREX_FUNCTION(Rsqrt, rsqrt),
    IMBREX_FUNCTION(Exp, exp),
    IMBREX_FUNCTION(Exp2, exp2),
    IMBREX_FUNCTION(Expm1, expm1),
    IMBREX_FUNCTION(Log, log),
    IMBREX_FUNCTION(Log2, log2),
    IMBREX_FUNCTION(Log1p, log1p),
    IMBREX_FUNCTION(Sin, sin),
    IMBREX_FUNCTION(Cos, cos),
    IMBREX_FUNCTION(Tan, tan),
    IMBREX_FUNCTION(Tanh, tanh),
    IMBREX_FUNCTION(Erf, erf),
    {OpKind::Rem, [](llvm::ArrayRef<Single> x) { return math::fmod<math::Single>(x[0], x[1]); },
     [](llvm::ArrayRef<Double> x) { return math::fmod<math::Double>(x[0], x[1]); }},
});
/// The same bits by fewer ops, where nothing overflows.
constexpr Function kExpOfNonePositive = IMBREX_FUNCTION(Exp, expOfNonePositive);
#undef IMBREX_FUNCTION

const Function *functionOf(const ir::Kernel &kernel, const ir::Op &op) {
  if (op.kind == OpKind::Exp && analysis::isNeverPositive(kernel, op.operand(0)))
    return &kExpOfNonePositive;
  const auto *found =
      llvm::find_if(kFunctions, [&](const Function &f) { return f.kind == op.kind; });
  return found == kFunctions.end() ? nullptr : found;
}

/// Functions of one angle in one block: they ask for the same values that are rare, by one branch,
/// and share most of their work on either side of it.
class Angles {
public:
  struct Angle {
    ir::ValueId operand = {}; ///< In the precision that it is computed in.
    ir::Op *branch = nullptr; ///< Null: not yet.
  };
  static bool isOne(OpKind kind) {
    return kind == OpKind::Sin || kind == OpKind::Cos || kind == OpKind::Tan;
  }
  Angle &of(const ExpansionRecorder &recorder, const ir::Op &op) {
    return angles_[{recorder.block(), op.operand(0)}];
  }

private:
  std::map<std::pair<const ir::Block *, ir::ValueId>, Angle> angles_;
};

template <class F>
ir::ValueId record(F (*function)(llvm::ArrayRef<F>), ExpansionRecorder &recorder,
                   llvm::ArrayRef<ir::ValueId> operands, Angles::Angle *angle) {
  llvm::SmallVector<F, 2> values;
  for (const ir::ValueId operand : operands) values.push_back(F(recorder, operand));
  const auto compute = [&] { return function(values).in(recorder); };
  if (angle != nullptr && angle->branch != nullptr)
    return recorder.joinBranch(*angle->branch, compute);
  const ir::ValueId result = recorder.branchWhereAsked(compute);
  if (angle != nullptr) *angle = {operands[0], recorder.kernel().definition(result)};
  return result;
}

bool asksForFast(const ir::Op &op) {
  const auto *math = std::get_if<ir::MathAttrs>(&op.attributes);
  return math && math->accuracy == ir::Accuracy::Fast;
}

llvm::SmallVector<ir::ValueId, 4> elementary(const machine::Machine &machine, Angles &angles,
                                             ExpansionRecorder &recorder, const ir::Op &op) {
  const Function *function = functionOf(recorder.kernel(), op);
  if (!function) return {};
  const ElementKind element = recorder.kernel().type(op.result()).element();
  if (!ir::isFloat(element)) return {}; // the remainder of integers
  const bool isShared = Angles::isOne(op.kind) && recorder.mayBranch();
  Angles::Angle *const angle = isShared ? &angles.of(recorder, op) : nullptr;
  if (element == ElementKind::F64)
    return {record(function->inDouble, recorder, op.operands, angle)};
  const bool isFast = asksForFast(op) && machine::hasFastForm(machine, info(op.kind).mnemonic);
  if (isFast && element == ElementKind::F32) return {};

  ir::Builder build = recorder.builder();
  llvm::SmallVector<ir::ValueId, 2> operands;
  for (const ir::ValueId operand : op.operands)
    operands.push_back(angle != nullptr && angle->branch != nullptr
                           ? angle->operand
                           : build.cast(operand, ElementKind::F32));
  const ir::ValueId result =
      isFast ? build.create(op.kind, operands, recorder.kernel().type(operands[0]), op.attributes)
                   .result()
             : record(function->single, recorder, operands, angle);
  return {recorder.builder().cast(result, element)};
}

} // namespace
} // namespace imbrex::passes::expand

namespace imbrex::passes {

void expandMath(ir::Kernel &kernel, const PassContext &context) {
  expand::Angles angles;
  const auto expansion = [&](expand::ExpansionRecorder &recorder, const ir::Op &op) {
    return expand::elementary(context.machine, angles, recorder, op);
  };
  expand::Expander(kernel, expansion).expandIn(kernel.body());
}

} // namespace imbrex::passes
