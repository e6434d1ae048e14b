#include "backend/analysis/not_negative.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

/// Whether the value %x of a kernel with an i32 %n and a view %v is known not to be negative.
bool isKnown(const std::string &body) {
  const ir::Kernel kernel =
      testing::parsedKernel("kernel @k(%n: i32, %u: u32, %p: ptr<i64>, %v: view<f32, 1>) stage "
                            "tiles {\n" +
                            body + "}\n");
  const analysis::NotNegative known(kernel);
  // The value that is stored.
  bool isKnown = false;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::Store) isKnown = known.contains(op.operand(1));
  });
  return isKnown;
}

bool isKnownOf(const std::string &type, const std::string &definitions) {
  const std::string widened = type == "i64" ? "%y = add %x, %x : i64\nstore %p, %x\n"
                                            : "%y = cast %x : i64\nstore %p, %y\n";
  return isKnown(definitions + widened);
}

} // namespace

TEST_CASE("numbers of blocks, extents, unsigned numbers and constants from 0 are not negative") {
  CHECK(isKnownOf("i32", "%x = program_id : i32\n"));
  CHECK(isKnownOf("i32", "%x = num_programs : i32\n"));
  CHECK(isKnownOf("i64", "%x = view.extent %v : i64\n"));
  CHECK(isKnownOf("i32", "%x = constant 0 : i32\n"));
  CHECK(isKnownOf("i32", "%x = constant 2147483647 : i32\n"));
  CHECK_FALSE(isKnownOf("i32", "%x = constant -1 : i32\n"));
  CHECK_FALSE(isKnown("%y = cast %n : i64\nstore %p, %y\n"));
  CHECK(isKnown("%y = cast %u : i64\nstore %p, %y\n"));
}

TEST_CASE("indices count up from 0, and what only moves numbers keeps them") {
  const auto tile = [](const std::string &definitions) {
    return isKnown(definitions + "%w = cast %x : i64[4]\n%q = broadcast %p : ptr<i64>[4]\n"
                                 "store %q, %w\n");
  };
  CHECK(tile("%x = arange : i32[4]\n"));
  CHECK_FALSE(tile("%x = arange [start = -1] : i32[4]\n"));
  CHECK_FALSE(tile("%x = arange [start = 3, step = -1] : i32[4]\n"));
  CHECK(tile("%0 = program_id : i32\n%x = broadcast %0 : i32[4]\n"));
  CHECK_FALSE(tile("%x = broadcast %n : i32[4]\n"));
  const std::string square = "%0 = arange : i32[4]\n%1 = reshape %0 : i32[2x2]\n";
  CHECK(tile(square + "%2 = permute %1 [order = [1, 0]] : i32[2x2]\n%x = reshape %2 : i32[4]\n"));
}

TEST_CASE("a cast keeps what it has room for") {
  CHECK(isKnownOf("i32", "%0 = program_id : i32\n%x = cast %0 : i32\n"));
  CHECK_FALSE(isKnownOf("i16", "%0 = program_id : i32\n%x = cast %0 : i16\n"));
  CHECK_FALSE(isKnownOf("i32", "%x = cast %u : i32\n"));
}

TEST_CASE("quotients, remainders and lesser numbers are not negative; sums and products may wrap") {
  const std::string two = "%a = program_id : i32\n";
  const auto with = [&](const std::string &op, const char *left, const char *right) {
    return isKnownOf("i32", two + "%x = " + op + " " + left + ", " + right + " : i32\n");
  };
  for (const char *op : {"div", "cdiv", "min"}) {
    CAPTURE(op);
    CHECK(with(op, "%a", "%a"));
    CHECK_FALSE(with(op, "%a", "%n"));
    CHECK_FALSE(with(op, "%n", "%a"));
  }
  for (const char *op : {"rem", "shr"}) {
    CAPTURE(op);
    CHECK(with(op, "%a", "%n"));
    CHECK_FALSE(with(op, "%n", "%a"));
  }
  for (const char *op : {"and", "max"}) {
    CAPTURE(op);
    CHECK(with(op, "%a", "%n"));
    CHECK(with(op, "%n", "%a"));
    CHECK_FALSE(with(op, "%n", "%n"));
  }
  for (const char *op : {"add", "sub", "mul", "shl"}) {
    CAPTURE(op);
    CHECK_FALSE(with(op, "%a", "%a"));
  }
}

TEST_CASE("a loop that counts up from 0 has no negative index") {
  const auto loop = [](const std::string &low, const std::string &step) {
    return isKnown("%z = constant 0 : i32\n%one = constant 1 : i32\n%minus = constant -1 : i32\n"
                   "for " +
                   low + ", %n, " + step +
                   " (%i: i32) {\n  %y = cast %i : i64\n"
                   "  store %p, %y\n  yield\n}\n");
  };
  CHECK(loop("%z", "%one"));
  CHECK_FALSE(loop("%n", "%one"));
  CHECK_FALSE(loop("%z", "%minus"));
  CHECK_FALSE(loop("%z", "%n"));
}
