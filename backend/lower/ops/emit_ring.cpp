#include "backend/ir/shared_tiles.h"
#include "backend/lower/memory/exchange.h"
#include "backend/lower/memory/fragments.h"
#include "backend/lower/memory/slot_address.h"
#include "backend/lower/memory/view_box.h"
#include "backend/lower/memory/whole_copies.h"
#include "backend/lower/ops/emit_ops.h"

/// Rings: tiles that are copied into shared memory ahead of their use.
namespace imbrex::lower {

using llvm::Value;

namespace {

/// One copy of a thread where the machine has no asynchronous one of that size.
void copyAtOnce(Emitter &e, Value *to, const GlobalAccess &from, std::int64_t bytes) {
  constexpr std::int64_t kWord = 4;
  llvm::Type *const type = bytes > kWord
                               ? static_cast<llvm::Type *>(llvm::FixedVectorType::get(
                                     e.b.getInt32Ty(), static_cast<unsigned>(bytes / kWord)))
                               : e.b.getIntNTy(static_cast<unsigned>(bytes) * 8);
  const llvm::Align alignment(static_cast<std::uint64_t>(bytes));
  Value *loaded = e.where(from.mask, llvm::Constant::getNullValue(type), [&]() -> Value * {
    return e.b.CreateAlignedLoad(type, from.address, alignment);
  });
  e.b.CreateAlignedStore(loaded, to, alignment);
}

/// Null: it holds.
Value *conditionOf(Emitter &e, const ir::Op &copy) {
  return e.whole() ? nullptr : e.scalar(copy.operand(1));
}

/// Fill the next slot by copies that whole warps make, in the order of their lanes. How many of
/// them are under way is counted, so that each is made in any case: what a mask leaves out is
/// brought from zeros, and where the ring's condition does not hold, or other warps have the
/// elements, all is zeros and goes where nobody reads.
template <class MakeAccess>
void fillInLaneOrder(Emitter &e, const ir::Op &op, MakeAccess makeAccess) {
  SharedRing &ring = e.ring(op.operand(0));
  const analysis::RingCopies &copies = ring.copies();
  const layout::LinearLayout &offsets = ring.writeOffsets();
  const std::int64_t bytes = copies.bytes / copies.vectors.width; // of an element
  Value *condition = conditionOf(e, op);
  Value *slot = ring.fillIf(e, condition);
  Value *isWanted = e.allOf({condition, e.isOwner(e.layoutOf(op.operand(0)))});
  const auto where = [&](Value *holds, Value *chosen, Value *other) {
    return holds ? e.b.CreateSelect(holds, chosen, other) : chosen;
  };
  Value *const hasPlace = isWanted ? e.agreed(isWanted) : nullptr;
  Value *const unread = isWanted ? ring.unread(e) : nullptr;
  Value *ofWarp = applyColumns(e.b, offsets.columns(layout::Dim::Warp), e.warp());
  auto accessAt = makeAccess();
  for (const llvm::ArrayRef<std::int32_t> vector : copies.vectors.each()) {
    const auto first = static_cast<std::size_t>(vector[0]);
    const auto ofRegister = static_cast<std::int64_t>(offsets.apply(layout::Dim::Register, first));
    Value *inSlot = e.b.CreateMul(e.b.CreateXor(ofWarp, e.i32(ofRegister)), e.i32(bytes));
    Value *to = e.words.uniform(e.b, e.b.CreateAdd(slot, inSlot));
    Value *place = where(hasPlace, e.b.CreateGEP(e.b.getInt8Ty(), ring.base(), to), unread);
    const GlobalAccess from = accessAt(first, vector.size());
    if (std::optional<Vocabulary::BufferPlace> buffer = from.inBuffer) {
      constexpr std::int64_t kOutside = Vocabulary::BufferPlace::kOutside;
      buffer->ofThread = where(isWanted, buffer->ofThread, e.i32(kOutside));
      e.words.copyFromBuffer(e.b, place, *buffer, copies.bytes);
      continue;
    }
    Value *source = where(e.allOf({isWanted, from.mask}), from.address, e.zeros(copies.bytes));
    e.words.copyInLaneOrder(e.b, place, source, copies.bytes);
  }
}

/// Fill the next slot, where the ring's condition holds: what `makeAccess` makes says where the
/// elements of a register come from. What a mask leaves out, and padding, is filled with zeros.
template <class MakeAccess>
void fillSlot(Emitter &e, const ir::Op &op, MakeAccess makeAccess) {
  SharedRing &ring = e.ring(op.operand(0));
  const analysis::RingCopies &copies = ring.copies();
  if (copies.areInLaneOrder) return fillInLaneOrder(e, op, makeAccess);
  const layout::LinearLayout &offsets = ring.writeOffsets();
  const std::int64_t bytes = ir::storageBits(e.type(op.operand(0)).element()) / 8;
  const auto copyAll = [&](Value *slot) {
    auto accessAt = makeAccess();
    SlotAddresses addresses(e, slot, offsets, bytes);
    for (const llvm::ArrayRef<std::int32_t> vector : copies.vectors.each()) {
      const auto first = static_cast<std::size_t>(vector[0]);
      Value *to = addresses.at(offsets.apply(layout::Dim::Register, first));
      const GlobalAccess from = accessAt(first, vector.size());
      if (copies.areAsynchronous)
        e.words.copyAsync(e.b, to, from.address, {copies.bytes, from.mask});
      else
        copyAtOnce(e, to, from, copies.bytes);
    }
  };
  e.where(conditionOf(e, op), [&] {
    Value *slot = ring.fill(e);
    e.where(e.isOwner(e.layoutOf(op.operand(0))), [&] { copyAll(slot); });
  });
}

} // namespace

void emitRingCopy(Emitter &e, const ir::Op &op) {
  const ir::ValueId pointers = op.operand(2);
  fillSlot(e, op, [&] {
    return [&](std::size_t r, std::size_t) {
      Value *mask = op.operands.size() > 3 ? e.registers(op.operand(3))[r] : nullptr;
      Value *inside = e.isInside(e.layoutOf(pointers), e.type(pointers).shape(), r);
      return GlobalAccess{.address = e.registers(pointers)[r], .mask = e.allOf({inside, mask})};
    };
  });
}

void emitRingCopyBox(Emitter &e, const ir::Op &op) {
  if (e.whole())
    return fillSlot(e, op, [&] {
      return [&](std::size_t r, std::size_t width) { return e.whole()->at(op, r, width); };
    });
  fillSlot(e, op, [&] {
    const BoxStart start{.view = op.operand(2),
                         .coordinates = llvm::ArrayRef(op.operands).drop_front(3),
                         .unit = op.attrs<ir::RingCopyBoxAttrs>().unit};
    ViewBox box(e, start, e.type(op.operand(0)).shape(), &e.layoutOf(op.operand(0)));
    return [box = std::move(box)](std::size_t r, std::size_t width) mutable {
      return box.at(r, width);
    };
  });
}

void emitRingStore(Emitter &e, const ir::Op &op) {
  const ir::ValueId tile = op.operand(1);
  const ir::Type &type = e.type(tile);
  const std::int64_t bytes = ir::storageBits(type.element()) / 8;
  SharedRing &ring = e.ring(op.operand(0));
  const layout::LinearLayout &offsets = ring.writeOffsets();
  const layout::RegisterVectors vectors =
      layout::contiguousRegisters(offsets, layout::kMaxAccessBytes / bytes);
  Value *slot = ring.fill(e);
  e.awaitLoads();
  e.where(e.isOwner(tile),
          [&] { writeShared(e, type, e.registers(tile), {slot, offsets, vectors}); });
  e.words.keepOrder(e.b);
}

namespace {

/// Where a box begins along an axis, as the engine takes it: i32. What lies further out has no
/// element of the view.
Value *engineStart(Emitter &e, ir::ValueId coordinate, std::int64_t unit) {
  constexpr std::int64_t kFarBefore = -(std::int64_t{1} << 16);
  Value *start = startInElements(e, coordinate, unit);
  start = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, e.i64(kFarBefore));
  start = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, start,
                                    e.i64(analysis::ParameterAssumptions::kMostBoxExtent));
  return e.b.CreateTrunc(start, e.b.getInt32Ty());
}

