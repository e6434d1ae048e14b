#pragma once

#include <cstdint>
#include <string>

/// The text of an element: what a print shows of it, and a constant of IR text.
namespace imbrex::launching {

/// How the bits of an element are a number. Libraries of kernels have such constants, so that this
/// layout is what both sides count on.
struct NumberForm {
  enum Family : std::uint8_t { Bool, Signed, Unsigned, Float };
  /// Which codes of a float are no numbers.
  enum Specials : std::uint8_t {
    Ieee,         ///< The highest exponent is infinity (mantissa 0) and NaN.
    AllOnesNan,   ///< All ones, whatever the sign; no infinity.
    MinusZeroNan, ///< The code of -0; no infinity.
    NoSpecials,
  };
  Family family;
  std::uint8_t bits; ///< Of an element, 1 to 64.
  std::uint8_t
      exponentBits; ///< Of a float, as what follows. All other bits but one are the sign's.
  std::uint8_t mantissaBits; ///< 0: it is a power of 2, without zero.
  std::int16_t bias;
  Specials specials;

  friend bool operator==(const NumberForm &, const NumberForm &) = default;
};
static_assert(sizeof(NumberForm) == 8);

/// Whether the bits of a float are a NaN's.
bool isNan(const NumberForm &form, std::uint64_t bits);

/// `true`, `-3`, the shortest decimal that reads back as the same float (a whole number below 1e7
/// in full), `inf`, `-inf`, `nan` for any NaN; bits that are no element's as `0x…`.
std::string elementText(const NumberForm &form, std::uint64_t bits);

/// `0x1f`
std::string hexText(std::uint64_t bits);

} // namespace imbrex::launching
