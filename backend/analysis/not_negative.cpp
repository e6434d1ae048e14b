#include "backend/analysis/not_negative.h"

namespace imbrex::analysis {
namespace {

using namespace ir;

bool isUnsigned(const Type &type) {
  return type.isTile() && isInteger(type.element()) && !isSigned(type.element());
}

bool isPositiveConstant(const Op &op, ElementKind element) {
  const std::int32_t sign = info(element).bits - 1;
  return (op.attrs<ConstantAttrs>().bits >> sign & 1) == 0;
}

} // namespace

NotNegative::NotNegative(const Kernel &kernel) : contains_(kernel.valueCount()) {
  const auto add = [&](ValueId value, bool follows) {
    contains_[value.index()] = follows || isUnsigned(kernel.type(value));
  };
  for (const ValueId parameter : kernel.body().arguments) add(parameter, false);
  walk(kernel.body(), [&](const Op &op) {
    for (const ValueId result : op.results) add(result, follows(kernel, op));
    for (const Block &region : op.regions)
      for (const ValueId argument : region.arguments) add(argument, false);
    if (op.kind == OpKind::For)
      add(op.regions[0].arguments[0], contains(op.operand(0)) && contains(op.operand(2)));
  });
}

bool NotNegative::follows(const Kernel &kernel, const Op &op) const {
  const auto operand = [&](std::size_t i) { return contains(op.operand(i)); };
  const auto elementOf = [&](ValueId value) { return kernel.type(value).element(); };
  // Not a switch: sums and products, and all other ops, may wrap around.
  if (op.kind == OpKind::ProgramId || op.kind == OpKind::NumPrograms ||
      op.kind == OpKind::ViewExtent)
    return true;
  if (op.results.size() != 1 || !kernel.type(op.result()).isTile() ||
      !isInteger(elementOf(op.result())))
    return false;
  if (op.kind == OpKind::Constant) return isPositiveConstant(op, elementOf(op.result()));
  if (op.kind == OpKind::Cast) {
    const ElementKind from = elementOf(op.operand(0)), to = elementOf(op.result());
    const bool isWider = info(to).bits > info(from).bits;
    const bool isAsWide = info(to).bits == info(from).bits && isSigned(from);
    return isInteger(from) && operand(0) && (isWider || isAsWide);
  }
  if (op.kind == OpKind::Arange) {
    const auto &attrs = op.attrs<ArangeAttrs>();
    return attrs.start >= 0 && attrs.step >= 0;
  }
  if (op.kind == OpKind::Broadcast || op.kind == OpKind::Reshape || op.kind == OpKind::Permute)
    return operand(0);
  if (op.kind == OpKind::Div || op.kind == OpKind::CeilDiv || op.kind == OpKind::Min)
    return operand(0) && operand(1);
  if (op.kind == OpKind::Rem || op.kind == OpKind::Shr) return operand(0);
  if (op.kind == OpKind::And || op.kind == OpKind::Max) return operand(0) || operand(1);
  return false;
}

} // namespace imbrex::analysis
