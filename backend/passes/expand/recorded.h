#pragma once

#include "backend/passes/expand/recorder.h"
#include "backend/support/check.h"

#include <bit>
#include <concepts>
#include <type_traits>

/// Values that record what is done with them: the vocabulary of backend/math (native.h) spoken in
/// IR. A template of that folder, called with these, writes the ops that compute it.
namespace imbrex::passes::expand {

template <class Scalar>
inline constexpr ir::ElementKind kElement = ir::ElementKind::F32;
template <>
inline constexpr ir::ElementKind kElement<double> = ir::ElementKind::F64;
template <>
inline constexpr ir::ElementKind kElement<std::uint32_t> = ir::ElementKind::U32;
template <>
inline constexpr ir::ElementKind kElement<std::uint64_t> = ir::ElementKind::U64;
template <>
inline constexpr ir::ElementKind kElement<bool> = ir::ElementKind::Bool;

template <class Scalar>
using BitsOf = std::conditional_t<sizeof(Scalar) == 8, std::uint64_t, std::uint32_t>;

/// A tile of scalars that the kernel will compute, or one that is known now: a constant knows no
/// recorder, and is written where an op wants it.
template <class Scalar>
class Value {
public:
  Value() : Value(Scalar{}) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Value(Number number) : constant_(static_cast<Scalar>(number)) {}
  Value(Recorder &recorder, ir::ValueId value) : recorder_(&recorder), value_(value) {}

  Recorder *recorder() const { return recorder_; }
  Scalar constant() const { return constant_; }
  ir::ValueId in(Recorder &recorder) const {
    if (recorder_) return value_;
    if constexpr (std::is_same_v<Scalar, bool>)
      return recorder.constant(kElement<bool>, constant_);
    else
      return recorder.constant(kElement<Scalar>, std::bit_cast<BitsOf<Scalar>>(constant_));
  }

#define IMBREX_OPERATOR(symbol, Kind)                                                              \
  friend Value operator symbol(const Value &a, const Value &b) {                                   \
    if constexpr (requires(Scalar s) { s symbol s; })                                              \
      if (!a.recorder_ && !b.recorder_)                                                            \
        return Value(static_cast<Scalar>(a.constant_ symbol b.constant_));                         \
    return write(ir::OpKind::Kind, a, b);                                                          \
  }
  IMBREX_OPERATOR(+, Add)
  IMBREX_OPERATOR(-, Sub)
  IMBREX_OPERATOR(*, Mul)
  IMBREX_OPERATOR(/, Div)
  IMBREX_OPERATOR(&, And)
  IMBREX_OPERATOR(|, Or)
  IMBREX_OPERATOR(^, Xor)
  IMBREX_OPERATOR(<<, Shl)
  IMBREX_OPERATOR(>>, Shr)
#undef IMBREX_OPERATOR
  friend Value operator-(const Value &a) { return write(ir::OpKind::Neg, a); }
  friend Value operator~(const Value &a) { return write(ir::OpKind::Not, a); }

  friend Value<bool> operator==(const Value &a, const Value &b) {
    return write<bool>(ir::OpKind::Eq, a, b);
  }
  friend Value<bool> operator!=(const Value &a, const Value &b) {
    return write<bool>(ir::OpKind::Ne, a, b);
  }
  friend Value<bool> operator<(const Value &a, const Value &b) {
    return write<bool>(ir::OpKind::Lt, a, b);
  }
  friend Value<bool> operator<=(const Value &a, const Value &b) {
    return write<bool>(ir::OpKind::Le, a, b);
  }
  friend Value<bool> operator>(const Value &a, const Value &b) {
    return write<bool>(ir::OpKind::Gt, a, b);
  }
  friend Value<bool> operator>=(const Value &a, const Value &b) {
    return write<bool>(ir::OpKind::Ge, a, b);
  }

  friend Value fma(const Value &a, const Value &b, const Value &c) {
    return write(ir::OpKind::Fma, a, b, c);
  }
  friend Value sqrt(const Value &a) { return write(ir::OpKind::Sqrt, a); }
  friend Value abs(const Value &a) { return write(ir::OpKind::Abs, a); }
  friend Value rint(const Value &a) { return write(ir::OpKind::Rint, a); }
  friend Value min(const Value &a, const Value &b) { return write(ir::OpKind::Min, a, b); }
  friend Value max(const Value &a, const Value &b) { return write(ir::OpKind::Max, a, b); }
  friend Value minOrNaN(const Value &a, const Value &b) { return write(ir::OpKind::MinNan, a, b); }
  friend Value maxOrNaN(const Value &a, const Value &b) { return write(ir::OpKind::MaxNan, a, b); }
  friend Value umulhi(const Value &a, const Value &b) { return write(ir::OpKind::MulHigh, a, b); }
  friend Value select(const Value<bool> &condition, const Value &a, const Value &b) {
    return write(ir::OpKind::Select, condition, a, b);
  }

private:
  /// An op of operands of which at least one is not constant.
  template <class Result = Scalar, class... Operands>
  static Value<Result> write(ir::OpKind kind, const Operands &...operands) {
    Recorder *recorder = nullptr;
    ((recorder = recorder ? recorder : operands.recorder()), ...);
    IMBREX_CHECK(recorder, "'{0}' of constants alone should be computed", ir::info(kind).mnemonic);
    // Braces, for they say the order in which constants are written.
    const ir::ValueId values[] = {operands.in(*recorder)...};
    return {*recorder, recorder->op(kind, values, kElement<Result>)};
  }

  Recorder *recorder_ = nullptr;
  ir::ValueId value_;
  Scalar constant_{};
};

template <class To, class From>
Value<To> converted(ir::OpKind kind, const Value<From> &x) {
  Recorder *recorder = x.recorder();
  IMBREX_CHECK(recorder, "'{0}' of a constant should be computed", ir::info(kind).mnemonic);
  return {*recorder, recorder->op(kind, x.in(*recorder), kElement<To>)};
}
inline Value<float> toF32(const Value<double> &x) { return converted<float>(ir::OpKind::Cast, x); }
inline Value<double> toF64(const Value<float> &x) { return converted<double>(ir::OpKind::Cast, x); }

template <class To, class From>
Value<To> sameBits(const Value<From> &x) {
  if (!x.recorder()) return std::bit_cast<To>(x.constant());
  return converted<To>(ir::OpKind::Bitcast, x);
}
inline Value<std::uint32_t> bitsOf(const Value<float> &x) { return sameBits<std::uint32_t>(x); }
inline Value<std::uint64_t> bitsOf(const Value<double> &x) { return sameBits<std::uint64_t>(x); }
inline Value<float> floatOf(const Value<std::uint32_t> &x) { return sameBits<float>(x); }
inline Value<double> floatOf(const Value<std::uint64_t> &x) { return sameBits<double>(x); }

} // namespace imbrex::passes::expand
