#pragma once

#include "backend/layout/linear_layout.h"

/// Padding: what a layout holds beyond the extents of a tile, which are no powers of two.
namespace imbrex::layout {

/// Whether an element, in packed coordinates, lies outside a tile with these extents.
bool isPadding(const LinearLayout &layout, Bits element, llvm::ArrayRef<std::int64_t> extents);

/// Where a register holds padding.
enum class PaddedThreads : std::uint8_t {
  NoThread,    // no mask is needed
  SomeThreads, // it depends on lane and warp
  AllThreads,  // the register is not worth computing
};

/// For layouts in which axes share no thread bit (tile layouts) the answer is exact; for others it
/// may be SomeThreads where all hold padding, never the contrary.
PaddedThreads paddingIn(const LinearLayout &layout, std::int32_t registerIndex,
                        llvm::ArrayRef<std::int64_t> extents);

/// Whether any place holds padding at all: some extent is no power of two.
bool hasPadding(const LinearLayout &layout, llvm::ArrayRef<std::int64_t> extents);

} // namespace imbrex::layout
