#include "backend/interpret/scalar.h"

#include "backend/math/elementary.h"
#include "backend/math/native.h"
#include "backend/support/check.h"
#include "llvm/ADT/APInt.h"

#include <array>
#include <bit>
#include <cmath>

namespace imbrex::interpret {
namespace {

using ir::ElementKind;
using ir::OpKind;

// ---- Integers, and bools as integers of one bit. Operands come extended, results are wrapped.

using Integer = std::int64_t;
using IntegerFunction = std::uint64_t (*)(Integer a, Integer b, ElementKind kind);

constexpr std::uint64_t bitsOf(Integer value) { return static_cast<std::uint64_t>(value); }

bool isLess(Integer a, Integer b, ElementKind kind) {
  return ir::isSigned(kind) ? a < b : bitsOf(a) < bitsOf(b);
}

std::uint64_t quotient(Integer a, Integer b, ElementKind kind) {
  if (b == 0) return 0;
  if (!ir::isSigned(kind)) return bitsOf(a) / bitsOf(b);
  return b == -1 ? 0 - bitsOf(a) : bitsOf(a / b);
}

std::uint64_t remainder(Integer a, Integer b, ElementKind kind) {
  return b == 0 ? 0 : bitsOf(a) - quotient(a, b, kind) * bitsOf(b);
}

std::uint64_t ceilQuotient(Integer a, Integer b, ElementKind kind) {
  const bool sameSign = !ir::isSigned(kind) || (a < 0) == (b < 0);
  return quotient(a, b, kind) + (remainder(a, b, kind) != 0 && sameSign ? 1 : 0);
}

std::uint64_t mulHigh(Integer a, Integer b, ElementKind kind) {
  const auto width = static_cast<unsigned>(ir::info(kind).bits);
  const llvm::APInt left(width, wrapped(bitsOf(a), kind)), right(width, wrapped(bitsOf(b), kind));
  return llvm::APIntOps::mulhu(left, right).getZExtValue();
}

std::uint64_t shiftLeft(Integer a, Integer b, ElementKind kind) {
  const std::uint64_t amount = wrapped(bitsOf(b), kind);
  return amount < static_cast<std::uint64_t>(ir::info(kind).bits) ? bitsOf(a) << amount : 0;
}

std::uint64_t shiftRight(Integer a, Integer b, ElementKind kind) {
  const std::uint64_t amount = wrapped(bitsOf(b), kind);
  const bool reachesWidth = amount >= static_cast<std::uint64_t>(ir::info(kind).bits);
  if (ir::isSigned(kind)) return bitsOf(a >> (reachesWidth ? 63 : amount));
  return reachesWidth ? 0 : bitsOf(a) >> amount;
}

// ---- Floats. f32 and f64 use the machine's operations; f16 and bf16 those of f64, rounded: f64
// has more than twice their precision and far more range, so that rounding twice is rounding once.
// (Not so for fma, which goes its own way below.)

template <class F>
using FloatFunction = F (*)(F a, F b, F c);

template <class F>
F nan() {
  return std::numeric_limits<F>::quiet_NaN();
}

struct LesserNumber {
  template <class F>
  F operator()(F a, F b, F) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return std::signbit(a) && a == b ? a : b < a || a == b ? b : a;
  }
};

struct GreaterNumber {
  template <class F>
  F operator()(F a, F b, F) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return std::signbit(a) && a == b ? b : a < b ? b : a;
  }
};

// ---- What each op does: a row.

struct OpSemantics {
  IntegerFunction integer = nullptr;
  FloatFunction<float> single = nullptr;
  FloatFunction<double> wide = nullptr;
  bool halvesAreSingle = false; // f16 and bf16 are computed in f32, by definition
};

using SemanticsTable = std::array<OpSemantics, 256>;

