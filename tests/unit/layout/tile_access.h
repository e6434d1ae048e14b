#pragma once

#include "backend/layout/algebra.h"
#include "backend/layout/bank_conflicts.h"

namespace imbrex::layout {

/// How threads go through a tile that lies in shared memory.
struct TileAccess {
  AccessKind kind;
  const LinearLayout &places; ///< Which thread's register is which element.
  std::int32_t elementBytes;
  std::int64_t vectorElements;
};

/// `shared`: from the offset, in elements, to the tile's coordinates.
inline AccessCost bankConflicts(const LinearLayout &shared, const TileAccess &access,
                                const SharedMemoryModel &memory) {
  const LinearLayout offsets = compose(inverse(shared), access.places);
  return bankConflicts({access.kind, offsets, access.elementBytes, access.vectorElements}, memory);
}

} // namespace imbrex::layout
