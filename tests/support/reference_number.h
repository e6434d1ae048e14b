#pragma once

#include "backend/ir/types.h"

#include <cstdint>

/// The number formats from their parameters, in integer arithmetic alone: a second opinion on
/// conversions that shares nothing with the interpreter's.
namespace imbrex::semantics {

/// mantissa · 2^exponent, or what is no such number.
struct Number {
  enum class Kind : std::uint8_t { Finite, Infinite, Nan } kind = Kind::Finite;
  bool isNegative = false;
  std::uint64_t mantissa = 0;
  std::int32_t exponent = 0;
};

inline bool isAnyFloat(ir::ElementKind kind) {
  return ir::isFloat(kind) || ir::isNarrowFloat(kind);
}

Number decode(ir::ElementKind kind, std::uint64_t bits);

/// As docs/semantics.md says for conversions: to floats nearest even or toward zero, to narrow
/// floats saturating, to integers truncating and saturating, to bool whether it is not zero.
std::uint64_t encode(ir::ElementKind kind, const Number &number, bool isTowardZero = false);

/// Integers to narrower integers wrap and do not saturate, so conversions are not all
/// encode(decode).
std::uint64_t converted(ir::ElementKind from, ir::ElementKind to, std::uint64_t bits,
                        bool isTowardZero = false);

} // namespace imbrex::semantics
