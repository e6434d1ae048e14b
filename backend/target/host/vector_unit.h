#pragma once

#include <cstdint>

namespace imbrex::host {

/// How a processor multiplies bytes and adds up 32 bits (dot/bytes.h): its widest instruction.
enum class ByteProduct : std::uint8_t {
  Single,         ///< None: each is widened to 32 bits.
  Pairs,          ///< x86: two integers of 16 bits, pmaddwd.
  UnsignedSigned, ///< x86 with VNNI: four bytes without a sign by four with one, vpdpbusd.
  Alike,          ///< AArch64 with FEAT_DotProd: four of one kind, sdot and udot.
};

/// The SIMD registers of the CPU that code is made for. All that loops need to know of it.
struct VectorUnit {
  std::int32_t bits;      // of one register
  std::int32_t registers; // that a program can name
  ByteProduct byteProduct = ByteProduct::Single;

  /// Lanes of a register for elements of this many bits.
  std::int32_t lanes(std::int32_t elementBits) const { return bits / elementBits; }
};

} // namespace imbrex::host
