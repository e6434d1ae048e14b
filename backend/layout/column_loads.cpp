#include "backend/layout/column_loads.h"

#include "backend/layout/bank_conflicts.h"
#include "backend/layout/layout_builder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <utility>

namespace imbrex::layout {
namespace {

constexpr std::int32_t kColumnBits = 3, kLaneBits = 5; // of a wave of 32 lanes
static_assert(kElementsOfColumn == std::int64_t{1} << kColumnBits);

} // namespace

std::optional<LinearLayout> columnLayout(llvm::ArrayRef<std::int64_t> extents, Threads threads,
                                         std::int32_t axis, std::int32_t elementBits) {
  const auto rows = static_cast<std::int32_t>(extents.size()) - 1;
  const std::int32_t ofRegisters =
      totalBits(tileSides(extents)) - bitsFor(threads.lanes) - bitsFor(threads.warps);
  if (ofRegisters < kColumnBits) return std::nullopt;
  LayoutBuilder deal(extents, threads, ofRegisters);
  deal.give(Dim::Register, axis, bitsFor(kMaxAccessBytes * 8 / elementBits));
  deal.give(Dim::Lane, rows, kLaneBits);
  deal.give(Dim::Register, rows, LayoutBuilder::kAll);
  const auto order = llvm::to_vector<5>(llvm::seq_inclusive(0, rows));
  for (const Dim dim : {Dim::Register, Dim::Warp})
    for (const std::int32_t other : order) deal.give(dim, other, LayoutBuilder::kAll);
  LinearLayout layout = deal.finish(order);
  const bool hasColumns = layout.outputPart(layout.columns(Dim::Register)[kColumnBits - 1],
                                            axisDim(axis)) == Bits{1} << (kColumnBits - 1);
  if (!hasColumns || hasCopies(layout) || !namedForColumns(layout, elementBits))
    return std::nullopt;
  return layout;
}

std::optional<LinearLayout> namedForColumns(const LinearLayout &held, std::int32_t elementBits) {
  if (held.inputBits(Dim::Register) < kColumnBits || held.inputBits(Dim::Lane) != kLaneBits ||
      held.outputs().back().bits < kColumnBits)
    return std::nullopt;
  for (const auto &[bit, column] : llvm::enumerate(held.columns(Dim::Lane).take_front(kColumnBits)))
    if (column != Bits{1} << bit) return std::nullopt;
  llvm::SmallVector<Bits, 16> columns(held.columns());
  const auto lanes = llvm::MutableArrayRef(columns).drop_front(
      static_cast<std::size_t>(held.inputBits(Dim::Register)));
  std::swap_ranges(columns.begin(), columns.begin() + kColumnBits, lanes.begin());
  // Of bytes, the lanes that are one of 8 further on name what comes behind four.
  constexpr std::int32_t kBitsOfByte = 8;
  if (elementBits == kBitsOfByte) std::swap(lanes[kColumnBits - 1], lanes[kColumnBits]);
  return LinearLayout(Sides(held.inputs()), Sides(held.outputs()), columns);
}

} // namespace imbrex::layout
