#include "backend/analysis/non_negative.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>

using namespace imbrex;

namespace {

/// Whether the value %x of a kernel with an i32 %n and a view %v is known not to be negative.
bool isKnown(const std::string &body) {
  const ir::Kernel kernel =
      testing::parsedKernel("kernel @k(%n: i32, %u: u32, %p: ptr<i64>, %v: view<f32, 1>) stage "
                            "tiles {\n" +
                            body + "}\n");
  const analysis::NonNegative known(kernel);
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

TEST_CASE("sums, products and differences are known as long as their largest fits") {
  const auto most = [](const std::string &body, bool areSmall = true) {
    const ir::Kernel kernel =
        testing::parsedKernel("kernel @k(%p: ptr<i64>, %v: view<f32, 1>, %n: i64) stage tiles {\n" +
                              body + "store %p, %x\n}\n");
    analysis::Assumptions assumed = analysis::usualAssumptions(kernel);
    assumed.parameters[1].hasSmallExtents = areSmall;
    const analysis::NonNegative known(kernel, assumed);
    std::optional<std::uint64_t> found;
    ir::walk(kernel.body(), [&](const ir::Op &op) {
      if (op.kind == ir::OpKind::Store) found = known.most(op.operand(1));
    });
    return found;
  };
  constexpr std::uint64_t kSmall = 0x7fffffff, kAll = 0x7fffffffffffffff;
  const std::string extent = "%e = view.extent %v : i64\n%c = constant 64 : i64\n";
  CHECK(most(extent + "%x = cdiv %e, %c : i64\n") == (kSmall + 63) / 64);
  CHECK(most(extent + "%x = div %e, %c : i64\n") == kSmall / 64);
  CHECK(most(extent + "%x = div %e, %c : i64\n", false) == kAll / 64);
  CHECK(most(extent + "%x = add %e, %c : i64\n") == kSmall + 64);
  CHECK(most(extent + "%x = add %e, %c : i64\n", false) == std::nullopt);
  CHECK(most(extent + "%x = mul %e, %e : i64\n") == kSmall * kSmall);
  CHECK(most(extent + "%y = mul %e, %e : i64\n%x = mul %y, %c : i64\n") == std::nullopt);
  CHECK(most(extent + "%x = sub %e, %c : i64\n") == std::nullopt);
  CHECK(most(extent + "%z = constant 0 : i64\n%x = sub %e, %z : i64\n") == kSmall);
  CHECK(most(extent + "%x = min %e, %c : i64\n") == std::uint64_t{64});
  CHECK(most(extent + "%x = max %e, %c : i64\n") == kSmall);
  CHECK(most(extent + "%x = and %n, %c : i64\n") == std::uint64_t{64});
  CHECK(most(extent + "%x = max %n, %c : i64\n") == kAll);
}

TEST_CASE("of a loop's index the distance to its end is known, and the trip after the last is far "
          "off at the worst") {
  const auto isKnown = [](const std::string &type, const std::string &inLoop, bool orFar) {
    const ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%p: ptr<" + type + ">, %n: " + type + ") stage tiles {\n%z = constant 0 : " +
        type + "\n%s = constant 64 : " + type + "\n%h = max %n, %z : " + type +
        "\nfor %z, %h, %s (%i: " + type + ") {\n" + inLoop + "store %p, %x\nyield\n}\n}\n");
    const analysis::NonNegative known(kernel);
    bool is = false;
    ir::walk(kernel.body(), [&](const ir::Op &op) {
      if (op.kind == ir::OpKind::Store)
        is = orFar ? known.containsOrFar(kernel, op.operand(1)) : known.contains(op.operand(1));
    });
    return is;
  };
  for (const char *type : {"i32", "i64"}) {
    const std::string of = std::string(" : ") + type + "\n";
    CHECK(isKnown(type, "%x = sub %h, %i" + of, false));
    CHECK_FALSE(isKnown(type, "%x = sub %n, %i" + of, false));
    CHECK_FALSE(isKnown(type, "%x = add %i, %s" + of, false));
    CHECK(isKnown(type, "%x = add %i, %s" + of, true));
    CHECK_FALSE(isKnown(type, "%x = add %i, %i" + of, true));
    CHECK_FALSE(isKnown(type, "%x = add %n, %s" + of, true));
    CHECK_FALSE(isKnown(type, "%m = constant -1" + of + "%x = add %i, %m" + of, true));
  }
  CHECK_FALSE(isKnown("i16", "%x = add %i, %s : i16\n", true));
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
