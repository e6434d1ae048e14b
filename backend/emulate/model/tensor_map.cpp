#include "backend/emulate/model/tensor_map.h"

#include <algorithm>

namespace imbrex::emulate {
namespace {

constexpr std::uint32_t kUnit = 16;     // of addresses, strides and rows, in bytes
constexpr std::uint32_t kMostBox = 256; // elements along an axis

/// The bytes of a row that a swizzle can hold; 0: any.
std::uint32_t spanOf(BoxSwizzle swizzle) {
  return swizzle == BoxSwizzle::None ? 0 : 16u << static_cast<unsigned>(swizzle);
}

bool isInside(const TensorMap &map, std::size_t axis, std::int64_t at) {
  return at >= 0 && at < std::int64_t{map.extents[axis]};
}

/// The box's rows, each with where it begins in the tensor; nothing: outside.
template <class Function>
void forEachRow(const TensorMap &map, const std::array<std::int32_t, kMostAxes> &first,
                Function &&function) {
  std::array<std::uint32_t, kMostAxes> at{};
  while (true) {
    std::optional<std::uint64_t> begin = map.address;
    for (std::size_t axis = 1; axis < map.rank && begin; ++axis) {
      const std::int64_t coordinate = std::int64_t{first[axis]} + at[axis];
      if (!isInside(map, axis, coordinate))
        begin.reset();
      else
        *begin += static_cast<std::uint64_t>(coordinate) * map.strides[axis - 1];
    }
    function(begin);
    std::size_t axis = 1;
    while (axis < map.rank && ++at[axis] == map.box[axis]) at[axis++] = 0;
    if (axis >= map.rank) return;
  }
}

} // namespace

TensorMap mapOf(const lower::BoxMap &boxes, const ir::Argument &view, std::size_t axes) {
  TensorMap map{.address = reinterpret_cast<std::uintptr_t>(view.data),
                .rank = static_cast<std::uint8_t>(axes),
                .elementBytes = static_cast<std::uint8_t>(boxes.elementBytes),
                .swizzle = BoxSwizzle::None};
  while (boxes.span > 0 && spanOf(map.swizzle) < static_cast<std::uint32_t>(boxes.span))
    map.swizzle = static_cast<BoxSwizzle>(static_cast<unsigned>(map.swizzle) + 1);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = axes - 1 - i; // of the view, whose last is the innermost
    map.extents[i] = static_cast<std::uint32_t>(view.extents[axis]);
    map.box[i] = static_cast<std::uint32_t>(boxes.box[axis]);
    if (i > 0)
      map.strides[i - 1] = static_cast<std::uint64_t>(view.strides[axis] * boxes.elementBytes);
  }
  return map;
}

std::optional<std::string> whatIsWrong(const TensorMap &map, std::size_t axes) {
  if (map.magic != TensorMap::kMagic) return "the memory does not hold one";
  if (map.rank != axes)
    return "its rank is " + std::to_string(map.rank) + ", not " + std::to_string(axes);
  if (map.address % kUnit != 0) return "its address must be a multiple of 16";
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (map.extents[axis] == 0) return "an extent is 0";
    if (map.box[axis] == 0 || map.box[axis] > kMostBox)
      return "a box may have 1 to 256 elements along an axis";
    if (axis > 0 && map.strides[axis - 1] % kUnit != 0) return "a stride must be a multiple of 16";
  }
  const std::uint32_t row = map.box[0] * map.elementBytes;
  if (row == 0 || row % kUnit != 0) return "a row of its box must be a multiple of 16 bytes";
  if (spanOf(map.swizzle) != 0 && row > spanOf(map.swizzle))
    return "a row of its box is longer than what is swizzled";
  return std::nullopt;
}

std::uint32_t boxBytes(const TensorMap &map) {
  std::uint32_t bytes = map.elementBytes;
  for (std::size_t axis = 0; axis < map.rank; ++axis) bytes *= map.box[axis];
  return bytes;
}

std::vector<BoxPiece> piecesOf(const TensorMap &map,
                               const std::array<std::int32_t, kMostAxes> &first) {
  std::vector<BoxPiece> pieces;
  std::uint64_t offset = 0;
  forEachRow(map, first, [&](std::optional<std::uint64_t> begin) {
    for (std::uint32_t element = 0; element < map.box[0]; ++element) {
      const std::int64_t at = std::int64_t{first[0]} + element;
      const bool isThere = begin && isInside(map, 0, at);
      const std::uint64_t address =
          isThere ? *begin + static_cast<std::uint64_t>(at) * map.elementBytes : 0;
      const bool goesOn =
          !pieces.empty() && offset % kUnit != 0 && (pieces.back().address != 0) == isThere;
      if (goesOn)
        pieces.back().bytes += map.elementBytes;
      else
        pieces.push_back({offset, address, map.elementBytes});
      offset += map.elementBytes;
    }
  });
  return pieces;
}

std::uint64_t swizzled(BoxSwizzle swizzle, std::uint64_t address) {
  // Bits 4 and up are flipped by bits 7 and up: as many as double 16 bytes to the span.
  const std::uint64_t bits = (std::uint64_t{1} << static_cast<unsigned>(swizzle)) - 1;
  return address ^ ((address >> 7 & bits) << 4);
}

} // namespace imbrex::emulate
