#include "backend/passes/layouts/candidates.h"

#include <algorithm>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;

/// Deals the bits of a tile to registers, lanes and warps, each axis from its lowest bit on.
class LayoutBuilder {
public:
  LayoutBuilder(const Shape &shape, layout::Threads threads)
      : sides_(layout::tileSides(shape.extents())) {
    free_[0] = 0;
    free_[1] = layout::bitsFor(threads.lanes);
    free_[2] = layout::bitsFor(threads.warps);
    for (const auto &side : sides_) free_[0] += side.bits;
    free_[0] = std::max(free_[0] - free_[1] - free_[2], 0);
    dealt_.resize(sides_.size(), 0);
  }

  std::int32_t left(std::int32_t axis) const {
    return sides_[static_cast<size_t>(axis)].bits - dealt_[static_cast<size_t>(axis)];
  }
  std::int32_t dealt(std::int32_t axis) const { return dealt_[static_cast<size_t>(axis)]; }
  bool isFull(Dim dim) const { return free_[static_cast<size_t>(dim)] == 0; }

  /// Up to `count` bits of an axis to a dimension that has room.
  void give(Dim dim, std::int32_t axis, std::int32_t count) {
    for (; count > 0 && left(axis) > 0 && !isFull(dim); --count) {
      columns_[static_cast<size_t>(dim)].push_back(next(axis));
      --free_[static_cast<size_t>(dim)];
    }
  }

  /// All that is left goes to registers; lanes and warps without work hold copies.
  LinearLayout finish(llvm::ArrayRef<std::int32_t> order) {
    for (const std::int32_t axis : order)
      while (left(axis) > 0) columns_[0].push_back(next(axis));
    for (const size_t dim : {1, 2}) columns_[dim].append(static_cast<size_t>(free_[dim]), 0);
    llvm::SmallVector<Bits, 16> columns;
    layout::Sides inputs;
    for (const Dim dim : {Dim::Register, Dim::Lane, Dim::Warp}) {
      const auto &own = columns_[static_cast<size_t>(dim)];
      inputs.push_back({dim, static_cast<std::int32_t>(own.size())});
      columns.append(own.begin(), own.end());
    }
    return LinearLayout(inputs, sides_, columns);
  }

private:
  Bits next(std::int32_t axis) {
    std::int32_t shift = dealt_[static_cast<size_t>(axis)]++;
    for (size_t after = static_cast<size_t>(axis) + 1; after < sides_.size(); ++after)
      shift += sides_[after].bits;
    return Bits{1} << shift;
  }

  layout::Sides sides_;
  std::array<std::int32_t, 3> free_{};
  std::array<llvm::SmallVector<Bits, 8>, 3> columns_;
  llvm::SmallVector<std::int32_t, 5> dealt_;
};

static_assert(static_cast<int>(Dim::Register) == 0 && static_cast<int>(Dim::Lane) == 1 &&
              static_cast<int>(Dim::Warp) == 2);

constexpr std::int32_t kAll = 64; // bits

} // namespace

LinearLayout rowLayout(const Shape &shape, layout::Threads threads, const Rows &rows) {
  LayoutBuilder deal(shape, threads);
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
  LayoutBuilder deal(shape, threads);
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
