#include "backend/lower/memory/memory_order.h"

#include "backend/analysis/ring_copies.h"
#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace imbrex::lower {
namespace {

using analysis::isRingCopy;
using ir::Effect;
using ir::OpKind;

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

/// Whether two accesses are of one box of a view.
bool areOfOneBox(const ir::Kernel &kernel, const ir::Op &a, const ir::Op &b) {
  const auto coordinates = [&](const ir::Op &op) {
    const std::size_t first = op.kind == OpKind::ViewStore ? 2 : 1;
    const auto rank = static_cast<std::size_t>(kernel.type(op.operand(0)).rank());
    return llvm::ArrayRef(op.operands).slice(first, rank);
  };
  return coordinates(a) == coordinates(b);
}

/// The tile whose layout says which thread makes which access.
ir::ValueId accessTile(const ir::Op &op) {
  if (op.kind == OpKind::ViewLoad) return op.result();
  return op.operand(op.kind == OpKind::ViewStore ? 1 : 0);
}

} // namespace

MemoryOrder::MemoryOrder(const ir::Kernel &kernel, const analysis::Assumptions &assumptions)
    : kernel_(kernel), assumptions_(assumptions) {
  followCarried();
}

/// Taken to be so until a trip hands on what comes from elsewhere: as often as that changes
/// something.
void MemoryOrder::followCarried() {
  std::vector<std::pair<ir::ValueId, ir::ValueId>> next; // carried, and what the next trip gets
  ir::walk(kernel_.body(), [&](const ir::Op &op) {
    if (op.kind != OpKind::For) return;
    const ir::Block &body = op.regions[0];
    const auto &yielded = body.ops.back()->operands;
    for (std::size_t i = 0; i + 1 < body.arguments.size(); ++i) {
      const ir::ValueId carried = body.arguments[i + 1];
      if (!kernel_.type(carried).isPointerTile()) continue;
      carried_[carried] = op.operand(3 + i);
      next.emplace_back(carried, yielded[i]);
    }
  });
  for (bool changes = true; std::exchange(changes, false);)
    for (const auto &[carried, yielded] : next)
      if (carried_.contains(carried) && parameterOf(yielded) != parameterOf(carried))
        changes = carried_.erase(carried) > 0;
}

std::optional<size_t> MemoryOrder::parameterOf(ir::ValueId accessed) const {
  ir::ValueId root = ir::rootValue(kernel_, accessed);
  for (auto found = carried_.find(root); found != carried_.end(); found = carried_.find(root))
    root = ir::rootValue(kernel_, found->second);
  return ir::rootParameter(kernel_, root);
}

bool MemoryOrder::needsMeetingBefore(const ir::Op &op) const {
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
  const auto a = parameterOf(accessed(first)), b = parameterOf(accessed(later));
  if (a && b && *a != *b && assumptions_.areDisjoint) return false;
  return !areOfOwnElements(first, later, isEarlierRound);
}

/// Whether each thread touches its own elements only, which it does in order. Boxes that are
/// counted in tiles of one shape are the same or have no element in common, so that an element has
/// its place in whatever box it is in.
bool MemoryOrder::areOfOwnElements(const ir::Op &a, const ir::Op &b, bool isEarlierRound) const {
  // Pointers may point to one place from several elements, and so may boxes of a view with a stride
  // of 0.
  const auto isOfBox = [](const ir::Op &op) {
    return op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore;
  };
  if (!isOfBox(a) || !isOfBox(b) || !assumptions_.areDisjoint) return false;
  if (a.operand(0) != b.operand(0)) return false;
  const ir::BoxUnit unit = a.attrs<ir::ViewAttrs>().unit;
  if (unit != b.attrs<ir::ViewAttrs>().unit) return false;
  const bool isOneBox = !isEarlierRound && areOfOneBox(kernel_, a, b);
  if (unit != ir::BoxUnit::Tiles && !isOneBox) return false;
  const ir::ValueId tileA = accessTile(a), tileB = accessTile(b);
  if (kernel_.type(tileA).shape() != kernel_.type(tileB).shape()) return false;
  // Two f4e2m1 share a byte, which may be of two boxes, or of two threads.
  constexpr std::int32_t kByte = 8;
  if (ir::storageBits(kernel_.type(tileA).element()) < kByte) return false;
  if (kernel_.layoutOf(tileA) != kernel_.layoutOf(tileB) || !kernel_.layoutOf(tileA).valid())
    return false;
  // An element that several threads hold is stored by one and loaded by all of them.
  return !layout::hasCopies(kernel_.layout(kernel_.layoutOf(tileA)));
}

} // namespace imbrex::lower
