#pragma once

#include "backend/layout/linear_layout.h"

#include <cstdint>

/// Layouts of tiles on the threads of a block: inputs register, lane, warp; outputs the tile's
/// axes. They are one-hot: a column is one bit or none, and no bit is reached twice, so that every
/// element has exactly one register in those threads that hold it. Every bit of the tile is
/// reached.
namespace imbrex::layout {

/// The threads of a block; powers of two.
struct Threads {
  std::int32_t lanes = 32;
  std::int32_t warps = 4;
  std::int32_t count() const { return lanes * warps; }
  friend bool operator==(const Threads &, const Threads &) = default;
};

/// The bits that count an extent: 0 for 1, 2 for 3 and 4.
std::int32_t bitsFor(std::int64_t extent);
/// The output sides of a tile with these extents.
Sides tileSides(llvm::ArrayRef<std::int64_t> extents);

/// Blocked: runs of `perThread` neighbours along `order`'s first axis in a thread, then lanes and
/// warps along the axes in `order` (fastest first), then more registers for what is left. Threads
/// that a small tile has no use for hold copies.
///
/// `perThread`: a power of two; less where the axis is shorter.
LinearLayout blockedLayout(llvm::ArrayRef<std::int64_t> extents, Threads threads,
                           std::int64_t perThread, llvm::ArrayRef<std::int32_t> order);

bool isTileLayout(const LinearLayout &layout);
/// Whether threads can fill a tile in shared memory by a layout that need not be one-hot: lanes and
/// warps may bring sums of bits (a swizzle). Every element is reached, by one register of those
/// threads that have it, and a register's part of the coordinates is added to its thread's.
bool isFillingLayout(const LinearLayout &layout);

/// The registers that a thread holds a tile in.
inline std::int64_t registerCount(const LinearLayout &layout) {
  return std::int64_t{1} << layout.inputBits(Dim::Register);
}

/// The same, but that a thread's registers have neighbours along an axis: the coordinates' bits
/// along it change places, so that the registers' are the lowest. Of a tile layout.
LinearLayout withNeighboursInRegisters(const LinearLayout &layout, std::int32_t axis);

/// The same, but that a thread has 2^`bits` elements along an axis, or all of it, as far as that
/// takes no more than what it has along the other axes, which the threads of one warp then have. Of
/// a tile layout.
LinearLayout withRegistersAlong(const LinearLayout &layout, std::int32_t axis, std::int32_t bits);

/// The same threads after an axis is gone (a reduction): its bits' columns become zero, registers
/// that then are copies are dropped.
LinearLayout withoutAxis(const LinearLayout &layout, std::int32_t axis);
/// The same threads with the extent of an axis set to 1 (the operand of a broadcast).
LinearLayout withUnitAxis(const LinearLayout &layout, std::int32_t axis);

/// The lane and warp bits (packed input bits without the registers') that do not matter: copies.
/// Who has all of them 0 is an element's owner, and the one to store it.
Bits copyBits(const LinearLayout &layout, Dim input);
/// Whether some element is held by more than one thread.
bool hasCopies(const LinearLayout &layout);

} // namespace imbrex::layout
