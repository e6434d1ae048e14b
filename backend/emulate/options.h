#pragma once

#include "backend/emulate/model/counters.h"
#include "backend/emulate/model/numerics.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace imbrex::emulate {

/// When the bytes of a copy arrive that runs beside the threads.
enum class Delivery : std::uint8_t {
  Late,   ///< When the program has waited for them, and not before.
  Random, ///< At any moment up to then, by the seed.
};

/// How a run is made.
struct EmulatorOptions {
  /// Of the order in which warps and blocks run, and of what else may differ from run to run.
  std::uint64_t seed = 0;
  Delivery delivery = Delivery::Late;
  Numerics numerics = Numerics::Exact; ///< Of matrix instructions.
  /// A thread that makes more turns of loops than this has lost its way.
  std::int64_t mostTurns = 50'000'000;
  /// Warps that meet may each be at another barrier of the block, as hardware lets them: for groups
  /// of warps that are a barrier apart. Else it is an error, as it mostly is a mistake, but in
  /// kernels that say so themselves.
  bool warpsMeetAnywhere = false;
  /// Filled with what the run has cost; null where nobody wants to know, which is faster.
  Counters *counters = nullptr;
  /// The buffer for prints and failed asserts (lower/observations.h) of a caller who reads it;
  /// empty: the run makes one and tells what is in it.
  llvm::MutableArrayRef<std::uint64_t> observations = {};
};

} // namespace imbrex::emulate
