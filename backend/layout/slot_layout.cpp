#include "backend/layout/slot_layout.h"

#include "backend/layout/algebra.h"
#include "backend/layout/tile_layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace imbrex::layout {
namespace {

/// Whether each vector lies in neighbouring offsets from a multiple of its width on, whichever
/// thread has it.
bool keepsTogether(const LinearLayout &offsets, const RegisterVectors &vectors) {
  const Bits inside = static_cast<Bits>(vectors.width) - 1;
  const Bits ofThreads = unionOf(offsets.columns(Dim::Lane)) | unionOf(offsets.columns(Dim::Warp));
  if ((ofThreads & inside) != 0) return false;
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

LinearLayout planSlot(const LinearLayout &write, const RegisterVectors &copies,
                      const LinearLayout &read, std::int32_t elementBytes,
                      const SharedMemoryModel &memory) {
  std::array ways{planSharedConversion(write, copies, read, elementBytes, memory),
                  planSharedConversion(write, read, elementBytes, memory)};
  const auto costOf = [](const SharedConversion &way) {
    return std::pair(way.writeCost.conflicts() + way.readCost.conflicts(),
                     way.writeCost.cycles + way.readCost.cycles);
  };
  SharedConversion *best = nullptr;
  for (SharedConversion &way : ways)
    if (keepsTogether(way.writeOffsets, copies) && (!best || costOf(way) < costOf(*best)))
      best = &way;
  return best ? std::move(best->shared) : vectorByVector(write, copies);
}

LinearLayout planSlotInLaneOrder(const LinearLayout &write, const RegisterVectors &copies) {
  // A warp's sum of bits is a place of its own: the machine adds the lanes' places to it, and those
  // of the bits that they share would be added twice.
  Vectors next(write.columns(Dim::Lane));
  llvm::copy_if(write.columns(Dim::Warp), std::back_inserter(next),
                [](Bits column) { return column != 0 && !llvm::has_single_bit(column); });
  return vectorByVector(write, copies, next);
}

namespace {

/// Who brings what, when the offsets are dealt out in this order: the elements of a vector, the
/// lanes, the warps, the other registers.
LinearLayout inLaneOrder(const LinearLayout &write, const RegisterVectors &copies,
                         llvm::ArrayRef<Bits> offsets) {
  const auto lanes = static_cast<std::size_t>(write.inputBits(Dim::Lane));
  const auto warps = static_cast<std::size_t>(write.inputBits(Dim::Warp));
  Vectors registers(static_cast<std::size_t>(write.inputBits(Dim::Register)), 0);
  const auto take = [&](std::size_t count) {
    const Vectors taken(offsets.take_front(count));
    offsets = offsets.drop_front(count);
    return taken;
  };
  for (std::size_t i = 1; i < static_cast<std::size_t>(copies.width); i *= 2)
    registers[llvm::Log2_32(static_cast<std::uint32_t>(copies.registers[i]))] = take(1)[0];
  const Vectors ofLanes = take(lanes), ofWarps = take(warps);
  for (Bits &column : registers)
    if (column == 0) column = take(1)[0];
  Vectors columns(registers);
  columns.append(ofLanes);
  columns.append(ofWarps);
  return LinearLayout(Sides(write.inputs()), Sides(write.outputs()), columns);
}

} // namespace

std::optional<SwizzledSlot> planSwizzledSlot(const LinearLayout &write,
                                             const RegisterVectors &copies,
                                             const LinearLayout &read, std::int32_t elementBytes,
                                             const SharedMemoryModel &memory) {
  const auto isOneBit = [&](std::size_t i) {
    return llvm::has_single_bit(static_cast<std::uint32_t>(copies.registers[i]));
  };
  if (!isBijective(write)) return std::nullopt;
  for (std::size_t i = 1; i < static_cast<std::size_t>(copies.width); i *= 2)
    if (!isOneBit(i)) return std::nullopt;
  LinearLayout shared = planSlot(write, copies, read, elementBytes, memory);
  Vectors offsets(shared.columns(Dim::Offset));
  const auto ofWarp = static_cast<std::size_t>(write.inputBits(Dim::Lane)) +
                      llvm::Log2_64(static_cast<std::uint64_t>(copies.width));
  if (offsets.size() < ofWarp) return std::nullopt;
  // Sums to the warps, so that each register's part is its own.
  std::stable_partition(offsets.begin() + static_cast<std::ptrdiff_t>(ofWarp), offsets.end(),
                        [](Bits column) { return !llvm::has_single_bit(column); });
  LinearLayout swizzled = inLaneOrder(write, copies, offsets);
  if (!isFillingLayout(swizzled)) return std::nullopt;
  if (!keepsTogether(compose(inverse(shared), swizzled), copies)) return std::nullopt;
  return SwizzledSlot{std::move(shared), std::move(swizzled)};
}

RegisterVectors SlotReads::vectors(std::int64_t most) const {
  // A vector begins at a multiple of its width.
  if (first != 0) most = std::min(most, std::int64_t{1} << llvm::countr_zero(first));
  return contiguousRegisters(offsets, most);
}

SlotReads slotReads(const LinearLayout &slot, const LinearLayout &read, Bits first) {
  const LinearLayout toOffsets = inverse(slot);
  return {compose(toOffsets, read), toOffsets.apply(first)};
}

} // namespace imbrex::layout
