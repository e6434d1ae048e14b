#pragma once

#include "backend/ir/types.h"

#include <cstddef>
#include <span>

namespace imbrex::host {

/// Tiles in memory of one shape, cut at the axis that is sorted along: so many lines outside of it,
/// elements along it, and neighbours between two of these.
struct SortShape {
  std::int64_t outer;
  std::int64_t along;
  std::int64_t inner;
};

/// A row-major tile in scratch.
struct SortTile {
  std::byte *data;
  std::int64_t elementBytes;
};

/// Sort each line of the first tile, in place, and move the others' elements with it: stable, the
/// order total as docs/semantics.md says.
void sortLines(ir::ElementKind element, bool descending, const SortShape &shape,
               std::span<const SortTile> tiles);

} // namespace imbrex::host
