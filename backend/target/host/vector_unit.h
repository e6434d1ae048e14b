#pragma once

#include <cstdint>

namespace imbrex::host {

/// The SIMD registers of the CPU that code is made for. All that loops need to know of it.
struct VectorUnit {
  std::int32_t bits;      // of one register
  std::int32_t registers; // that a program can name

  /// Lanes of a register for elements of this many bits.
  std::int32_t lanes(std::int32_t elementBits) const { return bits / elementBits; }
};

} // namespace imbrex::host
