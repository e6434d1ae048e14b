#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

namespace imbrex::host {
namespace {

using ir::Builder;
using ir::ElementKind;
using ir::Kernel;
using ir::OpKind;
using ir::Shape;
using ir::Type;
using ir::ValueId;

Type i32Tile(Shape shape = {}) { return Type::tile(ElementKind::I32, shape); }

/// c[i] = a[i] + b[i] for the block's 256 elements below n, by pointers.
Kernel vectorAdd() {
  Kernel kernel("vector_add");
  kernel.setStage(ir::Stage::Tiles);
  const Type pointer = Type::pointerTile(ElementKind::F32);
  const ValueId a = kernel.addParameter("a", pointer), b = kernel.addParameter("b", pointer);
  const ValueId c = kernel.addParameter("c", pointer), n = kernel.addParameter("n", i32Tile());
  Builder builder(kernel, kernel.body());
  const Shape shape{256};
  const ValueId pid = builder.create(OpKind::ProgramId, {}, i32Tile(), ir::AxisAttrs{0}).result();
  const ValueId start = builder.elementwise(OpKind::Mul, {pid, builder.integer(i32Tile(), 256)});
  const ValueId lanes =
      builder.create(OpKind::Arange, {}, i32Tile(shape), ir::ArangeAttrs{}).result();
  const ValueId offsets =
      builder.elementwise(OpKind::Add, {builder.broadcast(start, shape), lanes});
  const ValueId mask = builder.elementwise(OpKind::Lt, {offsets, builder.broadcast(n, shape)});
  const auto at = [&](ValueId base) {
    return builder
        .create(OpKind::PointerAdd, {builder.broadcast(base, shape), offsets},
                pointer.withShape(shape))
        .result();
  };
  const Type tile = Type::tile(ElementKind::F32, shape);
  const auto load = [&](ValueId base) {
    return builder.create(OpKind::Load, {at(base), mask}, tile).result();
  };
  const ValueId sum = builder.elementwise(OpKind::Add, {load(a), load(b)});
  builder.create(OpKind::Store, {at(c), sum, mask}, {});
  return kernel;
}

TEST_CASE("a kernel adds vectors whose length is no multiple of its tile") {
  const Kernel kernel = vectorAdd();
  for (const std::int32_t n : {1, 255, 256, 257, 1000, 4096}) {
    CAPTURE(n);
    const auto size = static_cast<size_t>(n);
    std::vector<float> a(size), b(size, 0.5F), c(size + 8, -1.0F);
    std::iota(a.begin(), a.end(), 0.0F);
    launch(kernel, {{(n + 255) / 256, 1, 1}},
           {pointerTo(a), pointerTo(b), pointerTo(c), number(n)});
    for (size_t i = 0; i < size; ++i) REQUIRE(c[i] == a[i] + 0.5F);
    for (size_t i = size; i < c.size(); ++i) REQUIRE(c[i] == -1.0F);
  }
}

/// One row per block: y = x / sum(x) after subtracting the row's maximum.
Kernel rowShare(std::int64_t columns) {
  Kernel kernel("row_share");
  kernel.setStage(ir::Stage::Tiles);
  const ValueId x = kernel.addParameter("x", Type::view(ElementKind::F32, 2, true));
  const ValueId y = kernel.addParameter("y", Type::view(ElementKind::F32, 2, false));
  Builder builder(kernel, kernel.body());
  const Shape box{1, columns};
  const Type tile = Type::tile(ElementKind::F32, box);
  const ValueId row = builder.create(OpKind::ProgramId, {}, i32Tile(), ir::AxisAttrs{0}).result();
  const ValueId zero = builder.integer(i32Tile(), 0);
  const ValueId loaded = builder.create(OpKind::ViewLoad, {x, row, zero}, tile).result();
  const auto along = [&](ir::Combine combine, ValueId value) {
    const ValueId reduced = builder
                                .create(OpKind::Reduce, value, Type::tile(ElementKind::F32, {1}),
                                        ir::ReduceAttrs{.combine = combine, .axis = 1})
                                .result();
    return builder.broadcast(builder.reshape(reduced, {1, 1}), box);
  };
  const ValueId shifted =
      builder.elementwise(OpKind::Sub, {loaded, along(ir::Combine::Max, loaded)});
  const ValueId root = builder.elementwise(OpKind::Sqrt, builder.elementwise(OpKind::Abs, shifted));
  const ValueId share = builder.elementwise(OpKind::Div, {root, along(ir::Combine::Sum, root)});
  builder.create(OpKind::ViewStore, {y, share, row, zero}, {});
  return kernel;
}

TEST_CASE("reductions of a row feed the loops after them") {
  for (const std::int64_t columns : {1, 3, 16, 100, 1024}) {
    CAPTURE(columns);
    const std::int64_t rows = 5;
    std::vector<float> x(static_cast<size_t>(rows * columns)), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    launch(rowShare(columns), {{rows, 1, 1}},
           {viewOf(x, {rows, columns}), viewOf(y, {rows, columns})});
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<size_t>(row * columns), count = static_cast<size_t>(columns);
      double largest = -10, sum = 0;
      for (size_t i = 0; i < count; ++i) largest = std::max<double>(largest, x[begin + i]);
      for (size_t i = 0; i < count; ++i) sum += std::sqrt(std::abs(x[begin + i] - largest));
      for (size_t i = 0; i < count; ++i) {
        const double expected = std::sqrt(std::abs(x[begin + i] - largest)) / sum;
        if (columns > 1) REQUIRE(y[begin + i] == doctest::Approx(expected).epsilon(1e-5));
      }
    }
  }
}

} // namespace
} // namespace imbrex::host
