#include "backend/analysis/names_in_products.h"

#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::analysis {

using namespace ir;

namespace {

bool multipliesInPlace(const Kernel &kernel, const Op &op, ValueId tile) {
  if (!isProduct(op) || op.operand(2) == tile) return false;
  if (isOnUnit(op)) return true;
  if (op.kind == OpKind::DotScaled) return false;
  const auto &attrs = op.attrs<DotAttrs>();
  return attrs.precision == Precision::Ieee && !isNarrowFloat(kernel.type(tile).element());
}

/// Adds the names of a tile as long as nothing but products uses it.
bool addNames(const Kernel &kernel, ValueId tile, std::set<ValueId> &names) {
  bool isUsed = false, are = true;
  names.insert(tile);
  walk(kernel.body(), [&](const Op &op) {
    if (!are || !llvm::is_contained(op.operands, tile)) return;
    isUsed = true;
    are = passesOn(kernel, op) ? addNames(kernel, op.result(), names)
                               : multipliesInPlace(kernel, op, tile);
  });
  return isUsed && are;
}

} // namespace

bool passesOn(const Kernel &kernel, const Op &op) {
  return op.kind == OpKind::ConvertLayout || renaming(kernel, op);
}

std::optional<std::set<ValueId>> namesInProducts(const Kernel &kernel, ValueId tile) {
  std::set<ValueId> names;
  if (!addNames(kernel, tile, names)) return std::nullopt;
  return names;
}

std::optional<std::int32_t> depthAxisOf(const Kernel &kernel, ValueId tile) {
  std::optional<std::int32_t> axis;
  walk(kernel.body(), [&](const Op &op) {
    const auto *const operand = llvm::find(op.operands, tile);
    if (axis || operand == op.operands.end()) return;
    if (isProduct(op))
      axis = depthAxis(kernel, op, static_cast<std::size_t>(operand - op.operands.begin()));
    else if (op.kind == OpKind::ConvertLayout || op.kind == OpKind::Slice)
      axis = depthAxisOf(kernel, op.result());
    else if (op.kind == OpKind::Permute)
      if (const auto named = depthAxisOf(kernel, op.result()))
        axis = static_cast<std::int32_t>(
            op.attrs<PermuteAttrs>().order[static_cast<std::size_t>(*named)]);
  });
  return axis;
}

} // namespace imbrex::analysis
