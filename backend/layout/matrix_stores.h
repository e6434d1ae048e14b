#pragma once

#include "backend/layout/bank_conflicts.h"
#include "backend/layout/vector_width.h"

#include <optional>

/// How warps store what they hold to shared memory as matrices of 8 rows of 16 bytes, as they can
/// load them (analysis/fragment_access.h): lane 8 · m + j names row j of matrix m, and each lane
/// gives four bytes of each matrix, those of row lane / 4 from byte 4 · (lane % 4) on; or, of the
/// transposed one, elements of 16 bits at places 2 · (lane % 4) and the next of column lane / 4.
///
/// What a warp sums up on a matrix unit lies so in its lanes. By itself a lane would store four
/// bytes at a time, and two where the other factor's axis is the one in a row.
namespace imbrex::layout {

/// In bits: the rows of a matrix, the lanes that share one, and the matrices of an access at most.
inline constexpr std::size_t kMatrixRowBits = 3, kMatrixLaneBits = 2, kMostMatrixBits = 2;

struct MatrixStores {
  bool areTransposed = false;
  std::int32_t elementsOfLane = 0;   ///< Of each matrix.
  std::int32_t matrixBits = 0;       ///< Count the matrices of one store: 0, 1 or 2.
  std::int32_t elementBitsOfRow = 0; ///< Count the elements of 16 bytes.
  /// What a lane gives, store by store, matrix by matrix, element by element: registers of a
  /// thread, each of them once.
  std::vector<std::int32_t> registers;
  /// From register, lane, warp to the offset: a register's low bits count the elements of the row
  /// that the lane names, the others stores.
  LinearLayout rows;
};

/// What lies in a row of 16 bytes, if the threads that hold a tile so store it by matrices: plain,
/// and transposed for elements of 16 bits.
struct MatrixRows {
  Vectors elements; ///< What counts the elements of a row, in the tile's coordinates;
  Vectors rows;     ///< and the rows of a matrix.
};
llvm::SmallVector<MatrixRows, 2> matrixRows(const LinearLayout &held, std::int32_t elementBytes);

/// `offsets`: from register, lane, warp to the offset in elements. Nothing where the bits of lanes
/// and registers that would be in a row are no neighbours in memory, or two lanes hold one element.
std::optional<MatrixStores> matrixStores(const LinearLayout &offsets, std::int32_t elementBytes);

/// Those that are fewer than a thread's own stores of these vectors; nothing where the machine has
/// no such stores.
std::optional<MatrixStores> fewerMatrixStores(const LinearLayout &offsets,
                                              const RegisterVectors &vectors,
                                              std::int32_t elementBytes,
                                              const SharedMemoryModel &memory);

AccessCost costOf(const MatrixStores &stores, std::int32_t elementBytes,
                  const SharedMemoryModel &memory);

} // namespace imbrex::layout
