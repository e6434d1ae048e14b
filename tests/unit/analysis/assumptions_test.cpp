#include "backend/analysis/assumptions.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace imbrex;
using analysis::Assumptions;
using analysis::ParameterAssumptions;

namespace {

ir::Kernel kernelOf(std::string_view parameters) {
  return testing::parsedKernel("kernel @k(" + std::string(parameters) + ") stage tiles {\n}\n");
}

alignas(16) std::array<std::byte, 1024> kernelMemory;

ir::Argument array(std::int64_t from, std::int64_t bytes) {
  return {.data = kernelMemory.data() + from, .bytes = bytes};
}

} // namespace

TEST_CASE("a launch keeps what its arguments show") {
  const ir::Kernel kernel = kernelOf("%p: ptr<f32>, %n: i32, %x: f32");
  const auto of = [&](ir::Argument p, std::uint64_t n) {
    return analysis::assumptionsOf(kernel, std::array{p, ir::Argument{.scalar = n}, ir::Argument{}},
                                   {});
  };
  CHECK(of(array(16, 64), 32) ==
        Assumptions{.parameters = {{.isDivisible = true}, {.isDivisible = true}, {}},
                    .areDisjoint = true});
  CHECK(of(array(4, 64), 31) == Assumptions{.parameters = {{}, {}, {}}, .areDisjoint = true});
}

TEST_CASE("a view's rows are divisible if its last extent and its other strides are, in bytes") {
  const ir::Kernel kernel = kernelOf("%a: view<const f16, 2>");
  const auto of = [&](std::array<std::int64_t, 2> extents, std::array<std::int64_t, 2> strides) {
    ir::Argument a = array(0, 1024);
    std::copy(extents.begin(), extents.end(), a.extents.begin());
    std::copy(strides.begin(), strides.end(), a.strides.begin());
    return analysis::assumptionsOf(kernel, a, {}).of(0);
  };
  CHECK(of({3, 24}, {24, 1}) == ParameterAssumptions{true, true, true, true, true, true});
  CHECK(of({3, 24}, {28, 1}) == ParameterAssumptions{true, true, false, true, true});
  CHECK(of({3, 20}, {24, 1}) == ParameterAssumptions{true, true, false, true, true, true});
  CHECK(of({3, 24}, {48, 2}) == ParameterAssumptions{true, false, true, true, true});
}

TEST_CASE("of half bytes a launch keeps the power of two bytes that divides rows") {
  const ir::Kernel kernel = kernelOf("%a: view<const f4e2m1, 2>, %b: view<const f16, 2>");
  const auto of = [&](std::int64_t columns, std::int64_t stride) {
    ir::Argument a = array(0, 1024);
    a.extents = {3, columns};
    a.strides = {stride, 1};
    const Assumptions kept = analysis::assumptionsOf(kernel, std::array{a, a}, {});
    CHECK(kept.of(1).sharedRowBytes == 0);
    CHECK(kept.of(0).hasDivisibleRows == (kept.of(0).sharedRowBytes == 16));
    return kept.of(0).sharedRowBytes;
  };
  CHECK(of(64, 96) == 16);
  CHECK(of(48, 96) == 8);
  CHECK(of(64, 72) == 4);
  CHECK(of(36, 64) == 2);
  CHECK(of(64, 66) == 1);
  CHECK(of(64, 67) == 0);
  CHECK(of(63, 64) == 0);
  const Assumptions usual = analysis::usualAssumptions(kernel);
  CHECK(usual.of(0).sharedRowBytes == 16);
  CHECK(usual.of(1).sharedRowBytes == 0);
  Assumptions less = usual;
  less.parameters[0].sharedRowBytes = 8;
  CHECK_FALSE(less.cover(usual));
  CHECK(usual.cover(less));
}

TEST_CASE("an engine takes a view by its address, its strides and its extents") {
  const ir::Kernel kernel = kernelOf("%a: view<const f16, 3>");
  const auto of = [&](std::array<std::int64_t, 3> extents, std::array<std::int64_t, 3> strides,
                      std::int64_t address = 0) {
    ir::Argument a = array(address, 1024);
    std::copy(extents.begin(), extents.end(), a.extents.begin());
    std::copy(strides.begin(), strides.end(), a.strides.begin());
    return analysis::assumptionsOf(kernel, a, {}).of(0).hasBoxes;
  };
  constexpr std::int64_t kMost = ParameterAssumptions::kMostBoxExtent,
                         kBytes = std::int64_t{1} << 40;
  CHECK(of({2, 3, 5}, {24, 8, 1}));
  CHECK(of({2, 3, 5}, {24, 8, 1}, 16));
  CHECK_FALSE(of({2, 3, 5}, {24, 8, 1}, 8));
  CHECK_FALSE(of({2, 3, 5}, {24, 8, 2}));
  CHECK_FALSE(of({2, 3, 5}, {24, 4, 1}));  // 8 bytes
  CHECK_FALSE(of({2, 3, 5}, {8, 24, 1}));  // turned
  CHECK_FALSE(of({2, 3, 5}, {24, 0, 1}));  // the same row again
  CHECK_FALSE(of({2, 3, 5}, {24, -8, 1})); // backwards
  CHECK(of({2, 3, 5}, {kBytes / 2 - 8, 8, 1}));
  CHECK_FALSE(of({2, 3, 5}, {kBytes / 2, 8, 1}));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::array<std::int64_t, 3> extents{2, 3, 5};
    extents[axis] = kMost;
    CHECK(of(extents, {24, 8, 1}));
    extents[axis] = kMost + 1;
    CHECK_FALSE(of(extents, {24, 8, 1}));
    extents[axis] = 0;
    CHECK_FALSE(of(extents, {24, 8, 1}));
  }
  CHECK_FALSE(analysis::usualAssumptions(kernelOf("%a: view<f4e2m1, 2>")).of(0).hasBoxes);
}

