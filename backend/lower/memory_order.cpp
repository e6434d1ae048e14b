#include "backend/lower/memory_order.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::lower {
namespace {

using ir::Effect;
using ir::OpKind;

bool isRingCopy(const ir::Op &op) {
  return op.kind == OpKind::RingCopy || op.kind == OpKind::RingCopyBox;
}

bool reads(const ir::Op &op) { return info(op.kind).effect == Effect::Read || isRingCopy(op); }

/// The operand with the pointers or the view.
ir::ValueId accessed(const ir::Op &op) { return op.operand(isRingCopy(op) ? 2 : 0); }

bool touchesMemory(const ir::Op &op) {
  const Effect effect = info(op.kind).effect;
  return reads(op) || effect == Effect::Write || effect == Effect::Atomic;
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

MemoryOrder::MemoryOrder(const ir::Kernel &kernel, const analysis::Assumptions &assumptions)
    : kernel_(kernel), assumptions_(assumptions) {}

bool MemoryOrder::needsBarrierBefore(const ir::Op &op) const {
  return touchesMemory(op) && llvm::any_of(pending_, [&](const auto &earlier) {
           return conflict(*earlier.first, earlier.second, op);
         });
}

void MemoryOrder::add(const ir::Op &op) {
  if (touchesMemory(op)) pending_.insert({&op, false});
}

void MemoryOrder::addPending(const Pending &pending) {
  for (const auto &[op, isEarlierRound] : pending) pending_[op] |= isEarlierRound;
}

void MemoryOrder::enterLoop(const ir::Block &body) {
  ir::walk(body, [&](const ir::Op &op) {
    if (touchesMemory(op)) pending_[&op] = true;
  });
}

bool MemoryOrder::conflict(const ir::Op &first, bool isEarlierRound, const ir::Op &later) const {
  // What the block did before is released by whichever thread does the atomic; what it acquires is
  // for all threads.
  if (releases(later) || acquires(first)) return true;
  if ((reads(first) && reads(later)) || (isAtomic(first) && isAtomic(later))) return false;
  const auto a = ir::rootParameter(kernel_, accessed(first)),
             b = ir::rootParameter(kernel_, accessed(later));
  if (a && b && *a != *b && assumptions_.areDisjoint) return false;
  return isEarlierRound || !areSameAddresses(first, later);
}

/// Then each thread touches its own elements only, which it does in order.
bool MemoryOrder::areSameAddresses(const ir::Op &a, const ir::Op &b) const {
  if (isRingCopy(a) || isRingCopy(b)) return false;
  llvm::SmallVector<ir::ValueId, 6> addressA, addressB;
  if (addressOperands(kernel_, a, addressA) != addressOperands(kernel_, b, addressB)) return false;
  const ir::ValueId tileA = accessTile(a), tileB = accessTile(b);
  if (kernel_.type(tileA).shape() != kernel_.type(tileB).shape()) return false;
  if (kernel_.layoutOf(tileA) != kernel_.layoutOf(tileB) || !kernel_.layoutOf(tileA).valid())
    return false;
  // Pointers may point to one place from several elements, and so may boxes of a view with a stride
  // of 0.
  if (a.kind != OpKind::ViewLoad && a.kind != OpKind::ViewStore) return false;
  if (!assumptions_.areDisjoint) return false;
  if (a.attrs<ir::ViewAttrs>().unit != b.attrs<ir::ViewAttrs>().unit) return false;
  // An element that several threads hold is stored by one and loaded by all of them.
  const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(tileA));
  return layout::copyBits(layout, layout::Dim::Lane) == 0 &&
         layout::copyBits(layout, layout::Dim::Warp) == 0;
}

} // namespace imbrex::lower
