// Tries the quotients by one divisor (backend/math/quotient.h) against the machine's division: of
// every divisor the dividends whose quotients are nearest to the middle between two floats, which
// are all that can go wrong, with its correctly rounded reciprocal and with whatever else is made
// of seeds up to 4 ulp off; pairs at random; and in f64 every pair of edges. Fails where one
// differs.
//
//   exhaustive_quotient [pairs at random, 100000000]

#include "backend/math/quotient.h"

#include "tests/unit/math/quotient_cases.h"

#include <cstdio>
#include <cstdlib>

using namespace imbrex;

namespace {

quotients::Tried hardCases() {
  quotients::Tried tried;
  for (int width = 18; width <= 24; ++width)
    for (std::uint32_t odd = (1U << (width - 1)) | 1; odd < 1U << width; odd += 2)
      quotients::tryHardCases(odd, width, tried);
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
  int failures = report("other reciprocals", quotients::tryOtherReciprocals(true));
  failures += report("hard cases", hardCases());
  failures += report("random pairs", quotients::tryAtRandom(pairs, 1));
  failures += report("edges", quotients::tryEdges());
  return failures;
}
