#pragma once

#include "backend/passes/expand/expansion_recorder.h"
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
class Recorded {
public:
  Recorded() : Recorded(Scalar{}) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Recorded(Number number) : constant_(static_cast<Scalar>(number)) {}
  Recorded(ExpansionRecorder &recorder, ir::ValueId value) : recorder_(&recorder), value_(value) {}

  ExpansionRecorder *recorder() const { return recorder_; }
  Scalar constant() const { return constant_; }
  ir::ValueId in(ExpansionRecorder &recorder) const {
    if (recorder_) return value_;
    if constexpr (std::is_same_v<Scalar, bool>)
      return recorder.constant(kElement<bool>, constant_);
    else
      return recorder.constant(kElement<Scalar>, std::bit_cast<BitsOf<Scalar>>(constant_));
  }

#define IMBREX_OPERATOR(symbol, Kind)                                                              \
  friend Recorded operator symbol(const Recorded &a, const Recorded &b) {                          \
    if constexpr (requires(Scalar s) { s symbol s; })                                              \
      if (!a.recorder_ && !b.recorder_)                                                            \
        return Recorded(static_cast<Scalar>(a.constant_ symbol b.constant_));                      \
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
  friend Recorded operator-(const Recorded &a) { return write(ir::OpKind::Neg, a); }
  friend Recorded operator~(const Recorded &a) { return write(ir::OpKind::Not, a); }

  friend Recorded<bool> operator==(const Recorded &a, const Recorded &b) {
    return write<bool>(ir::OpKind::Eq, a, b);
  }
  friend Recorded<bool> operator!=(const Recorded &a, const Recorded &b) {
    return write<bool>(ir::OpKind::Ne, a, b);
  }
  friend Recorded<bool> operator<(const Recorded &a, const Recorded &b) {
    return write<bool>(ir::OpKind::Lt, a, b);
  }
  friend Recorded<bool> operator<=(const Recorded &a, const Recorded &b) {
    return write<bool>(ir::OpKind::Le, a, b);
  }
  friend Recorded<bool> operator>(const Recorded &a, const Recorded &b) {
    return write<bool>(ir::OpKind::Gt, a, b);
  }
  friend Recorded<bool> operator>=(const Recorded &a, const Recorded &b) {
    return write<bool>(ir::OpKind::Ge, a, b);
  }

  friend Recorded fma(const Recorded &a, const Recorded &b, const Recorded &c) {
    return write(ir::OpKind::Fma, a, b, c);
  }
  friend Recorded sqrt(const Recorded &a) { return write(ir::OpKind::Sqrt, a); }
  friend Recorded abs(const Recorded &a) { return write(ir::OpKind::Abs, a); }
  friend Recorded rint(const Recorded &a) { return write(ir::OpKind::Rint, a); }
  friend Recorded min(const Recorded &a, const Recorded &b) { return write(ir::OpKind::Min, a, b); }
  friend Recorded max(const Recorded &a, const Recorded &b) { return write(ir::OpKind::Max, a, b); }
  friend Recorded minOrNaN(const Recorded &a, const Recorded &b) {
    return write(ir::OpKind::MinNan, a, b);
  }
  friend Recorded maxOrNaN(const Recorded &a, const Recorded &b) {
    return write(ir::OpKind::MaxNan, a, b);
  }
  friend Recorded umulhi(const Recorded &a, const Recorded &b) {
    return write(ir::OpKind::MulHigh, a, b);
  }
  friend Recorded select(const Recorded<bool> &condition, const Recorded &a, const Recorded &b) {
    return write(ir::OpKind::Select, condition, a, b);
  }

private:
  /// An op of operands of which at least one is not constant.
  template <class Result = Scalar, class... Operands>
  static Recorded<Result> write(ir::OpKind kind, const Operands &...operands) {
    ExpansionRecorder *recorder = nullptr;
    ((recorder = recorder ? recorder : operands.recorder()), ...);
    IMBREX_CHECK(recorder, "'{0}' of constants alone should be computed", ir::info(kind).mnemonic);
    // Braces, for they say the order in which constants are written.
    const ir::ValueId values[] = {operands.in(*recorder)...};
    return {*recorder, recorder->op(kind, values, kElement<Result>)};
  }

  ExpansionRecorder *recorder_ = nullptr;
  ir::ValueId value_;
  Scalar constant_{};
};

template <class To, class From>
Recorded<To> converted(ir::OpKind kind, const Recorded<From> &x) {
  ExpansionRecorder *recorder = x.recorder();
  IMBREX_CHECK(recorder, "'{0}' of a constant should be computed", ir::info(kind).mnemonic);
  return {*recorder, recorder->op(kind, x.in(*recorder), kElement<To>)};
}
inline Recorded<float> toF32(const Recorded<double> &x) {
  return converted<float>(ir::OpKind::Cast, x);
}
inline Recorded<double> toF64(const Recorded<float> &x) {
  return converted<double>(ir::OpKind::Cast, x);
}

template <class To, class From>
Recorded<To> sameBits(const Recorded<From> &x) {
  if (!x.recorder()) return std::bit_cast<To>(x.constant());
  return converted<To>(ir::OpKind::Bitcast, x);
}
inline Recorded<std::uint32_t> bitsOf(const Recorded<float> &x) {
  return sameBits<std::uint32_t>(x);
}
inline Recorded<std::uint64_t> bitsOf(const Recorded<double> &x) {
  return sameBits<std::uint64_t>(x);
}
inline Recorded<float> floatOf(const Recorded<std::uint32_t> &x) { return sameBits<float>(x); }
inline Recorded<double> floatOf(const Recorded<std::uint64_t> &x) { return sameBits<double>(x); }

} // namespace imbrex::passes::expand