/// The boxes that make the tile in a slot, one behind the other.
void loadBoxes(Emitter &e, const ir::Op &op, Value *slot, Value *barrier) {
  const layout::BoxLayout &boxes = e.ring(op.operand(0)).boxes();
  const ir::Type &type = e.type(op.operand(0));
  const bool inTiles = op.attrs<ir::BoxAttrs>().unit == ir::BoxUnit::Tiles;
  llvm::SmallVector<Value *, 5> starts;
  for (std::int32_t axis = 0; axis < type.rank(); ++axis)
    starts.push_back(engineStart(e, op.operand(3 + static_cast<std::size_t>(axis)),
                                 inTiles ? type.shape()[axis] : 1));
  for (std::int64_t copy = 0; copy < boxes.copies; ++copy) {
    const std::int64_t offset = copy * boxes.elements();
    const layout::Bits at = boxes.shared.apply(static_cast<layout::Bits>(offset));
    llvm::SmallVector<Value *, 5> first;
    for (std::int32_t axis = type.rank(); axis-- > 0;) {
      const layout::Bits beyond = boxes.shared.outputPart(at, layout::axisDim(axis));
      first.push_back(e.b.CreateAdd(starts[static_cast<std::size_t>(axis)],
                                    e.i32(static_cast<std::int64_t>(beyond))));
    }
    Value *to = e.b.CreateGEP(e.memoryType(type.held()), slot, e.i32(offset));
    e.words.loadBox(e.b, to, {e.boxMap(op), first}, barrier);
  }
}

} // namespace

