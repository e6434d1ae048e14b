#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

#include <numeric>

namespace imbrex::host {
namespace {

using ir::Builder;
using ir::ElementKind;
using ir::Kernel;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

const Type kTile = Type::tile(ElementKind::I32, {64});

/// o = a + 1 + 1 + …; every `turns` additions the tile is turned round (0: never).
Kernel additions(std::int32_t count, std::int32_t turns) {
  Kernel kernel("additions");
  kernel.setStage(ir::Stage::Tiles);
  const ValueId a = kernel.addParameter("a", Type::view(ElementKind::I32, 1, true));
  const ValueId o = kernel.addParameter("o", Type::view(ElementKind::I32, 1, false));
  Builder builder(kernel, kernel.body());
  const ValueId zero = builder.integer(Type::tile(ElementKind::I32, {}), 0);
  const ValueId one = builder.integer(kTile, 1);
  ValueId x = builder.create(OpKind::ViewLoad, {a, zero}, kTile).result();
  for (std::int32_t i = 0; i < count; ++i) {
    if (turns != 0 && i % turns == turns - 1)
      x = builder.create(OpKind::Flip, {x}, kTile, ir::AxisAttrs{0}).result();
    x = builder.elementwise(OpKind::Add, {x, one});
  }
  builder.create(OpKind::ViewStore, {o, x, zero}, {});
  return kernel;
}

TEST_CASE("a chain of 20000 dependent operations compiles and computes what it says") {
  constexpr std::int32_t kCount = 20000;
  // Turned round once in the middle, an even number of times, and never.
  for (const std::int32_t turns : {0, 10001, 500, 3}) {
    CAPTURE(turns);
    std::vector<std::int32_t> a(64), o(64, -1);
    std::iota(a.begin(), a.end(), 0);
    launch(additions(kCount, turns), {}, {viewOf(a, {64}), viewOf(o, {64})});
    const bool isTurned = turns != 0 && kCount / turns % 2 == 1;
    for (std::size_t i = 0; i < 64; ++i) REQUIRE(o[i] == a[isTurned ? 63 - i : i] + kCount);
  }
}

TEST_CASE("values that are used again far down a chain are computed once") {
  // x[i + 1] = x[i] + x[i / 2], of wrapping numbers.
  Kernel kernel("sums");
  kernel.setStage(ir::Stage::Tiles);
  const ValueId a = kernel.addParameter("a", Type::view(ElementKind::I32, 1, true));
  const ValueId o = kernel.addParameter("o", Type::view(ElementKind::I32, 1, false));
  Builder builder(kernel, kernel.body());
  const ValueId zero = builder.integer(Type::tile(ElementKind::I32, {}), 0);
  std::vector<ValueId> x{builder.create(OpKind::ViewLoad, {a, zero}, kTile).result()};
  std::vector<std::uint32_t> factors{1};
  for (std::size_t i = 0; i < 2000; ++i) {
    x.push_back(builder.elementwise(OpKind::Add, {x[i], x[i / 2]}));
    factors.push_back(factors[i] + factors[i / 2]);
  }
  builder.create(OpKind::ViewStore, {o, x.back(), zero}, {});
  std::vector<std::uint32_t> in(64), out(64);
  std::iota(in.begin(), in.end(), 5);
  launch(kernel, {}, {viewOf(in, {64}), viewOf(out, {64})});
  for (std::size_t i = 0; i < 64; ++i) REQUIRE(out[i] == in[i] * factors.back());
}

} // namespace
} // namespace imbrex::host
