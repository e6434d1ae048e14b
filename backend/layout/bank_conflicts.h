#pragma once

#include "backend/layout/matrix.h"

/// What accesses to shared memory cost.
///
/// Shared memory is dealt out over banks in words of 4 bytes, round robin. A bank serves one word
/// at a time, to any number of lanes. So two lanes of an access are in each other's way where they
/// want different words of one bank; and an access that wants more than one word of each bank is
/// served in parts, lanes after lanes: half a warp at a time for 8 bytes per lane and 32 banks, a
/// quarter for 16.
///
/// All is linear. The words that lanes want at a time are a subspace (shifted by the register's
/// place, which changes nothing); 2^rank of them are different, in 2^(rank of their bank bits)
/// banks, equally many in each.
namespace imbrex::layout {

constexpr std::int32_t kBankBytes = 4;
/// The widest load and store that a lane can do.
constexpr std::int32_t kMaxAccessBytes = 16;

/// What a machine's shared memory is like.
struct SharedMemoryModel {
  std::int32_t banks = 32;
  std::int32_t lanes = 32;     ///< Of a warp.
  bool storesMatrices = false; ///< Of 8 rows of 16 bytes, by warps (matrix_stores.h).
  /// Which lanes a read of 16 bytes is served for at a time, where they are not neighbours: the
  /// first k of these vectors span the first 2^k lanes.
  llvm::SmallVector<Bits, 6> wideReadLanes = {};
};

enum class AccessKind : std::uint8_t { Read, Write };

/// How the threads go through a tile in shared memory.
struct SharedAccess {
  AccessKind kind;
  const LinearLayout &offsets; ///< Where each thread's register lies, in elements.
  std::int32_t elementBytes;
  std::int64_t vectorElements; ///< As contiguousRegisters says of the offsets.
};

/// Of one warp that goes through all its registers.
struct AccessCost {
  std::int64_t accesses = 0; ///< Instructions.
  std::int64_t cycles = 0;
  std::int64_t leastCycles = 0; ///< Without conflicts.
  std::int64_t conflicts() const { return cycles - leastCycles; }
  friend bool operator==(const AccessCost &, const AccessCost &) = default;
};

/// Vectors of lanes that span the lanes which are served together, bytes for each.
Vectors lanesTogether(const SharedMemoryModel &memory, AccessKind kind, std::int64_t bytes);

AccessCost bankConflicts(const SharedAccess &access, const SharedMemoryModel &memory);

} // namespace imbrex::layout
