#include "backend/layout/slot_layout.h"

#include "backend/layout/algebra.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::layout {
namespace {

/// Whether each vector lies in neighbouring offsets from a multiple of its width on, whichever
/// thread has it.
bool keepsTogether(const LinearLayout &offsets, const RegisterVectors &vectors) {
  const Bits inside = static_cast<Bits>(vectors.width) - 1;
  for (const Dim dim : {Dim::Lane, Dim::Warp})
    if (llvm::any_of(offsets.columns(dim), [&](Bits column) { return (column & inside) != 0; }))
      return false;
  const auto offsetOf = [&](std::size_t i) {
    return offsets.apply(Dim::Register, static_cast<Bits>(vectors.registers[i]));
  };
  const auto width = static_cast<std::size_t>(vectors.width);
  for (std::size_t i = 0; i < vectors.registers.size(); ++i) {
    const Bits first = offsetOf(i - i % width);
    if ((first & inside) != 0 || offsetOf(i) != first + i % width) return false;
  }
  return true;
}

/// The elements of a vector, then those of other dims, then the rest in the tile's own order.
LinearLayout vectorByVector(const LinearLayout &write, const RegisterVectors &vectors,
                            llvm::ArrayRef<Bits> next = {}) {
  Vectors columns;
  const auto placeOf = [&](std::size_t i) {
    return write.apply(Dim::Register, static_cast<Bits>(vectors.registers[i]));
  };
  for (std::size_t i = 1; i < static_cast<std::size_t>(vectors.width); i *= 2)
    columns.push_back(placeOf(i) ^ placeOf(0));
  columns.append(next.begin(), next.end());
  columns.append(extension(columns, unitVectors(write.outputBits())));
  return LinearLayout({{Dim::Offset, static_cast<std::int32_t>(columns.size())}},
                      Sides(write.outputs()), columns);
}

} // namespace

SlotLayout planSlot(const LinearLayout &write, const RegisterVectors &copies,
                    const LinearLayout &read, std::int32_t elementBytes,
                    const SharedMemory &memory) {
  SharedConversion way = planSharedConversion(write, read, elementBytes, memory);
  if (keepsTogether(way.writeOffsets, copies))
    return {std::move(way.shared), std::move(way.writeOffsets)};
  LinearLayout shared = vectorByVector(write, copies);
  LinearLayout writeOffsets = compose(inverse(shared), write);
  return {std::move(shared), std::move(writeOffsets)};
}

SlotLayout planSlotInLaneOrder(const LinearLayout &write, const RegisterVectors &copies) {
  LinearLayout shared = vectorByVector(write, copies, write.columns(Dim::Lane));
  LinearLayout writeOffsets = compose(inverse(shared), write);
  return {std::move(shared), std::move(writeOffsets)};
}

SlotReads slotReads(const SlotLayout &slot, const LinearLayout &read, std::int32_t elementBytes) {
  LinearLayout offsets = compose(inverse(slot.shared), read);
  RegisterVectors vectors = contiguousRegisters(offsets, kMaxAccessBytes / elementBytes);
  return {std::move(offsets), std::move(vectors)};
}

} // namespace imbrex::layout
