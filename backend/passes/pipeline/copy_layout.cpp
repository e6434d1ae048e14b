#include "backend/passes/pipeline/copy_layout.h"

#include "backend/layout/vector_width.h"

#include <utility>

namespace imbrex::passes::pipeline {

using layout::Bits;
using layout::Dim;

layout::LinearLayout copyLayout(const layout::LinearLayout &layout, const ir::Type &tile) {
  constexpr std::int64_t kLineBytes = 128;
  const Dim axis = layout::axisDim(layout::axisOfNeighbours(layout, tile.rank()));
  const Bits line = static_cast<Bits>(kLineBytes * 8 / ir::storageBits(tile.element()));
  llvm::SmallVector<Bits, 16> columns(layout.columns());
  const auto isInOneRow = [&](Bits column) {
    return layout.outputPart(column, axis) << layout.outputShift(axis) == column;
  };
  auto *const registers = columns.begin() + layout.inputShift(Dim::Register);
  auto *const end = registers + layout.inputBits(Dim::Register);
  auto *lane = columns.begin() + layout.inputShift(Dim::Lane);
  for (auto *const last = lane + layout.inputBits(Dim::Lane); lane != last; ++lane) {
    if (!isInOneRow(*lane) || layout.outputPart(*lane, axis) < line) continue;
    auto *const row =
        std::find_if(registers, end, [&](Bits column) { return !isInOneRow(column); });
    if (row == end) break;
    std::swap(*lane, *row);
  }
  return {layout::Sides(layout.inputs()), layout::Sides(layout.outputs()), columns};
}

} // namespace imbrex::passes::pipeline
