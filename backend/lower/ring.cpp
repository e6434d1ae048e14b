#include "backend/lower/ring.h"

#include "backend/ir/ring_bytes.h"
#include "backend/layout/algebra.h"
#include "backend/lower/emitter.h"

namespace imbrex::lower {

using llvm::Value;

namespace {

/// The widest copies that all who fill a ring can make.
std::int64_t copyWidth(const ir::Kernel &kernel, ir::ValueId ring) {
  std::int64_t width = layout::kMaxAccessBytes;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    const bool isBox = op.kind == ir::OpKind::RingCopyBox;
    if ((!isBox && op.kind != ir::OpKind::RingCopy) || op.operand(0) != ring) return;
    width = std::min<std::int64_t>(width, isBox ? op.attrs<ir::RingCopyBoxAttrs>().width
                                                : op.attrs<ir::RingCopyAttrs>().width);
  });
  const std::int32_t bits = ir::storageBits(kernel.type(ring).element());
  return std::min<std::int64_t>(width, layout::kMaxAccessBytes * 8 / bits);
}

/// How the first that reads a ring wants its tiles; as they are filled, where nobody does.
const layout::LinearLayout &readLayout(const ir::Kernel &kernel, ir::ValueId ring) {
  ir::ValueId tile = ring;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::RingRead && op.operand(0) == ring && tile == ring)
      tile = op.result();
  });
  return kernel.layout(kernel.layoutOf(tile));
}

} // namespace

Ring::Ring(Emitter &e, const ir::Op &op)
    : slotBytes_(ir::slotBytes(e.kernel, op.result())), slots_(op.attrs<ir::RingAttrs>().slots) {
  const ir::Type &type = e.type(op.result());
  const layout::LinearLayout &layout = e.layoutOf(op.result());
  if (op.attrs<ir::RingAttrs>().boxes) {
    boxes_ = layout::planBoxes(type.shape().extents(), ir::storageBits(type.element()) / 8);
    base_ = e.shared.reserve(slotBytes_ * slots_, "ring", boxes_->alignment());
    slot_ = {boxes_->shared, layout::compose(layout::inverse(boxes_->shared), layout)};
    return;
  }
  base_ = e.shared.reserve(slotBytes_ * slots_, "ring");
  copies_ = layout::contiguousRegisters(
      layout, layout::axisDim(layout::axisOfNeighbours(layout, type.rank())),
      copyWidth(e.kernel, op.result()));
  const machine::Machine &machine = e.words.machine();
  slot_ = layout::planSlot(layout, copies_, readLayout(e.kernel, op.result()),
                           ir::storageBits(type.element()) / 8,
                           {.banks = machine.banks, .lanes = machine.warpSize});
}

void Ring::start(Emitter &e) {
  for (llvm::AllocaInst **cursor : {&filled_, &taken_}) {
    *cursor = e.b.CreateAlloca(e.b.getInt32Ty());
    e.b.CreateStore(e.b.getInt32(0), *cursor);
  }
}

/// The slot that a cursor is at; it goes on, and behind the last slot to the first.
Value *Ring::advance(Emitter &e, llvm::AllocaInst *cursor) {
  Value *now = e.b.CreateLoad(e.b.getInt32Ty(), cursor);
  Value *next = e.b.CreateAdd(now, e.i32(slotBytes_));
  Value *isBeyond = e.b.CreateICmpEQ(next, e.i32(slots_ * slotBytes_));
  e.b.CreateStore(e.b.CreateSelect(isBeyond, e.i32(0), next), cursor);
  return e.b.CreateGEP(e.b.getInt8Ty(), base_, now);
}

// --- barriers ---

namespace {

constexpr std::int64_t kBarrierBytes = 8;

llvm::AllocaInst *newVariable(Emitter &e) {
  llvm::AllocaInst *variable = e.b.CreateAlloca(e.b.getInt32Ty());
  e.b.CreateStore(e.b.getInt32(0), variable);
  return variable;
}

} // namespace

Barriers::Barriers(Emitter &e, const ir::Op &op)
    : slots_(op.attrs<ir::BarrierAttrs>().slots), arrivals_(op.attrs<ir::BarrierAttrs>().arrivals),
      base_(e.shared.reserve(kBarrierBytes * slots_, "barriers")) {}

void Barriers::start(Emitter &e) {
  for (llvm::AllocaInst **variable : {&arrives_, &arrived_, &awaits_, &parity_})
    *variable = newVariable(e);
}

void Barriers::make(Emitter &e) const {
  for (std::int64_t slot = 0; slot < slots_; ++slot)
    e.words.makeBarrier(e.b, e.b.CreateGEP(e.b.getInt8Ty(), base_, e.i32(slot * kBarrierBytes)),
                        arrivals_);
}

Value *Barriers::arriveAt(Emitter &e) {
  Value *now = e.b.CreateLoad(e.b.getInt32Ty(), arrives_);
  Value *next = e.b.CreateAdd(now, e.i32(kBarrierBytes));
  Value *isBeyond = e.b.CreateICmpEQ(next, e.i32(slots_ * kBarrierBytes));
  e.b.CreateStore(e.b.CreateSelect(isBeyond, e.i32(0), next), arrives_);
  e.b.CreateStore(now, arrived_);
  return e.b.CreateGEP(e.b.getInt8Ty(), base_, now);
}

Value *Barriers::arrivedAt(Emitter &e) {
  return e.b.CreateGEP(e.b.getInt8Ty(), base_, e.b.CreateLoad(e.b.getInt32Ty(), arrived_));
}

void Barriers::await(Emitter &e, bool isBefore) {
  Value *now = e.b.CreateLoad(e.b.getInt32Ty(), awaits_);
  Value *parity = e.b.CreateLoad(e.b.getInt32Ty(), parity_);
  Value *asked = isBefore ? e.b.CreateXor(parity, 1) : parity;
  Value *barrier = e.b.CreateGEP(e.b.getInt8Ty(), base_, now);
  llvm::BasicBlock *wait = e.newBlock("wait"), *over = e.newBlock("over");
  e.b.CreateBr(wait);
  e.b.SetInsertPoint(wait);
  e.b.CreateCondBr(e.words.isOver(e.b, barrier, asked), over, wait);
  e.b.SetInsertPoint(over);
  Value *next = e.b.CreateAdd(now, e.i32(kBarrierBytes));
  Value *isBeyond = e.b.CreateICmpEQ(next, e.i32(slots_ * kBarrierBytes));
  e.b.CreateStore(e.b.CreateSelect(isBeyond, e.i32(0), next), awaits_);
  e.b.CreateStore(e.b.CreateXor(parity, e.b.CreateZExt(isBeyond, e.b.getInt32Ty())), parity_);
}

} // namespace imbrex::lower
