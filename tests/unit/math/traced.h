#pragma once

#include "backend/math/precision.h"

#include <concepts>

/// A value that can do nothing but the vocabulary of backend/math (no conversion to bool, no value
/// to branch on), as a type that records IR would; it computes at once, and counts.
namespace traced {

inline int operations = 0;
/// Whether `rarely` takes no branch, as on a machine where all elements go one way.
inline bool straightLine = false;

struct Bool {
  bool value;
};

template <class T>
struct Value {
  T value;

  Value() = default;
  Value(T constant) : value(constant) {}

  friend Value operator+(Value a, Value b) { return count(a.value + b.value); }
  friend Value operator-(Value a, Value b) { return count(a.value - b.value); }
  friend Value operator*(Value a, Value b) { return count(a.value * b.value); }
  friend Value operator/(Value a, Value b)
    requires std::floating_point<T>
  {
    return count(a.value / b.value);
  }
  friend Value operator-(Value a)
    requires std::floating_point<T>
  {
    return count(-a.value);
  }
  friend Value operator&(Value a, Value b)
    requires std::unsigned_integral<T>
  {
    return count(a.value & b.value);
  }
  friend Value operator|(Value a, Value b)
    requires std::unsigned_integral<T>
  {
    return count(a.value | b.value);
  }
  friend Value operator^(Value a, Value b)
    requires std::unsigned_integral<T>
  {
    return count(a.value ^ b.value);
  }
  friend Value operator<<(Value a, Value b)
    requires std::unsigned_integral<T>
  {
    return count(a.value << b.value);
  }
  friend Value operator>>(Value a, Value b)
    requires std::unsigned_integral<T>
  {
    return count(a.value >> b.value);
  }
  friend Bool operator<(Value a, Value b) { return {count(a.value < b.value)}; }
  friend Bool operator>(Value a, Value b) { return {count(a.value > b.value)}; }
  friend Bool operator>=(Value a, Value b) { return {count(a.value >= b.value)}; }
  friend Bool operator==(Value a, Value b) { return {count(a.value == b.value)}; }
  friend Bool operator!=(Value a, Value b) { return {count(a.value != b.value)}; }

  friend Value fma(Value a, Value b, Value c) {
    return count(imbrex::math::fma(a.value, b.value, c.value));
  }
  friend Value sqrt(Value x) { return count(imbrex::math::sqrt(x.value)); }
  friend Value abs(Value x) { return count(imbrex::math::abs(x.value)); }
  friend Value rint(Value x) { return count(imbrex::math::rint(x.value)); }
  friend Value min(Value a, Value b) { return count(imbrex::math::min(a.value, b.value)); }
  friend Value max(Value a, Value b) { return count(imbrex::math::max(a.value, b.value)); }
  friend Value minOrNaN(Value a, Value b) {
    return count(imbrex::math::minOrNaN(a.value, b.value));
  }
  friend Value maxOrNaN(Value a, Value b) {
    return count(imbrex::math::maxOrNaN(a.value, b.value));
  }
  friend Value select(Bool condition, Value a, Value b) {
    return count(condition.value ? a.value : b.value);
  }

private:
  template <class Result>
  static Result count(Result result) {
    ++operations;
    return result;
  }
};

using F32 = Value<float>;
using F64 = Value<double>;
using U32 = Value<std::uint32_t>;
using U64 = Value<std::uint64_t>;

inline U32 bitsOf(F32 x) { return imbrex::math::bitsOf(x.value); }
inline U64 bitsOf(F64 x) { return imbrex::math::bitsOf(x.value); }
inline F32 floatOf(U32 bits) { return imbrex::math::floatOf(bits.value); }
inline F64 floatOf(U64 bits) { return imbrex::math::floatOf(bits.value); }
inline F32 toF32(F64 x) { return ++operations, imbrex::math::toF32(x.value); }
inline F64 toF64(F32 x) { return ++operations, imbrex::math::toF64(x.value); }
inline U32 umulhi(U32 a, U32 b) { return ++operations, imbrex::math::umulhi(a.value, b.value); }

template <class ComputeRare, class T>
T rarely(Bool condition, ComputeRare computeRare, T common) {
  if (!straightLine && !condition.value) return common;
  return select(condition, computeRare(), common);
}

} // namespace traced
