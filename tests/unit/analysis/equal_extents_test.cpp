#include "backend/analysis/equal_extents.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;
using analysis::EqualExtents;

namespace {

analysis::EqualExtentsList equalIn(const std::string &parameters, const std::string &body) {
  return analysis::likelyEqualExtents(
      testing::parsedKernel("kernel @k(" + parameters + ") stage tiles {\n" + body + "}\n"));
}

using Pairs = analysis::EqualExtentsList;

} // namespace

TEST_CASE("extents that the kernel requires to be equal are, however it cuts them") {
  CHECK(equalIn("%a: view<const f32, 2>, %b: view<const f32, 2>, %n: i64", R"(
    %0 = view.extent %b : i64
    %1 = view.extent %a [axis = 1] : i64
    %2 = eq %0, %1 : bool
    %3 = eq %1, %n : bool
    %4 = and %2, %3 : bool
    require %4 [text = "the inner extents agree"]
  )") == Pairs{{{1, 0}, {0, 1}}});
}

TEST_CASE("views that are cut into the same boxes are likely to be equally long") {
  const std::string three = "%a: view<const f32, 1>, %b: view<const f32, 1>, %c: view<f32, 1>";
  // Every name of the block's number is the same number.
  CHECK(equalIn(three, R"(
    %0 = program_id : i32
    %1 = program_id : i32
    %2 = view.load %a, %0 : f32[64]
    %3 = view.load %b, %1 : f32[64]
    view.store %c, %3, %0
  )") == Pairs{{{1, 0}, {0, 0}}, {{2, 0}, {0, 0}}});
  SUBCASE("boxes of other lengths, at other places or in other units are others") {
    CHECK(equalIn(three, R"(
      %0 = program_id : i32
      %1 = program_id [axis = 1] : i32
      %2 = view.load %a, %0 : f32[64]
      %3 = view.load %b, %1 : f32[64]
      %4 = view.load %b, %0 [unit = elements] : f32[64]
      %5 = view.load %c, %0 : f32[32]
    )") == Pairs{});
  }
  SUBCASE("one common way of cutting is enough") {
    CHECK(equalIn(three, R"(
      %0 = program_id : i32
      %1 = constant 1 : i32
      %2 = add %0, %1 : i32
      %3 = view.load %a, %0 : f32[64]
      %4 = view.load %a, %2 : f32[64]
      %5 = add %0, %1 : i32
      view.store %c, %4, %5
    )") == Pairs{{{2, 0}, {0, 0}}});
  }
}

TEST_CASE("what was read from memory twice may be two numbers") {
  CHECK(equalIn("%p: ptr<i32>, %a: view<const f32, 1>, %c: view<f32, 1>", R"(
    %0 = load %p : i32
    %1 = load %p : i32
    %2 = view.load %a, %0 : f32[64]
    view.store %c, %2, %1
  )") == Pairs{});
}

TEST_CASE("a transposed view is as long along the other axis") {
  CHECK(equalIn("%a: view<const f32, 2>, %c: view<f32, 2>", R"(
    %0 = program_id : i32
    %1 = program_id [axis = 1] : i32
    %2 = view.load %a, %0, %1 : f32[64x64]
    view.store %c, %2, %1, %0
  )") == Pairs{{{1, 0}, {0, 1}}, {{1, 1}, {0, 0}}});
}

TEST_CASE("axes that are equally far from the last one are preferred") {
  CHECK(equalIn("%a: view<const f32, 2>, %w: view<const f32, 1>, %c: view<f32, 2>", R"(
    %0 = constant 0 : i32
    %1 = view.load %a, %0, %0 : f32[64x64]
    %2 = view.load %w, %0 : f32[64]
    view.store %c, %1, %0, %0
  )") == Pairs{{{1, 0}, {0, 1}}, {{2, 0}, {0, 0}}, {{2, 1}, {0, 1}}});
}

TEST_CASE("an extent names the first of its kind") {
  CHECK(equalIn("%a: view<const f32, 1>, %b: view<f32, 1>, %c: view<f32, 1>", R"(
    %0 = program_id : i32
    %1 = view.load %a, %0 : f32[64]
    view.store %b, %1, %0
    %2 = view.load %b, %0 : f32[32]
    view.store %c, %2, %0
  )") == Pairs{{{1, 0}, {0, 0}}, {{2, 0}, {0, 0}}});
}
