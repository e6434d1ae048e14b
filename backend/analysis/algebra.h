#pragma once

#include "backend/ir/op.h"

#include <optional>
#include <utility>

namespace imbrex::analysis {

/// The op that gives the same with its two operands exchanged: itself where it is commutative, `gt`
/// for `lt`; none where there is no such op.
constexpr std::optional<ir::OpKind> exchanged(ir::OpKind kind) {
  using enum ir::OpKind;
  // Not a switch: of all the ops only these few have a partner.
  for (const ir::OpKind one : {Add, Mul, Min, Max, MinNan, MaxNan, MulHigh, And, Or, Xor, Eq, Ne})
    if (kind == one) return kind;
  for (const auto &[one, other] : {std::pair{Lt, Gt}, std::pair{Le, Ge}}) {
    if (kind == one) return other;
    if (kind == other) return one;
  }
  return std::nullopt;
}

constexpr bool isCommutative(ir::OpKind kind) { return exchanged(kind) == kind; }

} // namespace imbrex::analysis
