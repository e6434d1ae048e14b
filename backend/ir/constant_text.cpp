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

std::uint64_t allOnes(std::int32_t width) {
  return std::numeric_limits<std::uint64_t>::max() >> (64 - width);
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

launching::NumberForm::Specials specialsOf(ElementKind kind, const launching::NumberForm &form) {
  const auto nan = canonicalNan(kind);
  if (kind != ElementKind::E8M0 && llvm::APFloat::semanticsHasInf(floatFormat(kind)))
    return launching::NumberForm::Ieee;
  if (!nan) return launching::NumberForm::NoSpecials;
  const bool isMinusZero = *nan == std::uint64_t{1} << (form.bits - 1);
  return isMinusZero ? launching::NumberForm::MinusZeroNan : launching::NumberForm::AllOnesNan;
}

} // namespace

std::optional<std::uint64_t> canonicalNan(ElementKind kind) {
  if (kind == ElementKind::E8M0) return kScaleNan;
  if (!llvm::APFloat::semanticsHasNaN(floatFormat(kind))) return std::nullopt;
  return llvm::APFloat::getQNaN(floatFormat(kind)).bitcastToAPInt().getZExtValue();
}

launching::NumberForm numberForm(ElementKind kind) {
  using launching::NumberForm;
  NumberForm form{.family = NumberForm::Float,
                  .bits = static_cast<std::uint8_t>(info(kind).bits),
                  .exponentBits = 0,
                  .mantissaBits = 0,
                  .bias = 0,
                  .specials = NumberForm::NoSpecials};
  switch (info(kind).family) {
  case ElementFamily::Bool: form.family = NumberForm::Bool; return form;
  case ElementFamily::Signed: form.family = NumberForm::Signed; return form;
  case ElementFamily::Unsigned: form.family = NumberForm::Unsigned; return form;
  case ElementFamily::Float:
  case ElementFamily::NarrowFloat: break;
  }
  const llvm::fltSemantics &format = floatFormat(kind);
  const std::int32_t mantissaBits =
      static_cast<std::int32_t>(llvm::APFloat::semanticsPrecision(format)) - 1;
  const std::int32_t signBits = llvm::APFloat::semanticsHasSignedRepr(format) ? 1 : 0;
  form.mantissaBits = static_cast<std::uint8_t>(mantissaBits);
  form.exponentBits = static_cast<std::uint8_t>(info(kind).bits - signBits - mantissaBits);
  // The lowest exponent is that of the code 1, of powers of 2 that of the code 0.
  form.bias = static_cast<std::int16_t>((mantissaBits > 0 ? 1 : 0) -
                                        llvm::APFloat::semanticsMinExponent(format));
  form.specials = specialsOf(kind, form);
  return form;
}

std::string constantToText(const Type &type, std::uint64_t bits) {
  if (!type.isTile()) return launching::hexText(bits);
  const launching::NumberForm form = numberForm(type.element());
  const bool isNan = form.family == launching::NumberForm::Float && launching::isNan(form, bits);
  return isNan && bits != canonicalNan(type.element()) ? launching::hexText(bits)
                                                       : launching::elementText(form, bits);
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
