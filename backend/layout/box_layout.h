#pragma once

#include "backend/layout/linear_layout.h"

#include <cstdint>
#include <optional>

/// How a tile lies in shared memory that an engine of the machine copies there, box by box, from a
/// view: the threads have no say in it but for the box and its swizzle.
namespace imbrex::layout {

/// The engine writes a box row by row, each behind the other, and may swizzle it: of each address,
/// the bits from 16 bytes on are flipped by those from 128 bytes on, as many as make 16 bytes the
/// span of the swizzle. A row of the box is then no longer than the span, so that eight neighbours
/// of a column lie in different banks.
///
///   a tile f16[64x64], a row of 128 bytes: one box, span 128
///
///     byte      0 …  15   16 …  31          112 … 127
///     row 0     chunk 0   chunk 1     …     chunk 7
///     row 1     chunk 1   chunk 0     …     chunk 6
///
/// A tile of longer rows is several boxes side by side, one behind the other in memory.
struct BoxLayout {
  llvm::SmallVector<std::int64_t, 5> box; ///< Extents of one copy, by axis.
  std::int64_t copies = 1;                ///< That make the tile.
  std::int32_t span = 0;                  ///< Of the swizzle, in bytes; 0: none.
  LinearLayout shared;                    ///< From the offset, in elements, to coordinates.

  std::int64_t elements() const; ///< Of one copy.
  /// Of which a slot's address must be a multiple, in bytes: else the swizzle would be another.
  std::int64_t alignment() const;
};

/// The layout with the widest swizzle; none for tiles that no few boxes make. Of extents that are
/// no powers of two it has the next: the boxes bring what lies there in the view.
std::optional<BoxLayout> planBoxes(llvm::ArrayRef<std::int64_t> extents, std::int32_t elementBytes);

} // namespace imbrex::layout
