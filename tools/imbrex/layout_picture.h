#pragma once

#include "backend/layout/linear_layout.h"

#include <string>

/// Layouts for people: where each element of a tile is.
namespace imbrex::tool {

/// A layout and how much of it to show: the extents leave out padding.
struct PicturedLayout {
  layout::LinearLayout layout;
  llvm::SmallVector<std::int64_t, 5> extents;
};

/// All of a layout.
PicturedLayout pictured(layout::LinearLayout layout);

/// More elements than this are not read but scrolled past.
constexpr std::int64_t kMaxPicturedElements = 1 << 14;
std::int64_t elementCount(const PicturedLayout &picture);

/// What the text of a place means: "thread:register, thread = lane + 32 * warp".
std::string placeLegend(const layout::LinearLayout &layout);

/// One cell for each element, the last axis across, a table for each index of the axes before the
/// last two. Of several places that hold an element it shows the owner's; "-" is held nowhere.
std::string tableOf(const PicturedLayout &picture);

/// The same as a picture: warps have colours and lanes shades; of one warp, the lanes have colours,
/// and of shared memory the banks, for elements of 4 bytes.
std::string svgOf(const PicturedLayout &picture);

} // namespace imbrex::tool
