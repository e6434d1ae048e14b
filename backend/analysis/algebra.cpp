#include "backend/analysis/algebra.h"

namespace imbrex::analysis {

bool isElementwise(ir::OpKind kind) {
  if (kind == ir::OpKind::Bitcast) return false; // may change the number of elements
  const ir::TypeRule rule = ir::info(kind).typeRule;
  return rule == ir::TypeRule::SameAsOperands || rule == ir::TypeRule::Comparison ||
         rule == ir::TypeRule::Select || rule == ir::TypeRule::Cast;
}

} // namespace imbrex::analysis