constexpr void defineIntegers(SemanticsTable &table) {
  const auto row = [&](OpKind kind, IntegerFunction integer) {
    table[static_cast<size_t>(kind)].integer = integer;
  };
  row(OpKind::Neg, [](Integer a, Integer, ElementKind) { return 0 - bitsOf(a); });
  row(OpKind::Abs, [](Integer a, Integer, ElementKind kind) {
    return isLess(a, 0, kind) ? 0 - bitsOf(a) : bitsOf(a);
  });
  row(OpKind::Not, [](Integer a, Integer, ElementKind) { return ~bitsOf(a); });
  row(OpKind::Add, [](Integer a, Integer b, ElementKind) { return bitsOf(a) + bitsOf(b); });
  row(OpKind::Sub, [](Integer a, Integer b, ElementKind) { return bitsOf(a) - bitsOf(b); });
  row(OpKind::Mul, [](Integer a, Integer b, ElementKind) { return bitsOf(a) * bitsOf(b); });
  row(OpKind::Div, quotient);
  row(OpKind::Rem, remainder);
  row(OpKind::CeilDiv, ceilQuotient);
  row(OpKind::Min,
      [](Integer a, Integer b, ElementKind kind) { return bitsOf(isLess(b, a, kind) ? b : a); });
  row(OpKind::Max,
      [](Integer a, Integer b, ElementKind kind) { return bitsOf(isLess(a, b, kind) ? b : a); });
  row(OpKind::MulHigh, mulHigh);
  row(OpKind::And, [](Integer a, Integer b, ElementKind) { return bitsOf(a & b); });
  row(OpKind::Or, [](Integer a, Integer b, ElementKind) { return bitsOf(a | b); });
  row(OpKind::Xor, [](Integer a, Integer b, ElementKind) { return bitsOf(a ^ b); });
  row(OpKind::Shl, shiftLeft);
  row(OpKind::Shr, shiftRight);
}

constexpr void defineFloats(SemanticsTable &table) {
  const auto row = [&](OpKind kind, auto function) {
    table[static_cast<size_t>(kind)].single = function;
    table[static_cast<size_t>(kind)].wide = function;
  };
  row(OpKind::Floor, [](auto a, auto, auto) { return std::floor(a); });
  row(OpKind::Ceil, [](auto a, auto, auto) { return std::ceil(a); });
  row(OpKind::Round, [](auto a, auto, auto) { return std::round(a); });
  row(OpKind::Rint, [](auto a, auto, auto) { return std::nearbyint(a); });
  row(OpKind::Trunc, [](auto a, auto, auto) { return std::trunc(a); });
  row(OpKind::Sqrt, [](auto a, auto, auto) { return std::sqrt(a); });
  row(OpKind::Add, [](auto a, auto b, auto) { return a + b; });
  row(OpKind::Sub, [](auto a, auto b, auto) { return a - b; });
  row(OpKind::Mul, [](auto a, auto b, auto) { return a * b; });
  row(OpKind::Div, [](auto a, auto b, auto) { return a / b; });
  row(OpKind::Rem, [](auto a, auto b, auto) { return std::fmod(a, b); });
  row(OpKind::Min, [](auto a, auto b, auto c) { return LesserNumber()(a, b, c); });
  row(OpKind::Max, [](auto a, auto b, auto c) { return GreaterNumber()(a, b, c); });
  row(OpKind::MinNan, [](auto a, auto b, auto c) {
    return std::isnan(a) || std::isnan(b) ? nan<decltype(a)>() : LesserNumber()(a, b, c);
  });
  row(OpKind::MaxNan, [](auto a, auto b, auto c) {
    return std::isnan(a) || std::isnan(b) ? nan<decltype(a)>() : GreaterNumber()(a, b, c);
  });
  row(OpKind::Fma, [](auto a, auto b, auto c) { return std::fma(a, b, c); });
}

constexpr void defineElementary(SemanticsTable &table) {
  const auto row = [&](OpKind kind, FloatFunction<float> single, FloatFunction<double> wide) {
    table[static_cast<size_t>(kind)] = {nullptr, single, wide, true};
  };
#define IMBREX_FUNCTION(Kind, name)                                                                \
  row(                                                                                             \
      OpKind::Kind, [](float x, float, float) { return math::name<math::Single>(x); },             \
      [](double x, double, double) { return math::name<math::Double>(x); })
  IMBREX_FUNCTION(Exp, exp);
  IMBREX_FUNCTION(Exp2, exp2);
  IMBREX_FUNCTION(Expm1, expm1);
  IMBREX_FUNCTION(Log, log);
  IMBREX_FUNCTION(Log2, log2);
  IMBREX_FUNCTION(Log1p, log1p);
  IMBREX_FUNCTION(Sin, sin);
  IMBREX_FUNCTION(Cos, cos);
  IMBREX_FUNCTION(Tan, tan);
  IMBREX_FUNCTION(Tanh, tanh);
  IMBREX_FUNCTION(Erf, erf);
  IMBREX_FUNCTION(Rsqrt, rsqrt);
#undef IMBREX_FUNCTION
}

