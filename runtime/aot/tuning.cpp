#include "runtime/aot/tuning.h"

#include "runtime/aot/computed.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace imbrex::aot {
namespace {

/// No range tells those apart that an i64 does not have.
std::int64_t valueOf(const Given &of, std::uint64_t bits) {
  if (of.kind == Given::Signed) return signedValue(of, bits);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(bits, kMost));
}

bool isIn(const RangeRow &range, const Words &words) {
  const std::int64_t value = valueOf(range.of, words[static_cast<std::size_t>(range.of.word)]);
  return range.least <= value && value <= range.most;
}

} // namespace

bool isAbout(const TunedRow &row, const CodeRow &usual) {
  return row.device == usual.device && row.isAssembly == usual.isAssembly &&
         std::string_view(row.machine) == usual.machine;
}

const KernelRow &configFor(const KernelRow &kernel, const CodeRow &usual,
                           const BoundArguments &bound) {
  Words words;
  writeWords(kernel, bound, words);
  for (const TunedRow &row : std::span(kernel.tuned, static_cast<std::size_t>(kernel.tunedCount)))
    if (isAbout(row, usual) &&
        std::all_of(row.ranges, row.ranges + row.rangeCount,
                    [&](const RangeRow &range) { return isIn(range, words); }) &&
        keepsRequired(*row.config, bound))
      return *row.config;
  return kernel;
}

} // namespace imbrex::aot
