// What assign-layouts reckons with, against plain counting of elements.

#include "backend/analysis/movement.h"
#include "backend/ir/builder.h"
#include "backend/layout/vector_width.h"
#include "backend/passes/layouts/candidates.h"
#include "backend/passes/pipeline/copy_layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace imbrex;
using namespace imbrex::ir;
using namespace imbrex::passes::layouts;
using analysis::movementOf;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;

namespace {

/// A layout of a random arrangement: bits dealt at random, copies where there are too few.
LinearLayout randomLayout(const Shape &shape, layout::Threads threads, std::mt19937 &rng) {
  const layout::Sides outputs = layout::tileSides(shape.extents());
  std::int32_t total = 0;
  for (const auto &side : outputs) total += side.bits;
  std::vector<Bits> bits;
  for (std::int32_t bit = 0; bit < total; ++bit) bits.push_back(Bits{1} << bit);
  std::ranges::shuffle(bits, rng);
  const std::int32_t lanes = layout::bitsFor(threads.lanes), warps = layout::bitsFor(threads.warps);
  llvm::SmallVector<Bits, 16> columns, places;
  for (std::int32_t i = 0; i < lanes + warps; ++i) {
    const bool isCopy = bits.empty() || rng() % 4 == 0;
    places.push_back(isCopy ? 0 : bits.back());
    if (!isCopy) bits.pop_back();
  }
  columns.append(bits.begin(), bits.end());
  const auto registers = static_cast<std::int32_t>(columns.size());
  columns.append(places.begin(), places.end());
  return LinearLayout({{Dim::Register, registers}, {Dim::Lane, lanes}, {Dim::Warp, warps}}, outputs,
                      columns);
}

constexpr layout::Threads kThreads{.lanes = 8, .warps = 2};

/// The elements that a thread holds, or a whole warp.
std::set<Bits> heldBy(const LinearLayout &layout, Bits thread, bool wholeWarp) {
  std::set<Bits> held;
  const std::int32_t registerBits = layout.inputBits(Dim::Register);
  const Bits lanes = static_cast<Bits>(kThreads.lanes);
  for (Bits lane = 0; lane < lanes; ++lane) {
    if (!wholeWarp && lane != thread % lanes) continue;
    const Bits of = thread / lanes * lanes + lane;
    for (Bits r = 0; r < Bits{1} << registerBits; ++r)
      held.insert(layout.apply(of << registerBits | r));
  }
  return held;
}

/// Whether everyone has what it wants.
bool suffices(const LinearLayout &from, const LinearLayout &wanted, bool wholeWarp) {
  for (Bits thread = 0; thread < static_cast<Bits>(kThreads.count()); ++thread) {
    const auto has = heldBy(from, thread, wholeWarp), wants = heldBy(wanted, thread, false);
    if (!std::ranges::includes(has, wants)) return false;
  }
  return true;
}

Shape randomShape(std::mt19937 &rng) {
  llvm::SmallVector<std::int64_t, 5> extents;
  for (std::uint32_t axis = 0; axis < 1 + rng() % 3; ++axis)
    extents.push_back(std::int64_t{1} << rng() % 4);
  return Shape(extents);
}

/// A kernel with one op that moves data.
struct Move {
  Kernel kernel{"move"};
  const Op *op;
};

Move randomMove(std::mt19937 &rng) {
  Move move;
  Builder build(move.kernel, move.kernel.body());
  Shape shape = randomShape(rng);
  const Type type = Type::tile(ElementKind::I32, shape);
  const ValueId x = build.create(OpKind::Constant, {}, type).result();
  switch (rng() % 4) {
  case 0: {
    PermuteAttrs attrs;
    llvm::SmallVector<std::int64_t, 5> extents;
    for (std::int64_t axis = 0; axis < shape.rank(); ++axis) attrs.order.push_back(axis);
    std::ranges::shuffle(attrs.order, rng);
    for (const std::int64_t axis : attrs.order)
      extents.push_back(shape[static_cast<std::int32_t>(axis)]);
    move.op = &build.create(OpKind::Permute, x, type.withShape(Shape(extents)), attrs);
    break;
  }
  case 1: move.op = &build.create(OpKind::Reshape, x, type.withShape({shape.elements(), 1})); break;
  case 2: {
    llvm::SmallVector<std::int64_t, 5> extents(shape.extents());
    for (std::int64_t &extent : extents) extent = extent == 1 ? 4 : extent;
    move.op = &build.create(OpKind::Broadcast, x, type.withShape(Shape(extents)));
    break;
  }
  default: {
    const ValueId pair =
        build.create(OpKind::Constant, {}, type.withShape(shape.withAppended(2))).result();
    move.op = &build.create(OpKind::Split, pair, {type, type});
    break;
  }
  }
  return move;
}

/// The operand's element that the first result's is.
Bits sourceOf(const Op &op, const Shape &from, const Shape &to, Bits element) {
  const auto outputs = [](const Shape &shape) {
    return LinearLayout({}, layout::tileSides(shape.extents()), {});
  };
  const LinearLayout source = outputs(from), result = outputs(to);
  if (op.kind == OpKind::Reshape) return element; // powers of two: row-major
  if (op.kind == OpKind::Split) return element * 2;
  Bits packed = 0;
  for (std::int32_t axis = 0; axis < to.rank(); ++axis) {
    std::int32_t there = axis;
    if (op.kind == OpKind::Permute)
      there =
          static_cast<std::int32_t>(op.attrs<PermuteAttrs>().order[static_cast<std::size_t>(axis)]);
    const Bits index = result.outputPart(element, layout::axisDim(axis));
    if (from[there] > 1) packed |= index << source.outputShift(layout::axisDim(there));
  }
  return packed;
}

} // namespace

