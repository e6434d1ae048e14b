#include "backend/ir/requirement.h"

#include "backend/ir/constant_text.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace imbrex::ir {
namespace {

enum class Known : std::uint8_t { Given, Constant, Computed, No };

/// How a launch knows the result of an op.
Known knownHow(const Kernel &kernel, const Op &op) {
  if (op.results.size() != 1 || !kernel.type(op.result()).isScalar()) return Known::No;
  if (op.kind == OpKind::Constant) return Known::Constant;
  if (op.kind == OpKind::ViewExtent || op.kind == OpKind::ViewStride)
    return kernel.definition(op.operand(0)) ? Known::No : Known::Given;
  const bool isComputed =
      isElementwise(op.kind) || op.kind == OpKind::Cast || op.kind == OpKind::Bitcast;
  return isComputed ? Known::Computed : Known::No;
}

bool isLogical(const Kernel &kernel, const Op &op) {
  return op.results.size() == 1 && kernel.type(op.result()).isScalar() &&
         kernel.type(op.result()).element() == ElementKind::Bool &&
         (op.kind == OpKind::And || op.kind == OpKind::Or);
}

/// How C++ writes an operator; empty for what is written as a function.
std::string_view symbolOf(OpKind kind) {
  static constexpr std::pair<OpKind, std::string_view> kSymbols[] = {
      {OpKind::Add, "+"},  {OpKind::Sub, "-"},  {OpKind::Mul, "*"}, {OpKind::Div, "/"},
      {OpKind::Rem, "%"},  {OpKind::And, "&"},  {OpKind::Or, "|"},  {OpKind::Xor, "^"},
      {OpKind::Shl, "<<"}, {OpKind::Shr, ">>"}, {OpKind::Eq, "=="}, {OpKind::Ne, "!="},
      {OpKind::Lt, "<"},   {OpKind::Le, "<="},  {OpKind::Gt, ">"},  {OpKind::Ge, ">="}};
  const auto *const found =
      llvm::find_if(kSymbols, [&](const auto &row) { return row.first == kind; });
  return found != std::end(kSymbols) ? found->second : std::string_view();
}

/// Depth first; each value once, however often it is used.
class DepthFirstWalk {
public:
  DepthFirstWalk(const Kernel &kernel, llvm::function_ref<bool(ValueId, const Op *)> visit)
      : kernel_(kernel), visit_(visit) {}
  /// False where a visit said so.
  bool run(ValueId root) {
    llvm::SmallVector<ValueId, 16> pending{root};
    while (!pending.empty()) {
      const ValueId value = pending.pop_back_val();
      if (!seen_.insert(value.index()).second) continue;
      const Op *op = kernel_.definition(value);
      if (!visit_(value, op)) return false;
      if (op && knownHow(kernel_, *op) == Known::Computed)
        for (const ValueId operand : llvm::reverse(op->operands)) pending.push_back(operand);
    }
    return true;
  }

private:
  const Kernel &kernel_;
  llvm::function_ref<bool(ValueId, const Op *)> visit_;
  llvm::DenseSet<std::uint32_t> seen_;
};

/// Expressions of authors are short; what is longer is cut.
constexpr std::int32_t kMostDepth = 8;

/// An extent or a stride of a parameter.
std::string givenText(const Kernel &kernel, const Op &op) {
  const ValueId parameter = op.operand(0);
  const std::string &name = kernel.parameterName(kernel.parameterNumber(parameter));
  if (kernel.type(parameter).isTable()) return name + ".size()";
  return name + (op.kind == OpKind::ViewExtent ? ".extent(" : ".stride(") +
         std::to_string(op.attrs<AxisAttrs>().axis) + ")";
}

std::string written(const Kernel &kernel, ValueId value, std::int32_t depth) {
  const Op *op = kernel.definition(value);
  if (!op) return kernel.parameterName(kernel.parameterNumber(value));
  if (op->kind == OpKind::Constant)
    return constantToText(kernel.type(value), op->attrs<ConstantAttrs>().bits);
  if (knownHow(kernel, *op) == Known::Given) return givenText(kernel, *op);
  if (depth == 0) return "...";
  llvm::SmallVector<std::string, 3> operands;
  for (const ValueId operand : op->operands)
    operands.push_back(written(kernel, operand, depth - 1));
  if (op->kind == OpKind::Cast) return operands[0]; // C++ leaves most of them out
  const std::string symbol(isLogical(kernel, *op) ? op->kind == OpKind::And ? "&&" : "||"
                                                  : symbolOf(op->kind));
  if (symbol.empty())
    return std::string(info(op->kind).mnemonic) + "(" + llvm::join(operands, ", ") + ")";
  const auto bracketed = [&](std::size_t i) {
    const Op *inner = kernel.definition(op->operand(i));
    return inner && !symbolOf(inner->kind).empty() ? "(" + operands[i] + ")" : operands[i];
  };
  return bracketed(0) + " " + symbol + " " + bracketed(1);
}

} // namespace

const Op *unknownToLaunch(const Kernel &kernel, ValueId value) {
  const Op *unknown = nullptr;
  DepthFirstWalk(kernel, [&](ValueId, const Op *op) {
    if (op && knownHow(kernel, *op) == Known::No) unknown = op;
    return unknown == nullptr;
  }).run(value);
  return unknown;
}

std::vector<const Op *> requirementsOf(const Kernel &kernel) {
  std::vector<const Op *> found;
  for (const auto &op : kernel.body().ops)
    if (op->kind == OpKind::Require) found.push_back(op.get());
  return found;
}

std::vector<ValueId> conjunctsOf(const Kernel &kernel, ValueId condition) {
  std::vector<ValueId> holding;
  llvm::SmallVector<ValueId, 8> pending{condition};
  while (!pending.empty()) {
    const ValueId value = pending.pop_back_val();
    const Op *op = kernel.definition(value);
    if (op && op->kind == OpKind::And && isLogical(kernel, *op))
      pending.append({op->operand(1), op->operand(0)});
    else
      holding.push_back(value);
  }
  return holding;
}

std::string writtenOut(const Kernel &kernel, ValueId value) {
  return written(kernel, value, kMostDepth);
}

std::vector<ValueId> givenFor(const Kernel &kernel, ValueId value) {
  std::vector<ValueId> given;
  DepthFirstWalk(kernel, [&](ValueId one, const Op *op) {
    if (!op || knownHow(kernel, *op) == Known::Given) given.push_back(one);
    return true;
  }).run(value);
  return given;
}

} // namespace imbrex::ir
