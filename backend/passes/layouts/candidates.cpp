#include "backend/passes/layouts/candidates.h"

#include "backend/layout/layout_builder.h"

#include <algorithm>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::Dim;
using layout::LayoutBuilder;
using layout::LinearLayout;

/// Registers get no bits that lanes and warps have room for.
LayoutBuilder builderFor(const Shape &shape, layout::Threads threads) {
  const std::int32_t bits = layout::totalBits(layout::tileSides(shape.extents()));
  const std::int32_t ofThreads = layout::bitsFor(threads.lanes) + layout::bitsFor(threads.warps);
  return {shape.extents(), threads, std::max(bits - ofThreads, 0)};
}

constexpr std::int32_t kAll = LayoutBuilder::kAll;

} // namespace

LinearLayout rowLayout(const Shape &shape, layout::Threads threads, const Rows &rows) {
  LayoutBuilder deal = builderFor(shape, threads);
  deal.give(Dim::Register, rows.order.front(), layout::bitsFor(rows.vector));
  const auto giveInSlab = [&](Dim dim, std::int32_t axis) {
    const bool isCut = rows.slab && rows.slab->axis == axis;
    deal.give(dim, axis, isCut ? layout::bitsFor(rows.slab->depth) - deal.dealt(axis) : kAll);
  };
  for (const std::int32_t axis : rows.order) giveInSlab(Dim::Lane, axis);
  for (const std::int32_t axis : llvm::reverse(rows.order)) giveInSlab(Dim::Warp, axis);
  for (const std::int32_t axis : rows.order) deal.give(Dim::Lane, axis, kAll);
  for (const std::int32_t axis : llvm::reverse(rows.order)) deal.give(Dim::Warp, axis, kAll);
  return deal.finish(rows.order);
}

LinearLayout productLayout(const Shape &shape, layout::Threads threads) {
  const std::int32_t columns = shape.rank() - 1, rows = shape.rank() - 2;
  constexpr std::int32_t kPatch = 2; // bits: 4 by 4
  LayoutBuilder deal = builderFor(shape, threads);
  deal.give(Dim::Register, columns, kPatch);
  deal.give(Dim::Register, rows, kPatch);
  const std::int32_t lanes = layout::bitsFor(threads.lanes);
  deal.give(Dim::Lane, columns, (lanes + 1) / 2);
  deal.give(Dim::Lane, rows, kAll);
  deal.give(Dim::Lane, columns, kAll);
  for (std::int32_t batch = 0; batch < rows; ++batch) deal.give(Dim::Lane, batch, kAll);
  for (std::int32_t batch = 0; batch < rows; ++batch) deal.give(Dim::Warp, batch, kAll);
  while (!deal.isFull(Dim::Warp) && (deal.left(rows) > 0 || deal.left(columns) > 0))
    deal.give(Dim::Warp, deal.left(rows) >= deal.left(columns) ? rows : columns, 1);
  llvm::SmallVector<std::int32_t, 5> order{columns, rows};
  for (std::int32_t batch = rows; batch-- > 0;) order.push_back(batch);
  return deal.finish(order);
}

} // namespace imbrex::passes::layouts
