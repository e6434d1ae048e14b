// Tries the quotients by one divisor (backend/math/quotient.h) against the machine's division: the
// reciprocal of every significand, from seeds up to 4 ulp off; of every divisor the dividends whose
// quotients are nearest to the middle between two floats, which are all that can go wrong; pairs at
// random; and in f64 every pair of edges. Fails where one differs.
//
//   exhaustive_quotient [pairs at random, 100000000]

#include "backend/math/quotient.h"

#include "tests/unit/math/quotient_cases.h"

#include <cstdio>
#include <cstdlib>

using namespace imbrex;

namespace {

/// How far a quotient may be from the middle between two floats, in units of the last place of
/// (25 bits of a quotient) · (24 bits of a divisor): the remainder q b - a is rounded at most by
/// half such a unit, and 1 / b by a 2^-24th part of the remainder, which is less than 3 units.
constexpr int kNearest = 9;

std::int64_t wrongReciprocals() {
  std::int64_t wrong = 0;
  for (std::uint32_t bits = 0x3f800000; bits < 0x40000000; ++bits)
    wrong += quotients::wrongReciprocalsOf(math::floatOf(bits));
  return wrong;
}

quotients::Tried hardCases() {
  quotients::Tried tried;
  for (int width = 18; width <= 24; ++width)
    for (std::uint32_t odd = (1U << (width - 1)) | 1; odd < 1U << width; odd += 2)
      quotients::tryHardCases(odd, width, std::max(1, kNearest >> (24 - width)), tried);
  return tried;
}

int report(const char *what, const quotients::Tried &tried) {
  std::printf("%s: %lld tried, %lld wrong\n", what, static_cast<long long>(tried.count),
              static_cast<long long>(tried.wrong));
  return tried.wrong == 0 && tried.count > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  const std::int64_t pairs = argc > 1 ? std::atoll(argv[1]) : 100000000;
  int failures = report("reciprocals", {std::int64_t{9} << 23, wrongReciprocals()});
  failures += report("hard cases", hardCases());
  failures += report("random pairs", quotients::tryAtRandom(pairs, 1));
  failures += report("edges", quotients::tryEdges());
  return failures;
}
