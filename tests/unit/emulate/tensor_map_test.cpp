#include "backend/emulate/model/tensor_map.h"
#include "backend/layout/algebra.h"
#include "backend/layout/box_layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace imbrex::emulate;

namespace {

TensorMap soundMap() {
  TensorMap map;
  map.rank = 3;
  map.elementBytes = 2;
  map.extents = {40, 30, 20};
  map.strides = {96, 96 * 30};
  map.box = {32, 4, 2};
  map.address = 4096;
  return map;
}

/// Bytes of a box and where they come from, one by one; 0: from outside.
std::vector<std::uint64_t> sourcesOf(const TensorMap &map,
                                     const std::array<std::int32_t, kMostAxes> &first) {
  std::vector<std::uint64_t> sources;
  for (const BoxPiece &piece : piecesOf(map, first)) {
    REQUIRE(piece.offset == sources.size());
    REQUIRE(piece.offset / 16 == (piece.offset + piece.bytes - 1) / 16);
    for (std::uint32_t i = 0; i < piece.bytes; ++i)
      sources.push_back(piece.address == 0 ? 0 : piece.address + i);
  }
  return sources;
}

} // namespace

TEST_CASE("the pieces of a box are its bytes, one after the other, wherever it begins") {
  const TensorMap map = soundMap();
  for (std::int32_t x = -33; x < 42; x += 5)
    for (std::int32_t y = -5; y < 32; y += 3)
      for (std::int32_t z = -2; z < 21; ++z) {
        const std::vector<std::uint64_t> sources = sourcesOf(map, {x, y, z});
        REQUIRE(sources.size() == boxBytes(map));
        std::vector<std::uint64_t> expected;
        for (std::int32_t k = z; k < z + 2; ++k)
          for (std::int32_t j = y; j < y + 4; ++j)
            for (std::int32_t i = 0; i < 64; ++i) {
              const std::int32_t column = x + i / 2;
              const bool isInside =
                  column >= 0 && column < 40 && j >= 0 && j < 30 && k >= 0 && k < 20;
              const std::int64_t byte = 4096 + 2 * x + i + 96 * j + 96 * 30 * k;
              expected.push_back(isInside ? static_cast<std::uint64_t>(byte) : 0);
            }
        CHECK(sources == expected);
      }
}

TEST_CASE("a swizzle spreads the rows of a column over as many pieces of 16 bytes as a row has") {
  for (const auto swizzle : {BoxSwizzle::Bytes32, BoxSwizzle::Bytes64, BoxSwizzle::Bytes128}) {
    const std::uint64_t pieces = std::uint64_t{1} << static_cast<unsigned>(swizzle);
    const std::uint64_t lines = 128 / (16 * pieces); // rows that share 128 bytes
    std::set<std::uint64_t> all, columns;
    for (std::uint64_t at = 0; at < 1024; at += 16) {
      CHECK(swizzled(swizzle, swizzled(swizzle, at)) == at);
      all.insert(swizzled(swizzle, at));
    }
    for (std::uint64_t row = 0; row < pieces; ++row)
      columns.insert(swizzled(swizzle, row * lines * 16 * pieces) / 16 % pieces);
    CHECK(all.size() == 64);
    CHECK(columns.size() == pieces);
  }
  CHECK(swizzled(BoxSwizzle::None, 0x3f0) == 0x3f0);
  CHECK(swizzled(BoxSwizzle::Bytes128, 0x80 * 3 + 0x10 * 5) == 0x80 * 3 + 0x10 * (5 ^ 3));
}

TEST_CASE("a map that no copy engine takes is refused, and says why") {
  CHECK(whatIsWrong(soundMap(), 3) == std::nullopt);
  const auto refused = [](auto &&spoil) {
    TensorMap map = soundMap();
    spoil(map);
    return whatIsWrong(map, 3).has_value();
  };
  CHECK(whatIsWrong(soundMap(), 2).has_value());
  CHECK(refused([](TensorMap &map) { map.magic = 0; }));
  CHECK(refused([](TensorMap &map) { map.address = 4104; }));
  CHECK(refused([](TensorMap &map) { map.extents[1] = 0; }));
  CHECK(refused([](TensorMap &map) { map.box[2] = 0; }));
  CHECK(refused([](TensorMap &map) { map.box[1] = 257; }));
  CHECK(refused([](TensorMap &map) { map.strides[1] = 100; }));
  CHECK(refused([](TensorMap &map) { map.box[0] = 4; }));
  CHECK(refused([](TensorMap &map) { map.swizzle = BoxSwizzle::Bytes32; }));
}

