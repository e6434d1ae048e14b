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
  const std::int32_t least = machine.asyncCopies.leastBytes;
  copies.areAsynchronous = least > 0 && copies.bytes >= least;
  return copies;
}

Ring::Ring(Emitter &e, const ir::Op &op)
    : slotBytes_(ir::slotBytes(e.kernel, op.result())), slots_(op.attrs<ir::RingAttrs>().slots) {
  base_ = e.shared.reserve(slotBytes_ * slots_, "ring");
  const machine::Machine &machine = e.words.machine();
  copies_ = copiesOf(e.kernel, op.result(), machine);
  slot_ =
      layout::planSlot(e.layoutOf(op.result()), copies_.vectors, readLayout(e.kernel, op.result()),
                       ir::storageBits(e.type(op.result()).element()) / 8,
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

} // namespace imbrex::lower
