#include "backend/interpret/scalar.h"
#include "backend/ir/constant_text.h"
#include "backend/support/check.h"
#include "llvm/ADT/APSInt.h"

#include <algorithm>
#include <bit>

// Every conversion goes through IEEE quad, which holds every value of every element exactly (64-bit
// integers included), and rounds once, on the way out of it.
namespace imbrex::interpret {
namespace {

using ir::ElementKind;
using llvm::APFloat;
using llvm::APInt;

constexpr std::int32_t kE8M0Bias = 127;
constexpr std::uint64_t kE8M0Largest = 0xfe, kE8M0Nan = 0xff;

bool isAnyFloat(ElementKind kind) { return ir::isFloat(kind) || ir::isNarrowFloat(kind); }

APFloat exactly(double value) {
  APFloat result(value);
  bool inexact = false;
  result.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &inexact);
  return result;
}

APFloat exactFloat(std::uint64_t bits, ElementKind kind) {
  if (kind == ElementKind::E8M0)
    return bits == kE8M0Nan ? APFloat::getNaN(APFloat::IEEEquad())
                            : scalbn(exactly(1.0), static_cast<int>(bits) - kE8M0Bias,
                                     APFloat::rmNearestTiesToEven);
  const auto width = static_cast<unsigned>(ir::info(kind).bits);
  APFloat result(ir::floatFormat(kind), APInt(width, bits));
  bool inexact = false;
  result.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &inexact);
  return result;
}

APFloat exactInteger(std::uint64_t bits, ElementKind kind) {
  const bool isSigned = ir::isSigned(kind);
  APFloat result(APFloat::IEEEquad());
  result.convertFromAPInt(APInt(64, static_cast<std::uint64_t>(extended(bits, kind))), isSigned,
                          APFloat::rmNearestTiesToEven);
  return result;
}

// A scale has neither sign nor zero: a negative number is none, and what is below 2^-127 is 2^-127.
std::uint64_t toE8M0(const APFloat &value, ir::Rounding rounding) {
  if (value.isZero()) return 0;
  if (value.isNegative()) return kE8M0Nan;
  if (value.isInfinity()) return kE8M0Largest;
  const int exponent = ilogb(value);
  const APFloat middle = scalbn(exactly(1.5), exponent, APFloat::rmNearestTiesToEven);
  const bool isUp = value > middle || (value == middle && (exponent + kE8M0Bias) % 2 != 0);
  const int code = exponent + kE8M0Bias + (rounding == ir::Rounding::NearestEven && isUp ? 1 : 0);
  return static_cast<std::uint64_t>(std::clamp(code, 0, static_cast<int>(kE8M0Largest)));
}

// Narrow floats saturate: nothing finite and no infinity becomes an infinity or a NaN.
APFloat saturated(const APFloat &value, ElementKind to) {
  APFloat largest = APFloat::getLargest(ir::floatFormat(to), value.isNegative());
  bool inexact = false;
  largest.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &inexact);
  return abs(value) > abs(largest) ? largest : value;
}

std::uint64_t toFloat(const APFloat &value, ElementKind to, ir::Rounding rounding) {
  if (value.isNaN()) return nanBits(to);
  if (to == ElementKind::E8M0) return toE8M0(value, rounding);
  APFloat result = ir::isNarrowFloat(to) ? saturated(value, to) : value;
  bool inexact = false;
  result.convert(ir::floatFormat(to),
                 rounding == ir::Rounding::NearestEven ? APFloat::rmNearestTiesToEven
                                                       : APFloat::rmTowardZero,
                 &inexact);
  return result.bitcastToAPInt().getZExtValue();
}

std::uint64_t toInteger(const APFloat &value, ElementKind to) {
  // convertToInteger saturates and makes 0 of NaN.
  llvm::APSInt result(static_cast<unsigned>(ir::info(to).bits), !ir::isSigned(to));
  bool exact = false;
  value.convertToInteger(result, APFloat::rmTowardZero, &exact);
  return result.getZExtValue();
}

} // namespace

std::int64_t extended(std::uint64_t bits, ElementKind kind) {
  if (!ir::isSigned(kind)) return static_cast<std::int64_t>(bits);
  const std::int32_t unused = 64 - ir::info(kind).bits;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

std::uint64_t wrapped(std::uint64_t value, ElementKind kind) {
  const std::int32_t unused = 64 - ir::info(kind).bits;
  return value << unused >> unused;
}

std::uint64_t nanBits(ElementKind kind) {
  constexpr std::uint64_t kLargestF4 = 0x7;
  return ir::canonicalNan(kind).value_or(kLargestF4);
}

double toDouble(std::uint64_t bits, ElementKind kind) {
  if (kind == ElementKind::F64) return std::bit_cast<double>(bits);
  if (kind == ElementKind::F32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(convert(bits, kind, ElementKind::F64));
}

std::uint64_t fromDouble(double value, ElementKind kind) {
  IMBREX_CHECK(ir::isFloat(kind), "only f16, bf16, f32 and f64 have arithmetic");
  if (value != value) return nanBits(kind);
  if (kind == ElementKind::F64) return std::bit_cast<std::uint64_t>(value);
  if (kind == ElementKind::F32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return convert(std::bit_cast<std::uint64_t>(value), ElementKind::F64, kind);
}

std::uint64_t convert(std::uint64_t bits, ElementKind from, ElementKind to, ir::Rounding rounding) {
  if (from == to) return bits;
  if (!isAnyFloat(from)) {
    if (to == ElementKind::Bool) return bits != 0;
    if (!isAnyFloat(to)) return wrapped(static_cast<std::uint64_t>(extended(bits, from)), to);
    return toFloat(exactInteger(bits, from), to, rounding);
  }
  const APFloat value = exactFloat(bits, from);
  if (to == ElementKind::Bool) return !value.isZero();
  if (!isAnyFloat(to)) return toInteger(value, to);
  return toFloat(value, to, rounding);
}

} // namespace imbrex::interpret
