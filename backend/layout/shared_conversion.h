#pragma once

#include "backend/layout/bank_conflicts.h"
#include "backend/layout/vector_width.h"

/// A tile's way through shared memory, from the threads that have it to those that want it: where
/// each element is put, so that both sides move many bytes at a time and no bank has to serve
/// twice.
///
/// The offset's bits are chosen in this order, as a basis of the tile's elements:
///
///   within a vector   what both sides have in registers, up to 16 bytes; then what one side has
///   across the banks  the lanes that are served together, of the side with the longer vectors
///   from row to row   H: a step by one of these stays in its bank
///
/// A side has a conflict where two of its lanes that are served together differ by a step in H (and
/// by nothing but what lies inside of a word). So H must avoid the span W of the writers' vector
/// and lanes, and the span R of the readers'. Both have at most as many dimensions as a row of the
/// banks has elements bits; enlarge them to exactly those. Then H can always be had. With I the
/// intersection, W = I + ⟨w1, w2, …⟩ and R = I + ⟨r1, r2, …⟩, as many w as r. Take w1 + r1, w2 +
/// r2, …, and what completes W + R to all: no sum of those is in W (it would need an r) nor in R.
/// The sums are the exclusive ors of a swizzle.
///
/// For layouts whose columns are single bits (tile layouts) there is therefore never a conflict on
/// either side, whatever the two layouts are. A step w1 + r1 may have its w1 inside of a vector and
/// its r1 between threads of the side that wants whole vectors, which then begin in their middle:
/// such a choice is given up for one with shorter vectors, at the worst with those that both
/// sides have in registers: no w1 is inside of one of these.
namespace imbrex::layout {

struct SharedConversion {
  LinearLayout shared; ///< From the offset, in elements, to the tile's coordinates.
  LinearLayout writeOffsets, readOffsets; ///< From register, lane, warp to the offset.
  RegisterVectors writes, reads;          ///< Each one access of a thread.
  AccessCost writeCost, readCost;         ///< Of one warp.
};

/// In which order a vector has what readers alone have in registers: that of the elements, or that
/// of the registers, which what is read then fills side by side.
enum class ReadOrder : std::uint8_t { Elements, Registers };

/// Two layouts on the threads, in coordinates of one tile. Elements have 1, 2, 4, 8 or 16 bytes.
SharedConversion planSharedConversion(const LinearLayout &write, const LinearLayout &read,
                                      std::int32_t elementBytes, const SharedMemoryModel &memory,
                                      ReadOrder order = ReadOrder::Elements);

/// The same where the writers' vectors are given, and each is to lie in one piece: a reader's
/// access takes the leading part of one that it holds in registers.
SharedConversion planSharedConversion(const LinearLayout &write, const RegisterVectors &writes,
                                      const LinearLayout &read, std::int32_t elementBytes,
                                      const SharedMemoryModel &memory);

} // namespace imbrex::layout
