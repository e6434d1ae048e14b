#pragma once

#include "backend/target/codegen/code_graph.h"

namespace imbrex::target::nvptx {

/// What PTX does to rings: cp.async, its groups, and the block's barriers; bulk copies of boxes,
/// and the barriers in shared memory at which they end.
CodeGraph ringsOfPtx(llvm::StringRef ptx);

} // namespace imbrex::target::nvptx
