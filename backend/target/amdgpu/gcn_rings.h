#pragma once

#include "backend/target/codegen/code_graph.h"

namespace imbrex::target::amdgpu {

/// What a GPU's own assembly does to rings: loads to LDS, waits for vmcnt, and the block's
/// barriers.
CodeGraph ringsOfAssembly(llvm::StringRef assembly);

} // namespace imbrex::target::amdgpu
