#include "backend/lower/memory_order.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::lower {
namespace {

using ir::Effect;
using ir::OpKind;

bool touchesMemory(const ir::Op &op) {
  const Effect effect = info(op.kind).effect;
  return effect == Effect::Read || effect == Effect::Write || effect == Effect::Atomic;
}

bool isAtomic(const ir::Op &op) { return info(op.kind).effect == Effect::Atomic; }

bool releases(const ir::Op &op) {
  if (!isAtomic(op)) return false;
  const ir::MemoryOrder order = op.attrs<ir::AtomicAttrs>().order;
  return order == ir::MemoryOrder::Release || order == ir::MemoryOrder::AcquireRelease;
}

bool acquires(const ir::Op &op) {
  if (!isAtomic(op)) return false;
  const ir::MemoryOrder order = op.attrs<ir::AtomicAttrs>().order;
  return order == ir::MemoryOrder::Acquire || order == ir::MemoryOrder::AcquireRelease;
}

/// The operands that say where an access goes: the pointers, or the view and the box.
llvm::ArrayRef<ir::ValueId> addressOperands(const ir::Kernel &kernel, const ir::Op &op,
                                            llvm::SmallVectorImpl<ir::ValueId> &into) {
  into.push_back(op.operand(0));
  const std::size_t first = op.kind == OpKind::ViewStore ? 2 : 1;
  if (op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore)
    for (std::int32_t axis = 0; axis < kernel.type(op.operand(0)).rank(); ++axis)
      into.push_back(op.operand(first + static_cast<std::size_t>(axis)));
  return into;
}

/// The tile whose layout says which thread makes which access.
ir::ValueId accessTile(const ir::Op &op) {
  if (op.kind == OpKind::ViewLoad) return op.result();
  return op.operand(op.kind == OpKind::ViewStore ? 1 : 0);
}

} // namespace

bool MemoryOrder::needsBarrierBefore(const ir::Op &op) const {
  return touchesMemory(op) &&
         llvm::any_of(pending_, [&](const Access &earlier) { return conflict(earlier, op); });
}

void MemoryOrder::add(const ir::Op &op) {
  if (touchesMemory(op)) pending_.push_back({&op, false});
}

void MemoryOrder::enterLoop(const ir::Block &body) {
  ir::walk(body, [&](const ir::Op &op) {
    if (touchesMemory(op)) pending_.push_back({&op, true});
  });
}

bool MemoryOrder::conflict(const Access &earlier, const ir::Op &later) const {
  const ir::Op &first = *earlier.op;
  // What the block did before is released by whichever thread does the atomic; what it acquires is
  // for all threads.
  if (releases(later) || acquires(first)) return true;
  const auto reads = [](const ir::Op &op) { return info(op.kind).effect == Effect::Read; };
  if ((reads(first) && reads(later)) || (isAtomic(first) && isAtomic(later))) return false;
  const auto a = rootOf(first.operand(0)), b = rootOf(later.operand(0));
  if (a && b && *a != *b && assumptions_.areDisjoint) return false;
  return earlier.isEarlierRound || !areSameAddresses(first, later);
}

/// Then each thread touches its own elements only, which it does in order.
bool MemoryOrder::areSameAddresses(const ir::Op &a, const ir::Op &b) const {
  llvm::SmallVector<ir::ValueId, 6> addressA, addressB;
  if (addressOperands(kernel_, a, addressA) != addressOperands(kernel_, b, addressB)) return false;
  const ir::ValueId tileA = accessTile(a), tileB = accessTile(b);
  if (kernel_.type(tileA).shape() != kernel_.type(tileB).shape()) return false;
  if (kernel_.layoutOf(tileA) != kernel_.layoutOf(tileB) || !kernel_.layoutOf(tileA).valid())
    return false;
  // Pointers may point to one place from several elements, boxes do not.
  if (a.kind != OpKind::ViewLoad && a.kind != OpKind::ViewStore) return false;
  if (a.attrs<ir::ViewAttrs>().unit != b.attrs<ir::ViewAttrs>().unit) return false;
  // An element that several threads hold is stored by one and loaded by all of them.
  const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(tileA));
  return layout::copyBits(layout, layout::Dim::Lane) == 0 &&
         layout::copyBits(layout, layout::Dim::Warp) == 0;
}

/// The parameter that a pointer comes from; none where it could be several.
std::optional<ir::ValueId> MemoryOrder::rootOf(ir::ValueId pointers) const {
  for (;;) {
    const ir::Op *op = kernel_.definition(pointers);
    if (!op) {
      const bool isParameter = llvm::is_contained(kernel_.body().arguments, pointers);
      return isParameter ? std::optional(pointers) : std::nullopt;
    }
    const bool passesOn = op->operands.size() == 1 || op->kind == OpKind::PointerAdd;
    if (!passesOn || !op->regions.empty()) return std::nullopt;
    pointers = op->operand(0);
  }
}

} // namespace imbrex::lower
