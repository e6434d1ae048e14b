#include "backend/lower/memory/ring.h"

#include "backend/ir/ring_bytes.h"
#include "backend/layout/algebra.h"
#include "backend/lower/emitter.h"

namespace imbrex::lower {

using llvm::Value;
using machine::kBarrierBytes;

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

RingCopies copiesOf(const ir::Kernel &kernel, ir::ValueId ring, const machine::Machine &machine) {
  const ir::Type &type = kernel.type(ring);
  const layout::LinearLayout &layout = kernel.layout(kernel.layoutOf(ring));
  const layout::Dim axis = layout::axisDim(layout::axisOfNeighbours(layout, type.rank()));
  RingCopies copies{.vectors = layout::contiguousRegisters(layout, axis, copyWidth(kernel, ring))};
  copies.bytes = copies.vectors.width * (ir::storageBits(type.element()) / 8);
  const machine::AsyncCopies &async = machine.asyncCopies;
  copies.areAsynchronous = (async.sizes & static_cast<std::uint32_t>(copies.bytes)) != 0;
  if (async.areInLaneOrder && layout::copyBits(layout, layout::Dim::Lane) != 0)
    copies.areAsynchronous = false; // two lanes would bring one element
  copies.areInLaneOrder = copies.areAsynchronous && async.areInLaneOrder;
  return copies;
}

namespace {

/// Of the groups that a body closes; what stands in front of a body within it is not counted, which
/// makes a group smaller.
void findLeastGroup(const ir::Kernel &kernel, const ir::Block &body,
                    const machine::Machine &machine, std::optional<std::int64_t> &least) {
  std::int64_t count = 0;
  for (const auto &op : body.ops) {
    for (const ir::Block &region : op->regions) findLeastGroup(kernel, region, machine, least);
    if (!op->regions.empty()) count = 0;
    if (op->kind == ir::OpKind::RingCopy || op->kind == ir::OpKind::RingCopyBox) {
      const RingCopies copies = copiesOf(kernel, op->operand(0), machine);
      const auto registers = static_cast<std::int64_t>(copies.vectors.registers.size());
      if (copies.areInLaneOrder) count += registers / copies.vectors.width;
    }
    if (op->kind != ir::OpKind::RingCommit) continue;
    least = std::min(least.value_or(count), count);
    count = 0;
  }
}

} // namespace

std::int64_t leastCopiesOfGroup(const ir::Kernel &kernel, const machine::Machine &machine) {
  std::optional<std::int64_t> least;
  findLeastGroup(kernel, kernel.body(), machine, least);
  return least.value_or(0);
}

Ring::Ring(Emitter &e, const ir::Op &op)
    : slotBytes_(ir::slotBytes(e.kernel, op.result())), slots_(op.attrs<ir::RingAttrs>().slots) {
  const ir::Type &type = e.type(op.result());
  const layout::LinearLayout &layout = e.layoutOf(op.result());
  const std::int32_t elementBytes = ir::storageBits(type.element()) / 8;
  if (op.attrs<ir::RingAttrs>().boxes) {
    boxes_ = layout::planBoxes(type.shape().extents(), elementBytes);
    base_ = e.shared.reserve(slotBytes_ * slots_, "ring", boxes_->alignment());
    slot_ = {boxes_->shared, layout::compose(layout::inverse(boxes_->shared), layout)};
    return;
  }
  const machine::Machine &machine = e.words.machine();
  copies_ = copiesOf(e.kernel, op.result(), machine);
  if (copies_.areInLaneOrder) ofWarp_ = copies_.bytes * machine.warpSize;
  const std::int64_t unread = ofWarp_ * e.kernel.threads().warps;
  base_ = e.shared.reserve(slotBytes_ * slots_ + unread, "ring");
  slot_ = copies_.areInLaneOrder
              ? layout::planSlotInLaneOrder(layout, copies_.vectors)
              : layout::planSlot(layout, copies_.vectors, readLayout(e.kernel, op.result()),
                                 elementBytes, {.banks = machine.banks, .lanes = machine.warpSize});
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

/// Behind a place, so many bytes further on; behind the last, the first.
Next nextOf(Emitter &e, Value *place, std::int64_t bytes, std::int64_t places) {
  Value *next = e.b.CreateAdd(place, e.i32(bytes));
  Value *isBeyond = e.b.CreateICmpEQ(next, e.i32(places * bytes));
  return {e.b.CreateSelect(isBeyond, e.i32(0), next), isBeyond};
}

/// The place that a variable is at; it goes on.
Value *advance(Emitter &e, llvm::AllocaInst *variable, std::int64_t bytes, std::int64_t places) {
  Value *now = valueOf(e, variable);
  e.b.CreateStore(nextOf(e, now, bytes, places).place, variable);
  return now;
}

Value *addressAt(Emitter &e, Value *base, Value *offset) {
  return e.b.CreateGEP(e.b.getInt8Ty(), base, offset);
}

} // namespace

void Ring::start(Emitter &e) {
  for (llvm::AllocaInst **cursor : {&filled_, &taken_}) *cursor = newVariable(e);
}

Value *Ring::fill(Emitter &e) {
  return addressAt(e, base_, advance(e, filled_, slotBytes_, slots_));
}

Value *Ring::take(Emitter &e) {
  return addressAt(e, base_, advance(e, taken_, slotBytes_, slots_));
}

Value *Ring::fillIf(Emitter &e, Value *condition) {
  Value *now = valueOf(e, filled_);
  Value *next = nextOf(e, now, slotBytes_, slots_).place;
  e.b.CreateStore(e.b.CreateSelect(condition, next, now), filled_);
  return now;
}

Value *Ring::unread(Emitter &e) const {
  return e.b.CreateAdd(e.i32(slots_ * slotBytes_), e.b.CreateMul(e.warp(), e.i32(ofWarp_)));
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