TEST_CASE("a view's extents are small if 31 bits hold each of them") {
  const ir::Kernel kernel = kernelOf("%a: view<const f32, 2>");
  const auto of = [&](std::int64_t rows, std::int64_t columns) {
    ir::Argument a = array(0, 1024);
    a.extents = {rows, columns};
    a.strides = {0, 0};
    return analysis::assumptionsOf(kernel, a, {}).of(0).hasSmallExtents;
  };
  constexpr std::int64_t kMost = 0x7fffffff;
  CHECK(of(kMost, kMost));
  CHECK_FALSE(of(kMost + 1, 1));
  CHECK_FALSE(of(1, kMost + 1));
}

TEST_CASE("a view's span is small if its last element ends before 2^31 bytes, and no stride is "
          "negative") {
  const ir::Kernel kernel = kernelOf("%a: view<const f32, 2>, %b: view<const f4e2m1, 1>");
  const auto of = [&](std::array<std::int64_t, 2> extents, std::array<std::int64_t, 2> strides) {
    std::array<ir::Argument, 2> arguments{array(0, 1024), array(0, 1024)};
    arguments[0].extents = {extents[0], extents[1]};
    arguments[0].strides = {strides[0], strides[1]};
    return analysis::assumptionsOf(kernel, arguments, {}).of(0).hasSmallSpan;
  };
  constexpr std::int64_t kElements = (std::int64_t{1} << 31) / 4;
  CHECK(of({2, 8}, {kElements - 9, 1}));
  CHECK_FALSE(of({2, 8}, {kElements - 8, 1})); // its last byte is number 2^31 - 1
  CHECK(of({1, 8}, {std::int64_t{1} << 62, 1}));
  CHECK(of({2, 8}, {0, 0}));
  CHECK_FALSE(of({2, 8}, {-8, 1}));
  CHECK_FALSE(of({0x7fffffff, 0x7fffffff}, {0x7fffffff, 0x7fffffff}));
  CHECK(of({0, 8}, {std::int64_t{1} << 62, 1}));
}

TEST_CASE("a launch keeps those of the usual equal extents that its views have") {
  const ir::Kernel kernel = kernelOf("%a: view<f32, 2>, %b: view<f32, 2>");
  const Assumptions usual{
      .parameters = {}, .areDisjoint = false, .equalExtents = {{{1, 0}, {0, 0}}, {{1, 1}, {0, 1}}}};
  const auto of = [&](std::array<std::int64_t, 2> extents) {
    ir::Argument a = array(0, 64), b = array(64, 64);
    a.extents = {3, 4};
    std::copy(extents.begin(), extents.end(), b.extents.begin());
    return analysis::assumptionsOf(kernel, std::array{a, b}, usual);
  };
  CHECK(of({3, 4}).equalExtents == usual.equalExtents);
  CHECK(of({2, 4}).equalExtents == analysis::EqualExtentsList{usual.equalExtents[1]});
  CHECK(of({3, 3}).equalExtents == analysis::EqualExtentsList{usual.equalExtents[0]});
  CHECK(of({3, 4}).cover(usual));
  CHECK_FALSE(of({3, 3}).cover(usual));
  CHECK_FALSE(of({2, 4}).cover(usual));
}

TEST_CASE("arguments are disjoint if all of their bytes are known to be") {
  const ir::Kernel kernel = kernelOf("%p: ptr<f32>, %n: i32, %q: ptr<f32>");
  const auto of = [&](ir::Argument p, ir::Argument q) {
    const std::array arguments{p, ir::Argument{.scalar = 4}, q};
    return analysis::assumptionsOf(kernel, arguments, {}).areDisjoint;
  };
  CHECK(of(array(0, 64), array(64, 64)));
  CHECK(of(array(64, 64), array(0, 64)));
  CHECK_FALSE(of(array(0, 65), array(64, 64)));
  CHECK_FALSE(of(array(0, ir::Argument::kUnknownSize), array(64, 64)));
}

