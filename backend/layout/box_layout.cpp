#include "backend/layout/box_layout.h"

#include "backend/layout/matrix.h"
#include "backend/layout/tile_layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <array>

namespace imbrex::layout {
namespace {

// What the engine takes; machine/targets.def says where that comes from.
constexpr std::int64_t kMostExtent = 256; // of a box along an axis, in elements
constexpr std::int64_t kChunk = 16;       // rows are made of so many bytes
constexpr std::int64_t kRows = 8;         // after so many of its span a swizzle repeats
constexpr std::int64_t kLeastAlignment = 128;
// One thread starts them all, one after the other.
constexpr std::int64_t kMostCopies = 16;

using Extents = llvm::SmallVector<std::int64_t, 5>;

/// The bits of an offset without the swizzle, from the fastest on: the elements of a box, its last
/// axis first, then which box it is.
Vectors plainColumns(llvm::ArrayRef<std::int64_t> extents, llvm::ArrayRef<std::int64_t> box) {
  const LinearLayout like({}, tileSides(extents), {});
  Vectors columns;
  const auto add = [&](std::size_t axis, std::int64_t from, std::int64_t to) {
    const std::int32_t shift = like.outputShift(axisDim(static_cast<std::int32_t>(axis)));
    for (std::int64_t step = from; step < to; step *= 2)
      columns.push_back(static_cast<Bits>(step) << shift);
  };
  for (std::size_t axis = extents.size(); axis-- > 0;) add(axis, 1, box[axis]);
  for (std::size_t axis = extents.size(); axis-- > 0;) add(axis, box[axis], extents[axis]);
  return columns;
}

/// Each row bit that flips a chunk bit finds there what stood at the chunk that it flipped.
void swizzle(Vectors &columns, std::int64_t span, std::int32_t elementBytes) {
  const auto bitOf = [&](std::int64_t bytes) {
    return static_cast<std::size_t>(bitsFor(bytes / elementBytes));
  };
  const std::size_t chunk = bitOf(kChunk), row = bitOf(kChunk * kRows);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bitsFor(span / kChunk)); ++i)
    columns[row + i] ^= columns[chunk + i];
}

std::optional<BoxLayout> planWith(llvm::ArrayRef<std::int64_t> extents, std::int64_t span,
                                  std::int32_t elementBytes) {
  const std::int64_t row = extents.back() * elementBytes;
  if (row < std::max(kChunk, span)) return std::nullopt;
  BoxLayout plan{.box = {}, .span = static_cast<std::int32_t>(span), .shared = {}};
  for (const std::int64_t extent : extents) plan.box.push_back(std::min(extent, kMostExtent));
  if (span > 0) plan.box.back() = span / elementBytes;
  plan.copies = llvm::product_of(extents) / llvm::product_of(plan.box);
  if (plan.copies > kMostCopies || plan.elements() * elementBytes % plan.alignment() != 0)
    return std::nullopt;
  Vectors columns = plainColumns(extents, plan.box);
  if (span > 0) swizzle(columns, span, elementBytes);
  plan.shared = LinearLayout({{Dim::Offset, static_cast<std::int32_t>(columns.size())}},
                             tileSides(extents), columns);
  return plan;
}

} // namespace

std::int64_t BoxLayout::elements() const { return llvm::product_of(box); }
std::int64_t BoxLayout::alignment() const { return std::max(kLeastAlignment, span * kRows); }

std::optional<BoxLayout> planBoxes(llvm::ArrayRef<std::int64_t> extents,
                                   std::int32_t elementBytes) {
  if (extents.empty()) return std::nullopt;
  Extents whole;
  for (const std::int64_t extent : extents)
    whole.push_back(static_cast<std::int64_t>(llvm::bit_ceil(static_cast<std::uint64_t>(extent))));
  for (const std::int64_t span : {128, 64, 32, 0})
    if (auto plan = planWith(whole, span, elementBytes)) return plan;
  return std::nullopt;
}

} // namespace imbrex::layout
