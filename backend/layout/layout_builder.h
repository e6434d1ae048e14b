#pragma once

#include "backend/layout/tile_layout.h"

#include <array>

namespace imbrex::layout {

/// Deals the bits of a tile to registers, lanes and warps, each axis from its lowest bit on.
class LayoutBuilder {
public:
  static constexpr std::int32_t kAll = 64; ///< Bits.

  /// `mostRegisterBits`: that `give` hands to registers.
  LayoutBuilder(llvm::ArrayRef<std::int64_t> extents, Threads threads,
                std::int32_t mostRegisterBits = kAll)
      : sides_(tileSides(extents)),
        free_{mostRegisterBits, bitsFor(threads.lanes), bitsFor(threads.warps)},
        dealt_(extents.size(), 0) {}

  std::int32_t left(std::int32_t axis) const {
    return sides_[static_cast<std::size_t>(axis)].bits - dealt(axis);
  }
  std::int32_t dealt(std::int32_t axis) const { return dealt_[static_cast<std::size_t>(axis)]; }
  bool isFull(Dim dim) const { return free_[static_cast<std::size_t>(dim)] == 0; }

  /// Up to `count` bits of an axis to a dimension that has room.
  void give(Dim dim, std::int32_t axis, std::int32_t count) {
    for (; count > 0 && left(axis) > 0 && !isFull(dim); --count) {
      columns_[static_cast<std::size_t>(dim)].push_back(next(axis));
      --free_[static_cast<std::size_t>(dim)];
    }
  }

  /// All that is left goes to registers; lanes and warps without work hold copies.
  LinearLayout finish(llvm::ArrayRef<std::int32_t> order) {
    for (const std::int32_t axis : order)
      while (left(axis) > 0) columns_[0].push_back(next(axis));
    for (const std::size_t dim : {1, 2})
      columns_[dim].append(static_cast<std::size_t>(free_[dim]), 0);
    llvm::SmallVector<Bits, 16> columns;
    Sides inputs;
    for (const Dim dim : {Dim::Register, Dim::Lane, Dim::Warp}) {
      const auto &own = columns_[static_cast<std::size_t>(dim)];
      inputs.push_back({dim, static_cast<std::int32_t>(own.size())});
      columns.append(own.begin(), own.end());
    }
    return LinearLayout(inputs, sides_, columns);
  }

private:
  Bits next(std::int32_t axis) {
    const auto a = static_cast<std::size_t>(axis);
    return Bits{1} << (dealt_[a]++ + totalBits(llvm::ArrayRef(sides_).drop_front(a + 1)));
  }

  static_assert(static_cast<int>(Dim::Register) == 0 && static_cast<int>(Dim::Lane) == 1 &&
                static_cast<int>(Dim::Warp) == 2);
  Sides sides_;
  std::array<std::int32_t, 3> free_;
  std::array<llvm::SmallVector<Bits, 8>, 3> columns_;
  llvm::SmallVector<std::int32_t, 5> dealt_;
};

} // namespace imbrex::layout