TEST_CASE("how far elements travel is what counting finds") {
  std::map<ConversionPath, int> seen;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const Shape shape = randomShape(rng);
    const LinearLayout from = randomLayout(shape, kThreads, rng);
    LinearLayout wanted = randomLayout(shape, kThreads, rng);
    if (seed % 4 == 0) wanted = from;
    const ConversionPath travel = conversionPath(from, wanted);
    ++seen[travel];
    CHECK((travel == ConversionPath::Stay) == suffices(from, wanted, false));
    CHECK((travel == ConversionPath::Shared) == !suffices(from, wanted, true));
  }
  CHECK(seen[ConversionPath::Stay] > 400);
  CHECK(seen[ConversionPath::Shuffle] > 100);
  CHECK(seen[ConversionPath::Shared] > 400);
}

TEST_CASE("an operand held as its movement asks has each element where the result wants it") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const Move move = randomMove(rng);
    const Shape &from = move.kernel.type(move.op->operand(0)).shape();
    const Shape &to = move.kernel.type(move.op->result()).shape();
    const auto movement = movementOf(move.kernel, *move.op, 0, 0);
    REQUIRE(movement);
    const LinearLayout result = randomLayout(to, kThreads, rng);
    const LinearLayout operand = operandLayout(*movement, result);
    REQUIRE(layout::isTileLayout(operand));
    for (Bits thread = 0; thread < static_cast<Bits>(kThreads.count()); ++thread) {
      const auto held = heldBy(operand, thread, false);
      for (const Bits element : heldBy(result, thread, false))
        REQUIRE(held.contains(sourceOf(*move.op, from, to, element)));
    }
  }
}

