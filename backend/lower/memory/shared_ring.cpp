#include "backend/lower/memory/shared_ring.h"

#include "backend/ir/ring_bytes.h"
#include "backend/layout/algebra.h"
#include "backend/layout/slot_layout.h"
#include "backend/lower/emitter.h"
#include "backend/support/check.h"

namespace imbrex::lower {

using llvm::Value;
using machine::kBarrierBytes;

SharedRing::SharedRing(Emitter &e, const ir::Op &op)
    : slotBytes_(ir::slotBytes(e.kernel, op.result())), slots_(op.attrs<ir::RingAttrs>().slots) {
  const ir::Type &type = e.type(op.result());
  const layout::LinearLayout &layout = e.layoutOf(op.result());
  const machine::Machine &machine = e.words.machine();
  if (op.attrs<ir::RingAttrs>().by == ir::Ahead::Boxes) {
    boxes_ = layout::planBoxes(type.shape().extents(), ir::storageBits(type.element()) / 8);
    base_ = e.shared.reserve(slotBytes_ * slots_, "ring", boxes_->alignment());
  } else {
    copies_ = analysis::copiesOf(e.kernel, op.result(), machine);
    if (copies_.areInLaneOrder) {
      ofWarp_ = copies_.bytes * machine.warpSize;
      unread_ = e.shared.unread(ofWarp_ * e.kernel.threads().warps);
    }
    llvm::GlobalVariable *slots = e.shared.reserve(slotBytes_ * slots_, "ring");
    if (copies_.areStores) e.shared.addRegion(*slots);
    base_ = slots;
  }
  const auto taken = analysis::slotLayoutOf(e.kernel, op.result());
  writeOffsets_ = layout::compose(
      layout::inverse(taken ? *taken : unreadSlots(layout, type.element(), machine)), layout);
}

/// Of a ring that nobody takes a slot of.
layout::LinearLayout SharedRing::unreadSlots(const layout::LinearLayout &write,
                                             ir::ElementKind element,
                                             const machine::Machine &machine) const {
  if (boxes_) return boxes_->shared;
  if (copies_.areInLaneOrder) return layout::planSlotInLaneOrder(write, copies_.vectors);
  return layout::planSlot(write, copies_.vectors, write, ir::storageBits(element) / 8,
                          {.banks = machine.banks, .lanes = machine.warpSize});
}

// --- places in rings, which each thread keeps in variables ---

namespace {

llvm::AllocaInst *newVariable(Emitter &e) {
  llvm::AllocaInst *variable = e.b.CreateAlloca(e.b.getInt32Ty());
  e.b.CreateStore(e.b.getInt32(0), variable);
  return variable;
}

Value *valueOf(Emitter &e, llvm::AllocaInst *variable) {
  return e.b.CreateLoad(e.b.getInt32Ty(), variable);
}

struct Next {
  Value *place;
  Value *isFirst; // it is around
};

/// Behind a place, so many bytes further on; behind the last, the first. Of two places it is the
/// other one.
Next nextOf(Emitter &e, Value *place, std::int64_t bytes, std::int64_t places) {
  if (places == 2)
    return {e.b.CreateXor(place, e.i32(bytes)), e.b.CreateICmpEQ(place, e.i32(bytes))};
  Value *next = e.b.CreateAdd(place, e.i32(bytes));
  Value *isBeyond = e.b.CreateICmpEQ(next, e.i32(places * bytes));
  return {e.b.CreateSelect(isBeyond, e.i32(0), next), isBeyond};
}

/// The place that a variable is at; it goes on.
Value *advance(Emitter &e, llvm::AllocaInst *variable, std::int64_t bytes, std::int64_t places) {
  if (places == 1) return e.i32(0);
  Value *now = valueOf(e, variable);
  e.b.CreateStore(nextOf(e, now, bytes, places).place, variable);
  return now;
}

Value *addressAt(Emitter &e, Value *base, Value *offset) {
  return e.b.CreateGEP(e.b.getInt8Ty(), base, offset);
}

} // namespace

void SharedRing::start(Emitter &e) {
  for (llvm::AllocaInst **variable : {&filled_, &taken_, &takenLast_}) *variable = newVariable(e);
}

Value *SharedRing::fill(Emitter &e) { return addressAt(e, base_, fillIf(e, nullptr)); }

Value *SharedRing::take(Emitter &e) {
  Value *place = nullptr;
  if (known_) {
    place = e.i32(known_->taken * slotBytes_);
    known_->taken = (known_->taken + 1) % slots_;
  } else {
    place = leader_ ? valueOf(e, leader_->takenLast_) : advance(e, taken_, slotBytes_, slots_);
    e.b.CreateStore(place, takenLast_);
  }
  return addressAt(e, base_, place);
}

Value *SharedRing::fillIf(Emitter &e, Value *condition) {
  if (known_) {
    IMBREX_CHECK(!condition, "a slot that is known is filled in any case");
    const std::int64_t place = known_->filled * slotBytes_;
    known_->filled = (known_->filled + 1) % slots_;
    return e.i32(place);
  }
  if (!condition) return advance(e, filled_, slotBytes_, slots_);
  Value *now = valueOf(e, filled_);
  Value *next = nextOf(e, now, slotBytes_, slots_).place;
  e.b.CreateStore(e.b.CreateSelect(condition, next, now), filled_);
  return now;
}

Value *SharedRing::nextTaken(Emitter &e) const {
  return leader_ ? leader_->nextTaken(e) : valueOf(e, taken_);
}

Value *SharedRing::isAt(Emitter &e, std::int64_t filled, std::int64_t taken) {
  Value *isFilled = e.b.CreateICmpEQ(valueOf(e, filled_), e.i32(filled * slotBytes_));
  Value *isTaken = e.b.CreateICmpEQ(nextTaken(e), e.i32(taken * slotBytes_));
  return e.b.CreateAnd(isFilled, isTaken);
}

Value *SharedRing::unread(Emitter &e) const {
  Value *ofWarp = e.b.CreateMul(e.warp(), e.i32(ofWarp_));
  return addressAt(e, unread_, e.words.uniform(e.b, ofWarp));
}

Barriers::Barriers(Emitter &e, const ir::Op &op)
    : slots_(op.attrs<ir::BarrierAttrs>().slots), arrivals_(op.attrs<ir::BarrierAttrs>().arrivals),
      base_(e.shared.reserve(kBarrierBytes * slots_, "barriers")) {}

void Barriers::start(Emitter &e) {
  for (llvm::AllocaInst **variable : {&arrives_, &arrived_, &awaits_, &parity_})
    *variable = newVariable(e);
}

void Barriers::make(Emitter &e) const {
  for (std::int64_t slot = 0; slot < slots_; ++slot)
    e.words.makeBarrier(e.b, addressAt(e, base_, e.i32(slot * kBarrierBytes)), arrivals_);
}

Value *Barriers::arriveAt(Emitter &e) {
  Value *now = advance(e, arrives_, kBarrierBytes, slots_);
  e.b.CreateStore(now, arrived_);
  return addressAt(e, base_, now);
}

Value *Barriers::arrivedAt(Emitter &e) { return addressAt(e, base_, valueOf(e, arrived_)); }

void Barriers::await(Emitter &e, bool isBefore) {
  Value *now = valueOf(e, awaits_);
  Value *parity = valueOf(e, parity_);
  Value *asked = isBefore ? e.b.CreateXor(parity, 1) : parity;
  Value *barrier = addressAt(e, base_, now);
  llvm::BasicBlock *wait = e.newBlock("wait"), *over = e.newBlock("over");
  e.b.CreateBr(wait);
  e.b.SetInsertPoint(wait);
  e.b.CreateCondBr(e.words.isOver(e.b, barrier, asked), over, wait);
  e.b.SetInsertPoint(over);
  const Next next = nextOf(e, now, kBarrierBytes, slots_);
  e.b.CreateStore(next.place, awaits_);
  Value *turns = e.b.CreateZExt(next.isFirst, e.b.getInt32Ty());
  e.b.CreateStore(e.b.CreateXor(parity, turns), parity_);
}

} // namespace imbrex::lower
