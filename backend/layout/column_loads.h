#pragma once

#include "backend/layout/tile_layout.h"

#include <optional>

/// Loads of a warp that transpose a tile on its way from global memory
/// (machine::MatrixLoads::GlobalTransposed8). A lane names 8 neighbours of a row, and gets 8 of a
/// column: of 16 bits the i-th element of each of 8 lanes, for the i-th of these; of bytes those of
/// 4 lanes, and of the 4 that are 8 lanes further on. So what lanes name is what they hold, with
/// the bits of a column's elements and of the lanes beside each other exchanged:
///
///   held             register [[1,0],[2,0],[4,0]] lane [[0,1],[0,2],[0,4],[0,8],[0,16]] of [8x32]
///   named, 16 bits   register [[0,1],[0,2],[0,4]] lane [[1,0],[2,0],[4,0],[0,8],[0,16]]
///   named, bytes     register [[0,1],[0,2],[0,4]] lane [[1,0],[2,0],[0,8],[4,0],[0,16]]
namespace imbrex::layout {

inline constexpr std::int64_t kElementsOfColumn = 8; ///< That a lane names, and that it gets.

/// Who is to hold a tile that such loads bring: each thread pieces of 16 bytes along an axis, and a
/// warp of each row, which are along the last one, as much as it has registers for. Nothing where
/// the tile is too small.
std::optional<LinearLayout> columnLayout(llvm::ArrayRef<std::int64_t> extents, Threads threads,
                                         std::int32_t axis, std::int32_t elementBits);

/// What lanes name, register by register, for threads that hold a tile so; nothing where that would
/// be no neighbours along the last axis.
std::optional<LinearLayout> namedForColumns(const LinearLayout &held, std::int32_t elementBits);

} // namespace imbrex::layout
