#include "backend/ir/constant_text.h"

#include "llvm/Support/Error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace imbrex::ir {
namespace {

constexpr std::int32_t kScaleBias = 127; // e8m0: 2^(bits - 127)
constexpr std::uint64_t kScaleNan = 0xff;

// Long enough for every f64 in full, and short enough that reading one is quick.
constexpr std::size_t kLongestNumber = 800;

// Whole numbers from here on may print with an exponent.
constexpr double kLongWhole = 1e7;

std::uint64_t allOnes(std::int32_t width) {
  return std::numeric_limits<std::uint64_t>::max() >> (64 - width);
}

std::string hex(std::uint64_t bits) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bits, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

/// `options`: from_chars' base, for integers.
template <class Number, class... Options>
std::optional<Number> number(std::string_view text, Options... options) {
  Number value{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, options...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

llvm::APFloat floatOf(ElementKind kind, std::uint64_t bits) {
  return {floatFormat(kind), llvm::APInt(static_cast<unsigned>(info(kind).bits), bits)};
}

std::string decimal(double value, int digits) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::general, digits)
                       .ptr;
  return {buffer.data(), end};
}

/// e8m0 holds no zero and no sign, which APFloat's decimal conversions do not expect.
std::optional<std::uint64_t> scaleFromText(std::string_view text) {
  const auto value = number<double>(text);
  if (!value || !(*value > 0) || !std::isfinite(*value)) return std::nullopt;
  const int exponent = std::ilogb(*value);
  if (std::ldexp(1.0, exponent) != *value) return std::nullopt;
  const int bits = exponent + kScaleBias;
  if (bits < 0 || bits >= static_cast<int>(kScaleNan)) return std::nullopt;
  return static_cast<std::uint64_t>(bits);
}

std::optional<std::uint64_t> infinityFromText(ElementKind kind, std::string_view text) {
  if (kind == ElementKind::E8M0 || !llvm::APFloat::semanticsHasInf(floatFormat(kind)))
    return std::nullopt;
  return llvm::APFloat::getInf(floatFormat(kind), text[0] == '-').bitcastToAPInt().getZExtValue();
}

std::optional<std::uint64_t> floatFromText(ElementKind kind, std::string_view text) {
  if (text == "nan") return canonicalNan(kind);
  if (text == "inf" || text == "-inf") return infinityFromText(kind, text);
  if (kind == ElementKind::E8M0) return scaleFromText(text);
  // from_chars is strict about syntax, APFloat only about what it asserts on.
  double syntax = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), syntax);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  llvm::APFloat value(floatFormat(kind));
  auto status = value.convertFromString(llvm::StringRef(text.data(), text.size()),
                                        llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return std::nullopt;
  }
  if ((*status & llvm::APFloat::opOverflow) || !value.isFinite()) return std::nullopt;
  return value.bitcastToAPInt().getZExtValue();
}

/// The fewest digits that read back as the same bits; a whole number that is not long in full, so
/// that 448 is not 4.5e+02.
std::string floatToText(ElementKind kind, std::uint64_t bits) {
  if (bits == canonicalNan(kind)) return "nan";
  const llvm::APFloat value = floatOf(kind, bits);
  if (value.isNaN()) return hex(bits);
  if (value.isInfinity()) return value.isNegative() ? "-inf" : "inf";
  const double wide = kind == ElementKind::E8M0
                          ? std::ldexp(1.0, static_cast<int>(bits) - kScaleBias)
                          : value.convertToDouble();
  if (std::abs(wide) < kLongWhole && wide == std::trunc(wide))
    return decimal(wide, std::numeric_limits<double>::max_digits10);
  for (int digits = 1; digits <= std::numeric_limits<double>::max_digits10; ++digits)
    if (std::string text = decimal(wide, digits); floatFromText(kind, text) == bits) return text;
  return hex(bits);
}

std::string integerToText(ElementKind kind, std::uint64_t bits) {
  if (!isSigned(kind)) return std::to_string(bits);
  const std::int32_t unused = 64 - info(kind).bits;
  return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::optional<std::uint64_t> integerFromText(ElementKind kind, std::string_view text) {
  const std::int32_t width = info(kind).bits;
  if (!isSigned(kind)) {
    const auto value = number<std::uint64_t>(text);
    if (!value || *value > allOnes(width)) return std::nullopt;
    return value;
  }
  const auto value = number<std::int64_t>(text);
  const auto highest = static_cast<std::int64_t>(allOnes(width) >> 1);
  if (!value || *value > highest || *value < -highest - 1) return std::nullopt;
  return static_cast<std::uint64_t>(*value) & allOnes(width);
}

} // namespace

std::optional<std::uint64_t> canonicalNan(ElementKind kind) {
  if (kind == ElementKind::E8M0) return kScaleNan;
  if (!llvm::APFloat::semanticsHasNaN(floatFormat(kind))) return std::nullopt;
  return llvm::APFloat::getQNaN(floatFormat(kind)).bitcastToAPInt().getZExtValue();
}

std::string constantToText(const Type &type, std::uint64_t bits) {
  const ElementKind kind = type.element();
  if (!type.isTile() || bits > allOnes(info(kind).bits)) return hex(bits);
  switch (info(kind).family) {
  case ElementFamily::Bool: return bits != 0 ? "true" : "false";
  case ElementFamily::Signed:
  case ElementFamily::Unsigned: return integerToText(kind, bits);
  case ElementFamily::Float:
  case ElementFamily::NarrowFloat: return floatToText(kind, bits);
  }
  return hex(bits);
}

std::optional<std::uint64_t> constantFromText(const Type &type, std::string_view text) {
  if (text.size() > kLongestNumber) return std::nullopt;
  const ElementKind kind = type.element();
  if (text.starts_with("0x")) {
    // Bits that are too many for the type parse, so that the verifier can say by how much.
    return number<std::uint64_t>(text.substr(2), 16);
  }
  if (!type.isTile()) return std::nullopt;
  switch (info(kind).family) {
  case ElementFamily::Bool:
    if (text != "true" && text != "false") return std::nullopt;
    return text == "true" ? 1 : 0;
  case ElementFamily::Signed:
  case ElementFamily::Unsigned: return integerFromText(kind, text);
  case ElementFamily::Float:
  case ElementFamily::NarrowFloat: return floatFromText(kind, text);
  }
  return std::nullopt;
}

} // namespace imbrex::ir
