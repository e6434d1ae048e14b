#include "backend/ir/observed_tile.h"

#include "backend/ir/constant_text.h"

#include <algorithm>

namespace imbrex::ir {

launching::ObservedTile observedTile(const Type &type, std::int64_t elementBytes) {
  static_assert(launching::kMostPrintedAxes == Shape::kMaxRank);
  launching::ObservedTile tile{.number = numberForm(type.element()),
                               .rank = type.rank(),
                               .elementBytes = static_cast<std::int32_t>(elementBytes),
                               .extents = {}};
  std::ranges::copy(type.shape().extents(), tile.extents);
  return tile;
}

} // namespace imbrex::ir
