#include "backend/passes/rewriting.h"

#include "backend/support/check.h"

namespace imbrex::passes {

ir::Op &yieldOf(ir::Block &region) {
  IMBREX_CHECK(!region.ops.empty() && region.ops.back()->kind == ir::OpKind::Yield,
               "a region ends in yield");
  return *region.ops.back();
}

} // namespace imbrex::passes
