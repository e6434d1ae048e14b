#include "backend/analysis/algebra.h"

namespace imbrex::analysis {

std::optional<ir::OpKind> exchanged(ir::OpKind kind) {
  using enum ir::OpKind;
  // Not a switch: of all the ops only these few have a partner.
  for (const ir::OpKind commutative :
       {Add, Mul, Min, Max, MinNan, MaxNan, MulHigh, And, Or, Xor, Eq, Ne})
    if (kind == commutative) return kind;
  for (const auto &[one, other] : {std::pair{Lt, Gt}, std::pair{Le, Ge}}) {
    if (kind == one) return other;
    if (kind == other) return one;
  }
  return std::nullopt;
}

bool isElementwise(ir::OpKind kind) {
  if (kind == ir::OpKind::Bitcast) return false; // may change the number of elements
  const ir::TypeRule rule = ir::info(kind).typeRule;
  return rule == ir::TypeRule::SameAsOperands || rule == ir::TypeRule::Comparison ||
         rule == ir::TypeRule::Select || rule == ir::TypeRule::Cast;
}

} // namespace imbrex::analysis
