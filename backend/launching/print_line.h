#pragma once

#include "backend/launching/element_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// What is said of what a kernel prints and asserts, the same on every device.
namespace imbrex::launching {

inline constexpr std::size_t kMostPrintedAxes = 5;

/// A tile that a kernel prints or asserts, and how its elements are noted for the host. Libraries
/// of kernels have such constants, as of ObservationSite.
struct ObservedTile {
  NumberForm number;
  std::int32_t rank;
  std::int32_t elementBytes; ///< Of each where they are noted, row by row, the least bytes first.
  std::int64_t extents[kMostPrintedAxes]; ///< So many as the rank is; behind them zeros.

  friend bool operator==(const ObservedTile &, const ObservedTile &) = default;
};
static_assert(sizeof(ObservedTile) == 56);

inline std::span<const std::int64_t> extentsOf(const ObservedTile &tile) {
  return std::span(tile.extents).first(static_cast<std::size_t>(tile.rank));
}
std::int64_t elementsOf(const ObservedTile &tile);

/// Where a kernel prints or asserts.
struct ObservationSite {
  const char *text;          ///< The author's.
  const char *place;         ///< "kernels.h:41"; null where whoever launches knows better.
  const ObservedTile *tiles; ///< What is printed; the conditions of an assert.
  std::int64_t tileCount;
};
static_assert(sizeof(ObservationSite) == 32);

inline std::span<const ObservedTile> tilesOf(const ObservationSite &site) {
  return {site.tiles, static_cast<std::size_t>(site.tileCount)};
}

using BlockIndex = std::array<std::int32_t, 3>;

/// A tile that a kernel prints: its elements' bits, zero-extended, in row-major order.
struct PrintedTile {
  const ObservedTile &of;
  std::span<const std::uint64_t> bits;
};

/// The line that the op `print` writes on every device, without its line end.
///
///   [pid 3,0,0] row sums: [1.5, -0, inf], true, [[1, 2], [3, 4]]
///
/// Axes nest in brackets, and a scalar has none.
std::string printLine(const BlockIndex &block, std::string_view text,
                      std::span<const PrintedTile> tiles);

/// Where an assert failed: `at tile index [3] of block [0, 0, 0]`, of a scalar `in block …`.
/// `element`: its row-major index in the tile.
std::string elementPlace(std::span<const std::int64_t> extents, std::int64_t element,
                         const BlockIndex &block);

} // namespace imbrex::launching