TEST_CASE("a layout goes through a movement and comes back, unless it is a broadcast") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const Move move = randomMove(rng);
    const Shape &from = move.kernel.type(move.op->operand(0)).shape();
    const auto movement = movementOf(move.kernel, *move.op, 0, 0);
    REQUIRE(movement);
    const LinearLayout operand = randomLayout(from, kThreads, rng);
    const auto result = resultLayout(*movement, operand);
    if (!result) {
      CHECK(move.op->kind == OpKind::Broadcast);
      continue;
    }
    REQUIRE(layout::isTileLayout(*result));
    // What only the operand has, the half of a split, then lies in a register.
    if (move.op->kind != OpKind::Split)
      CHECK(conversionPath(operand, operandLayout(*movement, *result)) == ConversionPath::Stay);
  }
}

TEST_CASE("a warp touches as many sectors as counting finds") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const Shape shape{8, 64};
    const LinearLayout layout = randomLayout(shape, {.lanes = 32, .warps = 1}, rng);
    // Rows that begin anew, each at a sector.
    const AccessShape access{.axis = 1,
                             .contiguity = 64,
                             .width = std::int64_t{1} << rng() % 4,
                             .bits = std::int64_t{4} << rng() % 5};
    const std::int64_t vector = vectorOf(access, layout);
    CHECK(vector <= access.width);
    CHECK(vector * access.bits <= 8 * 16);
    Bits registers = 0;
    for (const Bits column : layout.columns(Dim::Register)) registers |= column;
    for (Bits bit = 1; bit < static_cast<Bits>(vector); bit *= 2) CHECK((registers & bit) != 0);
    std::set<Bits> sectors;
    for (Bits lane = 0; lane < 32; ++lane) {
      const Bits first = layout.apply(lane << layout.inputBits(Dim::Register));
      for (Bits i = 0; i < static_cast<Bits>(vector); ++i)
        sectors.insert((first & ~Bits{63}) << 16 |
                       ((first & 63) + i) * static_cast<Bits>(access.bits) / 8 / 32);
    }
    CHECK(sectorsOf(access, layout) >= static_cast<std::int64_t>(sectors.size()));
    // More only where lanes of one sector are not neighbours.
    const LinearLayout rows =
        rowLayout(shape, {.lanes = 32, .warps = 1}, {.order = {1, 0}, .vector = vector});
    const std::int64_t bytes = vectorOf(access, rows) * access.bits * 32 / 8;
    CHECK(sectorsOf(access, rows) == std::max<std::int64_t>(bytes / 32, 1));
  }
}

TEST_CASE("what is asked for is a layout, and uses every thread that the tile has work for") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    llvm::SmallVector<std::int64_t, 5> extents;
    for (std::uint32_t axis = 0; axis < 2 + rng() % 2; ++axis)
      extents.push_back(static_cast<std::int64_t>(1 + rng() % 100));
    const Shape shape(extents);
    const layout::Threads threads{.lanes = 32 << rng() % 2, .warps = 1 << rng() % 4};
    llvm::SmallVector<std::int32_t, 5> order;
    for (std::int32_t axis = 0; axis < shape.rank(); ++axis) order.push_back(axis);
    std::ranges::shuffle(order, rng);
    const Rows rows{.order = order, .vector = std::int64_t{1} << rng() % 4};
    Rows slabs = rows;
    slabs.slab = {.axis = static_cast<std::int32_t>(rng() % extents.size()),
                  .depth = std::int64_t{1} << rng() % 8};
    for (const LinearLayout &layout :
         {rowLayout(shape, threads, rows), rowLayout(shape, threads, slabs),
          productLayout(shape, threads)}) {
      CHECK(layout::isTileLayout(layout));
      CHECK(layout.outputs() == llvm::ArrayRef(layout::tileSides(shape.extents())));
      const bool hasWork = layout.outputBits() >= layout::bitsFor(threads.count());
      const auto places =
          layout.columns().drop_front(static_cast<std::size_t>(layout.inputBits(Dim::Register)));
      CHECK(llvm::is_contained(places, Bits{0}) == !hasWork);
      CHECK((layout::registerCount(layout) == 1 || hasWork));
    }
  }
}

