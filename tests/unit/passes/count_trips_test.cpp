#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/passes/pipeline/count_trips.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace imbrex;
using namespace imbrex::ir;
using testing::parsedKernel;

namespace {

/// How often a loop runs, and a number that all its indices are in.
struct Trips {
  std::int64_t count = 0, indices = 0;
  bool operator==(const Trips &) const = default;
};
constexpr std::int64_t kMix = 31;

Kernel loopOver(const std::string &type, const std::string &attributes = "pipelined = 2") {
  const std::string index = type == "i64" ? "%w = add %i, %zero : i64\n" : "%w = cast %i : i64\n";
  return parsedKernel(
      "kernel @k(%low: " + type + ", %high: " + type + ", %step: " + type +
      ", %count: ptr<i64>, %indices: ptr<i64>) stage tiles {\n"
      "%zero = constant 0 : i64\n%one = constant 1 : i64\n%mix = constant 31 : i64\n"
      "%n, %s = for %low, %high, %step, %zero, %zero [" +
      attributes + "] (%i: " + type + ", %c: i64, %h: i64) {\n" + index +
      "%more = add %c, %one : i64\n%m = mul %h, %mix : i64\n%g = add %m, %w : i64\n"
      "yield %more, %g\n} : i64, i64\nstore %count, %n\nstore %indices, %s\n}\n");
}

template <class T>
Trips run(const Kernel &kernel, T low, T high, T step) {
  using Bits = std::make_unsigned_t<T>;
  Trips trips;
  std::vector<Argument> arguments(5);
  const T numbers[]{low, high, step};
  for (std::size_t i = 0; i < 3; ++i) arguments[i].scalar = static_cast<Bits>(numbers[i]);
  std::int64_t *const results[]{&trips.count, &trips.indices};
  for (std::size_t i = 0; i < 2; ++i) {
    arguments[3 + i].data = reinterpret_cast<std::byte *>(results[i]);
    arguments[3 + i].bytes = sizeof(std::int64_t);
  }
  Diagnostics diagnostics;
  interpret::run(kernel, {}, arguments, diagnostics);
  CHECK_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
  return trips;
}

/// As docs/semantics.md says it, one by one. Nothing where they are very many.
template <class T>
std::optional<Trips> meant(T low, T high, T step) {
  constexpr std::int64_t kMany = 400;
  Trips trips;
  std::uint64_t mixed = 0;
  T i = low;
  while (step > 0 ? i < high : (step < 0 && i > high)) {
    if (++trips.count > kMany) return std::nullopt;
    mixed = mixed * kMix + static_cast<std::uint64_t>(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  trips.indices = static_cast<std::int64_t>(mixed);
  return trips;
}

template <class T>
void checkAll(const std::string &type) {
  CAPTURE(type);
  const Kernel plain = loopOver(type);
  Kernel counted = plain.clone();
  Diagnostics diagnostics;
  passes::pipeline::countTrips(counted, diagnostics);
  REQUIRE_MESSAGE(verify(counted, diagnostics), diagnostics.render());
  using Limits = std::numeric_limits<T>;
  const T edges[]{Limits::min(), T(Limits::min() + 1), T(-100),      T(-1), 0, 1, 7,
                  T(100),        T(Limits::max() - 1), Limits::max()};
  const T steps[]{Limits::min(), T(Limits::min() / 3), T(-100),      T(-3), T(-1), 0, 1, 3,
                  T(100),        T(Limits::max() / 2), Limits::max()};
  int few = 0;
  for (const T low : edges)
    for (const T high : edges)
      for (const T step : steps) {
        const auto trips = meant(low, high, step);
        if (!trips) continue;
        few += trips->count > 1 ? 1 : 0;
        CAPTURE(low);
        CAPTURE(high);
        CAPTURE(step);
        CHECK(run(plain, low, high, step) == *trips);
        CHECK(run(counted, low, high, step) == *trips);
      }
  CHECK(few > 60);
}

} // namespace

TEST_CASE("a marked loop that counts its trips runs as often, with the same indices") {
  checkAll<std::int8_t>("i8");
  checkAll<std::uint8_t>("u8");
  checkAll<std::int32_t>("i32");
  checkAll<std::uint32_t>("u32");
  checkAll<std::int64_t>("i64");
}

TEST_CASE("a loop that is not marked, or whose step is a positive constant, stays as it is") {
  const auto staysSame = [](Kernel kernel) {
    const std::string before = print(kernel);
    Diagnostics diagnostics;
    passes::pipeline::countTrips(kernel, diagnostics);
    return print(kernel) == before;
  };
  CHECK(staysSame(loopOver("i32", "unroll = 2")));
  CHECK_FALSE(staysSame(loopOver("i32")));
  const auto constant = [](const std::string &step) {
    return parsedKernel(
        "kernel @k(%n: i32, %p: ptr<i32>) stage tiles {\n%z = constant 0 : i32\n"
        "%s = constant " +
        step + " : i32\nfor %z, %n, %s [pipelined = 2] (%i: i32) {\nstore %p, %i\nyield\n}\n}\n");
  };
  CHECK(staysSame(constant("3")));
  CHECK_FALSE(staysSame(constant("-3")));
  CHECK_FALSE(staysSame(constant("0")));
}

TEST_CASE("marked loops in each other count their trips, each its own") {
  Kernel kernel = parsedKernel(
      "kernel @k(%n: i32, %s: i32, %p: ptr<i32>) stage tiles {\n%z = constant 0 : i32\n"
      "%a = for %z, %n, %s, %z [pipelined = 2] (%i: i32, %x: i32) {\n"
      "%b = for %i, %z, %s, %x [pipelined = 2] (%k: i32, %y: i32) {\n%w = add %y, %k : i32\n"
      "yield %w\n} : i32\n%c = for %z, %i, %s, %b [pipelined = 2] (%k: i32, %y: i32) {\n"
      "%w = add %y, %k : i32\n%v = add %w, %i : i32\nyield %v\n} : i32\nyield %c\n} : i32\n"
      "store %p, %a\n}\n");
  const auto sum = [&] {
    std::int32_t result = -1;
    std::vector<Argument> arguments(3);
    arguments[0].scalar = 9;
    arguments[1].scalar = 2;
    arguments[2].data = reinterpret_cast<std::byte *>(&result);
    arguments[2].bytes = sizeof(result);
    Diagnostics diagnostics;
    interpret::run(kernel, {}, arguments, diagnostics);
    CHECK_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
    return result;
  };
  std::int32_t expected = 0;
  for (int i = 0; i < 9; i += 2)
    for (int k = 0; k < i; k += 2) expected += k + i;
  CHECK(sum() == expected);
  Diagnostics diagnostics;
  passes::pipeline::countTrips(kernel, diagnostics);
  CHECK(sum() == expected);
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind == OpKind::For) CHECK(constantInteger(kernel, op.operand(2)) == 1);
  });
}
