#include "backend/interpret/block_run.h"
#include "backend/support/check.h"

namespace imbrex::interpret {

Flow runOp(BlockRun &run, const ir::Op &op) {
  switch (op.kind) {
#define IMBREX_OP(Kind, ...)                                                                       \
  case ir::OpKind::Kind: return run##Kind(run, op);
#define IMBREX_ELEMENTWISE(Kind, ...)                                                              \
  case ir::OpKind::Kind: return runElementwise(run, op);
#include "backend/ir/ops.def"
  }
  IMBREX_UNREACHABLE("not an op");
}

} // namespace imbrex::interpret
