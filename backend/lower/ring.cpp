#include "backend/lower/ring.h"

#include "backend/ir/ring_bytes.h"
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
  const machine::Machine &machine = e.words.machine();
  const layout::LinearLayout &layout = e.layoutOf(op.result());
  copies_ = copiesOf(e.kernel, op.result(), machine);
  if (copies_.areInLaneOrder) ofWarp_ = copies_.bytes * machine.warpSize;
  const std::int64_t unread = ofWarp_ * e.kernel.threads().warps;
  base_ = e.shared.reserve(slotBytes_ * slots_ + unread, "ring");
  slot_ = copies_.areInLaneOrder
              ? layout::planSlotInLaneOrder(layout, copies_.vectors)
              : layout::planSlot(layout, copies_.vectors, readLayout(e.kernel, op.result()),
                                 ir::storageBits(e.type(op.result()).element()) / 8,
                                 {.banks = machine.banks, .lanes = machine.warpSize});
}

void Ring::start(Emitter &e) {
  for (llvm::AllocaInst **cursor : {&filled_, &taken_}) {
    *cursor = e.b.CreateAlloca(e.b.getInt32Ty());
    e.b.CreateStore(e.b.getInt32(0), *cursor);
  }
}

/// The slot behind one; behind the last, the first.
Value *Ring::behind(Emitter &e, Value *slot) const {
  Value *next = e.b.CreateAdd(slot, e.i32(slotBytes_));
  Value *isBeyond = e.b.CreateICmpEQ(next, e.i32(slots_ * slotBytes_));
  return e.b.CreateSelect(isBeyond, e.i32(0), next);
}

/// The slot that a cursor is at; it goes on.
Value *Ring::advance(Emitter &e, llvm::AllocaInst *cursor) {
  Value *now = e.b.CreateLoad(e.b.getInt32Ty(), cursor);
  e.b.CreateStore(behind(e, now), cursor);
  return e.b.CreateGEP(e.b.getInt8Ty(), base_, now);
}

Value *Ring::fillIf(Emitter &e, Value *condition) {
  Value *now = e.b.CreateLoad(e.b.getInt32Ty(), filled_);
  e.b.CreateStore(e.b.CreateSelect(condition, behind(e, now), now), filled_);
  return now;
}

Value *Ring::unread(Emitter &e) const {
  return e.b.CreateAdd(e.i32(slots_ * slotBytes_), e.b.CreateMul(e.warp(), e.i32(ofWarp_)));
}

} // namespace imbrex::lower