constexpr SemanticsTable defineAll() {
  SemanticsTable table{};
  defineIntegers(table);
  defineFloats(table);
  defineElementary(table);
  return table;
}

constexpr SemanticsTable kMeanings = defineAll();

const OpSemantics &meaning(OpKind kind) { return kMeanings[static_cast<size_t>(kind)]; }

bool isComparison(OpKind kind) { return ir::info(kind).typeRule == ir::TypeRule::Comparison; }

/// What is left of a comparison once operands are ordered: `unordered` when either is NaN.
bool holds(OpKind kind, bool isLess, bool isEqual, bool isUnordered) {
  if (kind == OpKind::Eq) return isEqual;
  if (kind == OpKind::Ne) return !isEqual;
  if (kind == OpKind::Lt) return isLess;
  if (kind == OpKind::Le) return isLess || isEqual;
  if (kind == OpKind::Gt) return !isUnordered && !isLess && !isEqual;
  return !isUnordered && !isLess;
}

bool compare(OpKind kind, ElementKind element, std::uint64_t left, std::uint64_t right) {
  if (!ir::isFloat(element)) {
    const Integer a = extended(left, element), b = extended(right, element);
    return holds(kind, isLess(a, b, element), a == b, false);
  }
  const double a = toDouble(left, element), b = toDouble(right, element);
  return holds(kind, a < b, a == b, std::isnan(a) || std::isnan(b));
}

/// f16 and bf16: the sum of a product and a third can need more bits than f64 has.
std::uint64_t fusedMultiplyAdd(ElementKind element, llvm::ArrayRef<std::uint64_t> operands) {
  const auto number = [&](size_t i) {
    return llvm::APFloat(ir::floatFormat(element),
                         llvm::APInt(static_cast<unsigned>(ir::info(element).bits), operands[i]));
  };
  llvm::APFloat result = number(0);
  result.fusedMultiplyAdd(number(1), number(2), llvm::APFloat::rmNearestTiesToEven);
  return result.isNaN() ? nanBits(element) : result.bitcastToAPInt().getZExtValue();
}

std::uint64_t evaluateFloat(OpKind kind, ElementKind element,
                            llvm::ArrayRef<std::uint64_t> operands) {
  const std::uint64_t sign = std::uint64_t{1} << (ir::info(element).bits - 1);
  if (kind == OpKind::Neg) return operands[0] ^ sign;
  if (kind == OpKind::Abs) return operands[0] & ~sign;
  const bool isHalf = element == ElementKind::F16 || element == ElementKind::BF16;
  if (kind == OpKind::Fma && isHalf) return fusedMultiplyAdd(element, operands);
  std::array<double, 3> values{};
  for (size_t i = 0; i < operands.size(); ++i) values[i] = toDouble(operands[i], element);
  if (element == ElementKind::F64 || (isHalf && !meaning(kind).halvesAreSingle))
    return fromDouble(meaning(kind).wide(values[0], values[1], values[2]), element);
  const auto single = [&](size_t i) { return static_cast<float>(values[i]); };
  return fromDouble(meaning(kind).single(single(0), single(1), single(2)), element);
}

} // namespace

std::uint64_t evaluate(OpKind kind, ElementKind element, llvm::ArrayRef<std::uint64_t> operands) {
  IMBREX_CHECK(ir::isElementwise(kind), "'{0}' is not elementwise", ir::info(kind).mnemonic);
  if (kind == OpKind::Select) return operands[0] != 0 ? operands[1] : operands[2];
  if (isComparison(kind)) return compare(kind, element, operands[0], operands[1]);
  if (ir::isFloat(element)) return evaluateFloat(kind, element, operands);
  const IntegerFunction integer = meaning(kind).integer;
  IMBREX_CHECK(integer && !ir::isNarrowFloat(element), "'{0}' is not defined for {1}",
               ir::info(kind).mnemonic, ir::info(element).name);
  const Integer a = extended(operands[0], element);
  const Integer b = operands.size() > 1 ? extended(operands[1], element) : 0;
  return wrapped(integer(a, b, element), element);
}

} // namespace imbrex::interpret
