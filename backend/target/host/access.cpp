#include "backend/target/host/access.h"

#include <algorithm>
#include <optional>

namespace imbrex::host {
namespace {

using ir::OpKind;

/// Whether two pointer expressions are the same but for their parameters.
bool sameExpression(const ir::Kernel &kernel, ir::ValueId a, ir::ValueId b) {
  if (a == b) return true;
  const ir::Op *x = kernel.definition(a), *y = kernel.definition(b);
  if (!x && !y) return kernel.type(a) == kernel.type(b);
  if (!x || !y || x->kind != y->kind || x->attributes != y->attributes) return false;
  if (x->operands.size() != y->operands.size() || kernel.type(a).shape() != kernel.type(b).shape())
    return false;
  if (x->kind == OpKind::PointerAdd)
    return x->operand(1) == y->operand(1) && sameExpression(kernel, x->operand(0), y->operand(0));
  return x->operands.size() == 1 && sameExpression(kernel, x->operand(0), y->operand(0));
}

bool isView(const ir::Op &op) {
  return op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore;
}

/// What makes two boxes the same part of a view: shape, unit and coordinates.
bool sameBox(const ir::Kernel &kernel, const ir::Op &a, const ir::Op &b) {
  const auto boxOf = [&](const ir::Op &op) {
    return kernel.type(isLoad(op) ? op.result() : op.operand(1)).shape();
  };
  if (boxOf(a) != boxOf(b)) return false;
  if (a.attrs<ir::ViewAttrs>().unit != b.attrs<ir::ViewAttrs>().unit) return false;
  const size_t rank = static_cast<size_t>(boxOf(a).rank());
  const size_t firstA = isLoad(a) ? 1 : 2, firstB = isLoad(b) ? 1 : 2;
  for (size_t axis = 0; axis < rank; ++axis)
    if (a.operand(firstA + axis) != b.operand(firstB + axis)) return false;
  return true;
}

} // namespace

bool isLoad(const ir::Op &op) { return op.kind == OpKind::Load || op.kind == OpKind::ViewLoad; }
bool isStore(const ir::Op &op) { return op.kind == OpKind::Store || op.kind == OpKind::ViewStore; }

bool writesMemory(const ir::Op &op) {
  const ir::Effect effect = info(op.kind).effect;
  if (effect == ir::Effect::Write || effect == ir::Effect::Atomic || effect == ir::Effect::Observe)
    return true;
  bool writes = false;
  for (const ir::Block &region : op.regions)
    ir::walk(region, [&](const ir::Op &inner) { writes |= writesMemory(inner); });
  return writes;
}

bool mayTouch(const ir::Kernel &kernel, const LaunchTraits &traits, const ir::Op &a,
              const ir::Op &b) {
  const std::optional<size_t> p = rootParameter(kernel, a.operand(0));
  const std::optional<size_t> q = rootParameter(kernel, b.operand(0));
  return !p || !q || traits.relation(*p, *q) != Relation::Disjoint;
}

bool mayConflict(const ir::Kernel &kernel, const LaunchTraits &traits, const ir::Op &a,
                 const ir::Op &b) {
  const std::optional<size_t> p = rootParameter(kernel, a.operand(0));
  const std::optional<size_t> q = rootParameter(kernel, b.operand(0));
  if (!p || !q) return !(a.operand(0) == b.operand(0) && !isView(a) && !isView(b));
  const Relation relation = traits.relation(*p, *q);
  if (relation == Relation::Disjoint) return false;
  if (relation == Relation::Unknown || isView(a) != isView(b)) return true;
  return isView(a) ? !sameBox(kernel, a, b) : !sameExpression(kernel, a.operand(0), b.operand(0));
}

} // namespace imbrex::host
