#pragma once

#include <bit>
#include <cstdint>

namespace imbrex::launching {

/// An f32 as a bfloat, in the low half of the register that floats are returned in. Where the
/// processor has none, LLVM holds a bfloat as an f32 and calls `__truncsfbf2` for its bits, which a
/// NaN is to keep as well; compilers' libraries have it from GCC 13 on.
inline float truncateToBfloat(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounding = 0x7fff + (bits >> 16 & 1);
  const bool isExact = (bits & 0xffff) == 0;
  const bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  if (isExact) return std::bit_cast<float>(bits >> 16);
  return std::bit_cast<float>(isNan ? bits >> 16 | 0x40 : (bits + rounding) >> 16);
}

} // namespace imbrex::launching
