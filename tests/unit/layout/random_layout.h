#pragma once

#include "backend/layout/tile_layout.h"

#include <algorithm>
#include <random>

namespace imbrex::layout {

/// A layout with any columns.
inline LinearLayout randomLayout(std::mt19937_64 &rng, const Sides &inputs, const Sides &outputs) {
  std::int32_t outputBits = 0;
  for (const Side &side : outputs) outputBits += side.bits;
  llvm::SmallVector<Bits, 16> columns;
  for (const Side &side : inputs)
    for (std::int32_t bit = 0; bit < side.bits; ++bit)
      columns.push_back(outputBits == 0 ? 0 : rng() >> (64 - outputBits));
  return LinearLayout(inputs, outputs, columns);
}

/// A number of [low, high].
inline std::int32_t between(std::mt19937_64 &rng, std::int32_t low, std::int32_t high) {
  return std::uniform_int_distribution<std::int32_t>(low, high)(rng);
}

/// Some dimensions of these, in any order, with up to `maxBits` bits each.
inline Sides randomSides(std::mt19937_64 &rng, llvm::ArrayRef<Dim> dims, std::int32_t maxBits) {
  llvm::SmallVector<Dim> order(dims.begin(), dims.end());
  std::shuffle(order.begin(), order.end(), rng);
  Sides sides;
  for (const Dim dim : order)
    if (between(rng, 0, 3) != 0) sides.push_back({dim, between(rng, 0, maxBits)});
  return sides;
}

/// A small tile, blocked in any way.
inline LinearLayout randomBlocked(std::mt19937_64 &rng, llvm::ArrayRef<std::int64_t> extents,
                                  Threads threads) {
  llvm::SmallVector<std::int32_t, 5> order;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    order.push_back(static_cast<std::int32_t>(axis));
  std::shuffle(order.begin(), order.end(), rng);
  return blockedLayout(extents, threads, std::int64_t{1} << between(rng, 0, 4), order);
}

inline llvm::SmallVector<std::int64_t, 5> randomExtents(std::mt19937_64 &rng,
                                                        std::int32_t maxBits) {
  llvm::SmallVector<std::int64_t, 5> extents;
  for (std::int32_t rank = between(rng, 0, 3); rank > 0; --rank) {
    extents.push_back(between(rng, 1, 1 << between(rng, 0, maxBits)));
    maxBits -= bitsFor(extents.back());
  }
  return extents;
}

inline std::int32_t tileBits(llvm::ArrayRef<std::int64_t> extents) {
  std::int32_t bits = 0;
  for (const std::int64_t extent : extents) bits += bitsFor(extent);
  return bits;
}

inline LinearLayout randomBlocked(std::mt19937_64 &rng) {
  const auto extents = randomExtents(rng, 8);
  const Threads threads{.lanes = 1 << between(rng, 0, 4), .warps = 1 << between(rng, 0, 2)};
  return randomBlocked(rng, extents, threads);
}

} // namespace imbrex::layout