void emitRingLoadBox(Emitter &e, const ir::Op &op) {
  Value *slot = e.ring(op.operand(0)).fill(e);
  Value *barrier = e.barriers(op.operand(1)).arrivedAt(e);
  e.where(e.isLoader(), [&] { loadBoxes(e, op, slot, barrier); });
}

void emitBarrierExpect(Emitter &e, const ir::Op &op) {
  Value *barrier = e.barriers(op.operand(0)).arriveAt(e);
  const std::int64_t bytes = op.attrs<ir::BytesAttrs>().bytes;
  e.where(e.isLoader(), [&] { e.words.expect(e.b, barrier, bytes); });
}

void emitBarrierArrive(Emitter &e, const ir::Op &op) {
  Value *barrier = e.barriers(op.operand(0)).arriveAt(e);
  e.words.meetWarp(e.b);
  e.where(e.b.CreateICmpEQ(e.lane(), e.i32(0)), [&] { e.words.arrive(e.b, barrier); });
}

void emitRingSlot(Emitter &e, const ir::Op &op) {
  e.define(op.result(), {e.ring(op.operand(0)).take(e)});
}

/// Whether warps read the tile as matrices, which they do where that is cheapest, an element in a
/// register is what it is in memory, and no thread is to read what it has copied itself: that waits
/// for no other's copies (read_schedule.cpp).
bool loadByMatrices(Emitter &e, const ir::Op &op) {
  const ir::Type &type = e.type(op.result());
  const ir::ValueId tile = op.operand(0);
  const ir::ValueId ring = ir::slotOf(e.kernel, tile).operand(0);
  if (ir::info(type.element()).bits != ir::storageBits(type.element()) ||
      e.kernel.layoutOf(ring) == e.kernel.layoutOf(op.result()))
    return false;
  FragmentSource source(
      e, type.element(),
      inSlot(analysis::plainReads(e.layoutOf(op.result())), inSlot(e.kernel, tile)));
  source.readFrom(e.scalar(tile), slotLayout(e.kernel, tile));
  if (!source.areMatrices()) return false;
  e.define(op.result(), source.elements(e.laneType(type)));
  return true;
}

void emitSharedLoad(Emitter &e, const ir::Op &op) {
  if (loadByMatrices(e, op)) return;
  const ir::Type &type = e.type(op.result());
  const layout::SlotReads reads = readsOf(e, op.operand(0), e.layoutOf(op.result()));
  const layout::RegisterVectors vectors =
      reads.vectors(layout::kMaxAccessBytes * 8 / ir::storageBits(type.element()));
  e.define(op.result(), readShared(e, type,
                                   {.base = e.scalar(op.operand(0)),
                                    .offsets = reads.offsets,
                                    .vectors = vectors,
                                    .first = reads.first}));
}

} // namespace imbrex::lower
