#include "backend/analysis/never_positive.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

/// Whether the value that is stored, made of %x and %y : f32[8x8], is known never to be positive.
bool isNeverAbove0(const std::string &body) {
  const ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%v: view<const f32, 2>, %o: view<f32, 2>) stage tiles {\n"
      "%z = constant 0 : i32\n%i = constant 1 : i32\n%x = view.load %v, %z, %z : f32[8x8]\n"
      "%y = view.load %v, %i, %z : f32[8x8]\n" +
      body + "view.store %o, %e, %z, %z\n}\n");
  bool isNeverAbove0 = false;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::ViewStore)
      isNeverAbove0 = analysis::isNeverPositive(kernel, op.operand(1));
  });
  return isNeverAbove0;
}

/// %e = %x less a tile that is made of %m : f32[8].
std::string lessRows(const std::string &m) {
  return m + "%r = reshape %m : f32[8x1]\n%b = broadcast %r : f32[8x8]\n"
             "%e = sub %x, %b : f32[8x8]\n";
}
std::string lessColumns(const std::string &m) {
  return m + "%r = reshape %m : f32[1x8]\n%b = broadcast %r : f32[8x8]\n"
             "%e = sub %x, %b : f32[8x8]\n";
}

} // namespace

TEST_CASE("an element less the largest of its row or column is never positive") {
  CHECK(isNeverAbove0(lessRows("%m = reduce %x [combine = max, axis = 1] : f32[8]\n")));
  CHECK(isNeverAbove0(lessRows("%m = reduce %x [combine = max.nan, axis = 1] : f32[8]\n")));
  CHECK(isNeverAbove0(lessColumns("%m = reduce %x [combine = max, axis = 0] : f32[8]\n")));
  CHECK(isNeverAbove0("%a = reduce %x [combine = max, axis = 1] : f32[8]\n"
                      "%m = reduce %a [combine = max, axis = 0] : f32\n"
                      "%b = broadcast %m : f32[8x8]\n%e = sub %x, %b : f32[8x8]\n"));
}

TEST_CASE("an element less that of another row, or of other numbers, may be positive") {
  CHECK(!isNeverAbove0(lessColumns("%m = reduce %x [combine = max, axis = 1] : f32[8]\n")));
  CHECK(!isNeverAbove0(lessRows("%m = reduce %x [combine = max, axis = 0] : f32[8]\n")));
  CHECK(!isNeverAbove0(lessRows("%m = reduce %y [combine = max, axis = 1] : f32[8]\n")));
  CHECK(!isNeverAbove0(lessRows("%m = reduce %x [combine = min, axis = 1] : f32[8]\n")));
  CHECK(!isNeverAbove0(lessRows("%m = reduce %x [axis = 1] : f32[8]\n")));
  CHECK(!isNeverAbove0("%e = sub %x, %y : f32[8x8]\n"));
}

TEST_CASE("so it is less the larger of that and any other number") {
  CHECK(isNeverAbove0("%b = max %y, %x : f32[8x8]\n%e = sub %x, %b : f32[8x8]\n"));
  CHECK(isNeverAbove0(lessRows("%a = reduce %x [combine = max, axis = 1] : f32[8]\n"
                               "%c = reduce %y [axis = 1] : f32[8]\n%m = max %c, %a : f32[8]\n")));
  CHECK(!isNeverAbove0("%b = min %y, %x : f32[8x8]\n%e = sub %x, %b : f32[8x8]\n"));
}

TEST_CASE("negated magnitudes and squares are never positive") {
  CHECK(isNeverAbove0("%a = abs %x : f32[8x8]\n%e = neg %a : f32[8x8]\n"));
  CHECK(isNeverAbove0("%a = mul %x, %x : f32[8x8]\n%e = neg %a : f32[8x8]\n"));
  CHECK(!isNeverAbove0("%a = mul %x, %y : f32[8x8]\n%e = neg %a : f32[8x8]\n"));
  CHECK(!isNeverAbove0("%e = abs %x : f32[8x8]\n"));
  CHECK(!isNeverAbove0("%e = neg %x : f32[8x8]\n"));
}
