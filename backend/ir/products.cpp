#include "backend/ir/products.h"

#include "backend/support/check.h"

namespace imbrex::ir {

bool isProduct(const Op &op) { return op.kind == OpKind::Dot || op.kind == OpKind::DotScaled; }

const UnitAttrs &unitAttrs(const Op &product) {
  if (product.kind == OpKind::Dot) return product.attrs<DotAttrs>();
  return product.attrs<DotScaledAttrs>();
}
UnitAttrs &unitAttrs(Op &product) {
  if (product.kind == OpKind::Dot) return product.attrs<DotAttrs>();
  return product.attrs<DotScaledAttrs>();
}

bool isOnUnit(const Op &op) { return isProduct(op) && !unitAttrs(op).unit.empty(); }

ElementKind elementOf(const Kernel &kernel, const Op &product, std::size_t operand) {
  const ElementKind element = kernel.type(product.operand(operand)).element();
  const bool isPacked = product.kind == OpKind::DotScaled && element == ElementKind::U8;
  return isPacked ? ElementKind::F4E2M1 : element;
}

namespace {

constexpr std::size_t kFirstScale = 3; // among the operands

} // namespace

std::int64_t depthOfElement(const Kernel &kernel, const Op &product, std::size_t operand) {
  const ElementKind own = kernel.type(product.operand(operand)).element();
  if (operand >= kFirstScale) return elementsPerScale(own);
  return own == elementOf(kernel, product, operand) ? 1 : 2;
}

std::int32_t depthAxis(const Kernel &kernel, const Op &product, std::size_t operand) {
  return kernel.type(product.operand(operand)).rank() - (operand == 1 ? 2 : 1);
}

std::int64_t depthOf(const Kernel &kernel, const Op &product) {
  const Shape &a = kernel.type(product.operand(0)).shape();
  return a[depthAxis(kernel, product, 0)] * depthOfElement(kernel, product, 0);
}

std::optional<std::size_t> scaleOf(const Op &product, std::size_t operand) {
  if (product.kind != OpKind::DotScaled) return std::nullopt;
  const auto &attrs = product.attrs<DotScaledAttrs>();
  if (operand == 0) return attrs.scaleA ? std::optional(kFirstScale) : std::nullopt;
  return attrs.scaleB ? std::optional(kFirstScale + (attrs.scaleA ? 1 : 0)) : std::nullopt;
}

} // namespace imbrex::ir
