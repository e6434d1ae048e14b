#include "backend/passes/layouts/recompute.h"

#include "backend/analysis/algebra.h"
#include "backend/analysis/movement.h"

#include <algorithm>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;

bool isScalar(const Type &type) { return type.isTileOrPointers() && type.rank() == 0; }

/// An op each of whose elements is computed from few of its operands' elements.
bool isLocal(const Kernel &kernel, const Op &op) {
  if (ir::isElementwise(op.kind) || op.kind == OpKind::PointerAdd) return true;
  if (op.kind == OpKind::Bitcast)
    return kernel.type(op.operand(0)).shape() == kernel.type(op.result()).shape();
  if (op.kind == OpKind::Broadcast && isScalar(kernel.type(op.operand(0)))) return true;
  const bool isMove =
      op.kind == OpKind::Broadcast || op.kind == OpKind::Permute || op.kind == OpKind::Reshape;
  return isMove && analysis::movementOf(kernel, op, 0, 0);
}

} // namespace

Recomputable::Recomputable(const Kernel &kernel) : depths_(kernel.valueCount()) {
  walk(kernel.body(), [&](const Op &op) {
    if (op.results.size() != 1 || kernel.type(op.result()).rank() == 0) return;
    const bool isSource = op.kind == OpKind::Constant || op.kind == OpKind::Arange;
    if (!isSource && !isLocal(kernel, op)) return;
    std::int32_t depth = 1;
    for (const ValueId operand : op.operands) {
      if (!contains(operand) && !isScalar(kernel.type(operand))) return;
      depth = std::max(depth, depths_[operand.index()] + 1);
    }
    if (depth <= kDeepest) depths_[op.result().index()] = depth;
  });
}

} // namespace imbrex::passes::layouts
