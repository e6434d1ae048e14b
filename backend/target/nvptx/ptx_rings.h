#pragma once

#include "backend/target/codegen/code_graph.h"

namespace imbrex::target::nvptx {

/// What PTX does to rings: cp.async, its groups, and the block's barriers.
CodeGraph ringsOfPtx(llvm::StringRef ptx);

} // namespace imbrex::target::nvptx
