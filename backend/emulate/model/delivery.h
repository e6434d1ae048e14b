#pragma once

#include <cstdint>

namespace imbrex::emulate {

/// When the bytes of a copy arrive that runs beside the threads.
enum class Delivery : std::uint8_t {
  Late,   ///< When the program has waited for them, and not before.
  Random, ///< At any moment up to then, by the seed.
};

} // namespace imbrex::emulate