TEST_CASE("a thread's part of a product is a patch, so that it reads little") {
  const LinearLayout layout = productLayout({128, 128}, {.lanes = 32, .warps = 8});
  CHECK(layout.columns(Dim::Register).take_front(4) == llvm::ArrayRef<Bits>({1, 2, 128, 256}));
  // 8 by 8 of them, and none is as good as a square.
  CHECK(productCost(layout, 1) == 64 + 16);
  const Rows rows{.order = {1, 0}, .vector = 4};
  CHECK(productCost(rowLayout({128, 128}, {.lanes = 32, .warps = 8}, rows), 1) > 64 + 16);
}

TEST_CASE("an operand is stored once for each slab that some thread has a register's element in") {
  constexpr layout::Threads threads{.lanes = 32, .warps = 4};
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const Shape shape{1 << rng() % 8, 1 << rng() % 8};
    const auto axis = static_cast<std::int32_t>(rng() % 2);
    const std::int64_t depth = std::int64_t{1} << rng() % 7;
    const LinearLayout layout = randomLayout(shape, threads, rng);
    std::set<std::pair<Bits, Bits>> stores; // register, slab
    const std::int32_t registerBits = layout.inputBits(Dim::Register);
    for (Bits place = 0; place < Bits{1} << layout.inputBits(); ++place) {
      const Bits along = layout.outputPart(layout.apply(place), layout::axisDim(axis));
      stores.emplace(place & ((Bits{1} << registerBits) - 1), along / static_cast<Bits>(depth));
    }
    const Cost ofOne = slabsCost(rowLayout({1, 1}, threads, {.order = {1, 0}}), 0, 1);
    CHECK(slabsCost(layout, axis, depth) == static_cast<Cost>(stores.size()) * ofOne);
    // Asked for slabs, threads have each register in one, if there is other work for them.
    const LinearLayout rows =
        rowLayout(shape, threads, {.order = {1, 0}, .vector = 4, .slab = SlabExtent{axis, depth}});
    if (std::min(shape[axis], depth) * shape[1 - axis] >= 4 * threads.count())
      CHECK(slabsCost(rows, axis, depth) == static_cast<Cost>(layout::registerCount(rows)) * ofOne);
  }
}

TEST_CASE("a layout for copies deals the same bits, and a thread's then lie in fewer rows") {
  constexpr Bits kLine = 64; // elements of two bytes
  const Shape shape{128, 256};
  int changed = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const LinearLayout from = randomLayout(shape, {.lanes = 32, .warps = 2}, rng);
    const LinearLayout to = passes::pipeline::copyLayout(from, Type::tile(ElementKind::F16, shape));
    const auto sorted = [](const LinearLayout &layout) {
      std::vector<Bits> columns(layout.columns().begin(), layout.columns().end());
      std::ranges::sort(columns);
      return columns;
    };
    REQUIRE(sorted(to) == sorted(from));
    if (to.columns() == from.columns()) continue;
    ++changed;
    const Dim along = layout::axisDim(layout::axisOfNeighbours(from, 2));
    const Dim across = along == layout::axisDim(0) ? layout::axisDim(1) : layout::axisDim(0);
    const auto rowsOfAThread = [&](const LinearLayout &layout) {
      std::set<Bits> rows;
      for (Bits r = 0; r < Bits{1} << layout.inputBits(Dim::Register); ++r)
        rows.insert(layout.outputPart(layout.apply(r), across));
      return rows.size();
    };
    CHECK(rowsOfAThread(to) < rowsOfAThread(from));
    for (std::int32_t i = 0; i < from.inputBits(Dim::Lane); ++i) {
      const auto lane = static_cast<std::size_t>(from.inputShift(Dim::Lane) + i);
      if (to.columns()[lane] != from.columns()[lane])
        CHECK(from.outputPart(from.columns()[lane], along) >= kLine);
    }
  }
  CHECK(changed > 50);
}