namespace {

/// Where the engine puts each element of a tile, by the element's number: the tile is the tensor.
std::vector<std::uint64_t> placesOf(const std::vector<std::int64_t> &extents, std::int32_t bytes,
                                    const imbrex::layout::BoxLayout &plan) {
  constexpr std::uint64_t kFrom = 1 << 20;
  imbrex::ir::Argument view;
  view.data = reinterpret_cast<std::byte *>(kFrom);
  std::int64_t elements = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    view.extents[axis] = extents[axis];
    view.strides[axis] = elements;
    elements *= extents[axis];
  }
  const TensorMap map =
      mapOf({.box = plan.box, .elementBytes = bytes, .span = plan.span}, view, extents.size());
  std::vector<std::uint64_t> places(static_cast<std::size_t>(elements), ~std::uint64_t{0});
  for (std::int64_t copy = 0; copy < plan.copies; ++copy) {
    const auto offset = static_cast<std::uint64_t>(copy * plan.elements());
    std::array<std::int32_t, kMostAxes> first{};
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      first[extents.size() - 1 - axis] = static_cast<std::int32_t>(plan.shared.outputPart(
          plan.shared.apply(offset), imbrex::layout::axisDim(static_cast<std::int32_t>(axis))));
    for (const BoxPiece &piece : piecesOf(map, first)) {
      if (piece.address == 0) continue;
      const std::uint64_t at =
          swizzled(map.swizzle, offset * static_cast<std::uint64_t>(bytes) + piece.offset);
      for (std::uint32_t i = 0; i < piece.bytes; i += static_cast<std::uint32_t>(bytes))
        places[(piece.address - kFrom + i) / static_cast<std::uint64_t>(bytes)] =
            (at + i) / static_cast<std::uint64_t>(bytes);
    }
  }
  return places;
}

} // namespace

TEST_CASE("a tile that the engine loads lies where its layout says, each element once") {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t x = 1; x <= 512; x *= 2) {
    shapes.push_back({x});
    for (std::int64_t y = 1; y <= 512; y *= 4) {
      shapes.push_back({y, x});
      if (x * y <= 4096) shapes.push_back({2, y, x});
    }
  }
  int loaded = 0;
  std::set<std::int32_t> spans;
  for (const auto &extents : shapes)
    for (const std::int32_t bytes : {1, 2, 4, 8}) {
      const auto plan = imbrex::layout::planBoxes(extents, bytes);
      if (!plan) continue;
      ++loaded;
      spans.insert(plan->span);
      const std::vector<std::uint64_t> places = placesOf(extents, bytes, *plan);
      for (std::size_t element = 0; element < places.size(); ++element)
        REQUIRE(plan->shared.apply(places[element]) == element); // packed outputs are row-major
      CHECK(imbrex::layout::isBijective(plan->shared));
      CHECK(plan->elements() * bytes % plan->alignment() == 0);
    }
  CHECK(loaded > 100);
  CHECK(spans == std::set<std::int32_t>{0, 32, 64, 128});
}

TEST_CASE("tiles that are no few boxes of the engine's are not planned") {
  using imbrex::layout::planBoxes;
  CHECK(planBoxes({8, 32}, 4));
  REQUIRE(planBoxes({8, 24}, 4)); // no power of two: the next
  CHECK(planBoxes({8, 24}, 4)->box == planBoxes({8, 32}, 4)->box);
  CHECK_FALSE(planBoxes({64, 2}, 4)); // rows of 8 bytes
  CHECK_FALSE(planBoxes({4, 8}, 2));  // 64 bytes in all
  CHECK(planBoxes({16 * 256}, 4));
  CHECK_FALSE(planBoxes({32 * 256}, 4)); // 32 boxes
  CHECK_FALSE(planBoxes({}, 4));
}