TEST_CASE("a table's memory is all that its pointers lead to, and divisible if all of that is") {
  const ir::Kernel kernel = kernelOf("%t: table<f32>, %q: ptr<f32>, %u: table<const f32>");
  using Pieces = std::vector<ir::Argument>;
  const auto of = [&](const Pieces &t, ir::Argument q, const Pieces &u) {
    const ir::PointerTable first(t), second(u);
    const std::array arguments{first.argument(), q, second.argument()};
    return analysis::assumptionsOf(kernel, arguments, {});
  };
  const Pieces two{array(0, 16), array(64, 16)};
  CHECK(of(two, array(16, 48), {array(80, 16), array(96, 4)}) ==
        Assumptions{
            .parameters = {{.isDivisible = true}, {.isDivisible = true}, {.isDivisible = true}},
            .areDisjoint = true});
  CHECK(of(two, array(20, 4), {array(24, 4)}) ==
        Assumptions{.parameters = {{.isDivisible = true}, {}, {}}, .areDisjoint = true});
  CHECK(of({}, array(16, 48), {}).areDisjoint);
  // Its own pointers may lead to the same memory: nothing is taken for granted of two of them.
  CHECK(of({array(0, 16), array(0, 16)}, array(16, 48), {}).areDisjoint);
  CHECK_FALSE(of(two, array(15, 16), {}).areDisjoint);
  CHECK_FALSE(of(two, array(32, 33), {}).areDisjoint);
  CHECK_FALSE(of(two, array(100, 4), {array(84, 4), array(79, 2)}).areDisjoint);
  CHECK_FALSE(of({array(0, 200), array(8, 4)}, array(300, 4), {array(100, 4)}).areDisjoint);
  CHECK_FALSE(of({array(0, ir::Argument::kUnknownSize)}, array(300, 4), {}).areDisjoint);
  const Assumptions usual = analysis::usualAssumptions(kernel);
  CHECK(usual.of(0) == analysis::ParameterAssumptions{.isDivisible = true});
}

TEST_CASE(
    "a view that can be stored to has its elements apart, or the arguments are not disjoint") {
  const auto of = [&](std::string_view type, std::array<std::int64_t, 2> extents,
                      std::array<std::int64_t, 2> strides) {
    ir::Argument a = array(0, 1024);
    std::copy(extents.begin(), extents.end(), a.extents.begin());
    std::copy(strides.begin(), strides.end(), a.strides.begin());
    return analysis::assumptionsOf(kernelOf("%a: " + std::string(type)), a, {}).areDisjoint;
  };
  const std::string_view view = "view<f32, 2>";
  CHECK(of(view, {4, 6}, {6, 1}));
  CHECK(of(view, {4, 6}, {8, 1}));
  CHECK(of(view, {4, 6}, {1, 4}));
  CHECK_FALSE(of(view, {4, 6}, {5, 1})); // [0, 5] is [1, 0]
  CHECK_FALSE(of(view, {4, 6}, {0, 1}));
  CHECK_FALSE(of(view, {4, 6}, {6, 0}));
  CHECK(of(view, {1, 6}, {0, 1}));
  CHECK(of("view<const f32, 2>", {4, 6}, {0, 1}));
}

TEST_CASE("what covers the usual assumptions may be run by code that was made for them") {
  const ir::Kernel kernel = kernelOf("%p: ptr<f32>, %n: i32, %x: f32, %a: view<f32, 2>");
  const Assumptions usual = analysis::usualAssumptions(kernel);
  CHECK(usual.of(0) == ParameterAssumptions{.isDivisible = true});
  CHECK(usual.of(1) == ParameterAssumptions{.isDivisible = true});
  CHECK(usual.of(2) == ParameterAssumptions{});
  CHECK(usual.of(3) == ParameterAssumptions{true, true, true, true, true, true});
  CHECK(usual.of(4) == ParameterAssumptions{});
  CHECK(usual.cover(usual));
  CHECK(usual.cover({}));
  for (std::size_t i : {0, 1, 3}) {
    Assumptions less = usual;
    less.parameters[i].isDivisible = false;
    CHECK_FALSE(less.cover(usual));
  }
  Assumptions less = usual;
  less.parameters[3].hasUnitStride = false;
  CHECK_FALSE(less.cover(usual));
  less = usual;
  less.parameters[3].hasDivisibleRows = false;
  CHECK_FALSE(less.cover(usual));
  less = usual;
  less.parameters[3].hasSmallExtents = false;
  CHECK_FALSE(less.cover(usual));
  less = usual;
  less.parameters[3].hasSmallSpan = false;
  CHECK_FALSE(less.cover(usual));
  less = usual;
  less.parameters[3].hasBoxes = false;
  CHECK_FALSE(less.cover(usual));
  CHECK(less == analysis::withoutBoxes(usual));
  less = usual;
  less.areDisjoint = false;
  CHECK_FALSE(less.cover(usual));
}
