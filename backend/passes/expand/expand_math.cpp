#include "backend/passes/expand/expand_math.h"

#include "backend/math/elementary.h"
#include "backend/math/remainder.h"
#include "backend/passes/expand/expansion.h"
#include "backend/passes/expand/recorded.h"

#include <array>

namespace imbrex::passes::expand {
namespace {

// What `rarely` chooses between may be several values at once.
template <class Scalar>
void eachValue(Value<Scalar> &value, auto visit) {
  visit(value);
}
template <class F, class U>
void eachValue(math::Reduced<F, U> &reduced, auto visit) {
  visit(reduced.rest);
  visit(reduced.tail);
  visit(reduced.quadrant);
}

template <class T>
std::vector<ir::ValueId> idsOf(T values, Recorder &recorder) {
  std::vector<ir::ValueId> ids;
  eachValue(values, [&](const auto &value) { ids.push_back(value.in(recorder)); });
  return ids;
}

} // namespace

/// The rare value is computed where some element wants it, and then chosen element by element.
template <class ComputeRare, class T>
T rarely(const Value<bool> &condition, ComputeRare computeRare, T common) {
  Recorder &recorder = *condition.recorder();
  if (!recorder.mayBranch()) return select(condition, T(computeRare()), common);
  const auto rare = [&] { return idsOf(T(select(condition, T(computeRare()), common)), recorder); };
  const std::vector<ir::ValueId> results =
      recorder.ifAny(condition.in(recorder), rare, idsOf(common, recorder));
  size_t next = 0;
  eachValue(common, [&](auto &value) { value = {recorder, results[next++]}; });
  return common;
}

namespace {

using ir::ElementKind;
using ir::OpKind;
using Single = Value<float>;
using Double = Value<double>;

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
#undef IMBREX_FUNCTION

const Function *functionOf(OpKind kind) {
  const auto *found = llvm::find_if(kFunctions, [&](const Function &f) { return f.kind == kind; });
  return found == kFunctions.end() ? nullptr : found;
}

template <class F>
ir::ValueId record(F (*function)(llvm::ArrayRef<F>), Recorder &recorder,
                   llvm::ArrayRef<ir::ValueId> operands) {
  llvm::SmallVector<F, 2> values;
  for (const ir::ValueId operand : operands) values.push_back(F(recorder, operand));
  return function(values).in(recorder);
}

bool asksForFast(const ir::Op &op) {
  const auto *math = std::get_if<ir::MathAttrs>(&op.attributes);
  return math && math->accuracy == ir::Accuracy::Fast;
}

llvm::SmallVector<ir::ValueId, 4> elementary(const machine::Machine &machine, Recorder &recorder,
                                             const ir::Op &op) {
  const Function *function = functionOf(op.kind);
  if (!function) return {};
  const ElementKind element = recorder.kernel().type(op.result()).element();
  if (!ir::isFloat(element)) return {}; // the remainder of integers
  if (element == ElementKind::F64) return {record(function->inDouble, recorder, op.operands)};
  const bool isFast = asksForFast(op) && machine::hasFastForm(machine, info(op.kind).mnemonic);
  if (isFast && element == ElementKind::F32) return {};

  ir::Builder build = recorder.builder();
  llvm::SmallVector<ir::ValueId, 2> operands;
  for (const ir::ValueId operand : op.operands)
    operands.push_back(build.cast(operand, ElementKind::F32));
  const ir::ValueId result =
      isFast ? build.create(op.kind, operands, recorder.kernel().type(operands[0]), op.attributes)
                   .result()
             : record(function->single, recorder, operands);
  return {recorder.builder().cast(result, element)};
}

} // namespace
} // namespace imbrex::passes::expand

namespace imbrex::passes {

void expandMath(ir::Kernel &kernel, const PassContext &context) {
  const auto expansion = [&](expand::Recorder &recorder, const ir::Op &op) {
    return expand::elementary(context.machine, recorder, op);
  };
  expand::Expander(kernel, expansion).expandIn(kernel.body());
}

} // namespace imbrex::passes
