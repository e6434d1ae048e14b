#pragma once

#include <cstdint>

namespace imbrex::emulate {

/// How matrix instructions add up.
enum class Numerics : std::uint8_t {
  Exact,       ///< All products and the sum so far exactly, rounded once.
  Adversarial, ///< As badly as the machine is known to, in an order of k that the seed makes.
};

struct SeededNumerics {
  Numerics kind = Numerics::Exact;
  std::uint64_t seed = 0;
};

} // namespace imbrex::emulate
