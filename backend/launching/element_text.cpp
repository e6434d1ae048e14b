#include "backend/launching/element_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace imbrex::launching {
namespace {

// Whole numbers from here on may print with an exponent.
constexpr double kLongWhole = 1e7;

std::uint64_t allOnes(int width) {
  return std::numeric_limits<std::uint64_t>::max() >> (64 - width);
}

/// Without the sign.
std::uint64_t magnitudeMask(const NumberForm &form) {
  return allOnes(form.exponentBits + form.mantissaBits);
}

/// Of those with infinities: behind it are NaNs.
std::uint64_t infinityOf(const NumberForm &form) {
  return magnitudeMask(form) - (allOnes(form.mantissaBits + 1) >> 1);
}

/// Of a code without its sign; exact. One behind the last number is what would come next.
double magnitudeOf(const NumberForm &form, std::uint64_t code) {
  const auto field = static_cast<int>(code >> form.mantissaBits);
  const std::uint64_t hidden = std::uint64_t{1} << form.mantissaBits;
  const std::uint64_t fraction = code & (hidden - 1);
  const bool isSubnormal = field == 0 && form.mantissaBits > 0;
  const int exponent = (isSubnormal ? 1 : field) - form.bias - form.mantissaBits;
  return std::ldexp(static_cast<double>(isSubnormal ? fraction : fraction | hidden), exponent);
}

std::string decimal(double value, int digits) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::general, digits)
                       .ptr;
  return {buffer.data(), end};
}

/// Infinite where it can't be read.
template <class Number>
Number read(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? value : std::numeric_limits<Number>::infinity();
}

/// Whether the decimal, of the value of a code, is nearer to it than to any other. Those of more
/// than 16 bits are read at once. Of others what lies halfway between two is a double, and never
/// what a decimal of theirs is read as, so that nothing is said of ties.
bool readsBack(const NumberForm &form, std::string_view text, double value, std::uint64_t code) {
  if (form.bits == 32) return read<float>(text) == static_cast<float>(value);
  const double number = read<double>(text);
  if (form.bits == 64 || form.mantissaBits == 0) return number == value;
  const double here = std::abs(value), there = std::abs(number);
  const double low = (magnitudeOf(form, code - 1) + here) / 2;
  const double high = (here + magnitudeOf(form, code + 1)) / 2;
  return low < there && there < high;
}

std::string floatText(const NumberForm &form, std::uint64_t bits) {
  if (isNan(form, bits)) return "nan";
  const std::uint64_t code = bits & magnitudeMask(form);
  const bool isNegative = code != bits;
  if (form.specials == NumberForm::Ieee && code == infinityOf(form))
    return isNegative ? "-inf" : "inf";
  const double magnitude = magnitudeOf(form, code), value = isNegative ? -magnitude : magnitude;
  constexpr int kMost = std::numeric_limits<double>::max_digits10;
  if (magnitude < kLongWhole && magnitude == std::trunc(magnitude)) return decimal(value, kMost);
  std::string text;
  for (int digits = 1; digits <= kMost; ++digits)
    if (text = decimal(value, digits); readsBack(form, text, value, code)) break;
  return text;
}

std::string integerText(const NumberForm &form, std::uint64_t bits) {
  if (form.family == NumberForm::Unsigned) return std::to_string(bits);
  const int unused = 64 - form.bits;
  return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
}

} // namespace

bool isNan(const NumberForm &form, std::uint64_t bits) {
  const std::uint64_t mask = magnitudeMask(form), code = bits & mask;
  switch (form.specials) {
  case NumberForm::Ieee: return code > infinityOf(form);
  case NumberForm::AllOnesNan: return code == mask;
  case NumberForm::MinusZeroNan: return bits == mask + 1;
  case NumberForm::NoSpecials: break;
  }
  return false;
}

std::string elementText(const NumberForm &form, std::uint64_t bits) {
  if (bits > allOnes(form.bits)) return hexText(bits);
  switch (form.family) {
  case NumberForm::Bool: return bits != 0 ? "true" : "false";
  case NumberForm::Signed:
  case NumberForm::Unsigned: return integerText(form, bits);
  case NumberForm::Float: break;
  }
  return floatText(form, bits);
}

std::string hexText(std::uint64_t bits) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bits, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

} // namespace imbrex::launching
