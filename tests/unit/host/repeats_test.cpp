// Steps that pull the same elements at ever more points: code grows as the steps, not as the
// points.

#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace imbrex::host {
namespace {

constexpr std::int64_t kNumbers = 64;

/// Steps from %x to %o of 64 numbers: each makes the tile %t$ of the one before, %t#.
ir::Kernel steps(std::int32_t count, std::string_view step) {
  std::string text = R"(kernel @steps(%x: view<const i32, 1>, %o: view<i32, 1>) stage tiles {
  %zero = constant 0 : i32
  %t0 = view.load %x, %zero : i32[64]
)";
  for (std::int32_t i = 1; i <= count; ++i)
    for (const char c : step) {
      if (c == '$')
        text += std::to_string(i);
      else if (c == '#')
        text += std::to_string(i - 1);
      else
        text += c;
    }
  return testing::parsedKernel(text + "  view.store %o, %t" + std::to_string(count) +
                               ", %zero\n}\n");
}

constexpr std::string_view kMirror = R"(
  %f$ = flip %t# [axis = 0] : i32[64]
  %i$ = arange : i32[64]
  %g$ = sub %f$, %i$ : i32[64]
  %t$ = add %t#, %g$ : i32[64]
)";

/// A step of a Fourier transform of integers.
constexpr std::string_view kButterfly = R"(
  %h$ = reshape %t# : i32[2x32]
  %p$ = permute %h$ [order = [1, 0]] : i32[32x2]
  %a$, %b$ = split %p$ : i32[32], i32[32]
  %s$ = add %a$, %b$ : i32[32]
  %d$ = sub %a$, %b$ : i32[32]
  %j$ = join %s$, %d$ : i32[32x2]
  %t$ = reshape %j$ : i32[64]
)";

constexpr std::string_view kRotation = R"(
  %l$ = slice %t# [offsets = [0], strides = [1]] : i32[16]
  %r$ = slice %t# [offsets = [16], strides = [1]] : i32[48]
  %c$ = concat %r$, %l$ [axis = 0] : i32[64]
  %t$ = add %t#, %c$ : i32[64]
)";

constexpr std::string_view kGather = R"(
  %i$ = arange : i32[64]
  %o$ = constant 1 : i32[64]
  %n$ = xor %i$, %o$ : i32[64]
  %g$ = gather %t#, %n$ [axis = 0] : i32[64]
  %t$ = add %t#, %g$ : i32[64]
)";

using Numbers = std::vector<std::uint32_t>;

Numbers mirrored(const Numbers &t) {
  Numbers next;
  for (std::size_t i = 0; i < t.size(); ++i)
    next.push_back(t[i] + t[63 - i] - static_cast<std::uint32_t>(i));
  return next;
}

Numbers butterflies(const Numbers &t) {
  Numbers next;
  for (std::size_t i = 0; i < 32; ++i) {
    next.push_back(t[i] + t[i + 32]);
    next.push_back(t[i] - t[i + 32]);
  }
  return next;
}

Numbers rotated(const Numbers &t) {
  Numbers next;
  for (std::size_t i = 0; i < t.size(); ++i) next.push_back(t[i] + t[(i + 16) % 64]);
  return next;
}

Numbers withNeighbours(const Numbers &t) {
  Numbers next;
  for (std::size_t i = 0; i < t.size(); ++i) next.push_back(t[i] + t[i ^ 1]);
  return next;
}

struct Case {
  std::string_view step;
  Numbers (*makes)(const Numbers &);
};
constexpr std::array kCases{Case{kMirror, mirrored}, Case{kButterfly, butterflies},
                            Case{kRotation, rotated}, Case{kGather, withNeighbours}};

std::ptrdiff_t linesOf(const ir::Kernel &kernel) {
  return std::ranges::count(codeOf(kernel), '\n');
}

} // namespace

TEST_CASE("code grows as the steps that move elements, not as the points they are read at") {
  for (const Case &each : kCases) {
    CAPTURE(each.step);
    const std::ptrdiff_t few = linesOf(steps(4, each.step));
    CHECK(linesOf(steps(8, each.step)) < 3 * few);
  }
}

TEST_CASE("a hundred steps that move elements compute what they say") {
  for (const Case &each : kCases) {
    CAPTURE(each.step);
    Numbers x(kNumbers), o(kNumbers);
    std::iota(x.begin(), x.end(), 5U);
    launch(steps(100, each.step), {}, {viewOf(x, {kNumbers}), viewOf(o, {kNumbers})});
    for (std::int32_t i = 0; i < 100; ++i) x = each.makes(x);
    CHECK(o == x);
  }
}

} // namespace imbrex::host
