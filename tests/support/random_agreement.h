#pragma once

#include "tests/support/random_kernel.h"

namespace imbrex::testing {

/// How many seeds the tests run on every device (tests/run/emulate/random_agreement.cpp).
inline constexpr std::uint32_t kAgreementSeeds = 300;

/// Small kernels mostly: what takes long is to compile, and two ops can meet in a small one too.
inline RandomKernelOptions agreementOptions(std::uint32_t seed) {
  return {.size = seed % 20 == 0 ? 30 : 8,
          .stage = seed % 3 == 0 ? ir::Stage::Traced : ir::Stage::Tiles};
}

} // namespace imbrex::testing
