#pragma once

#include "backend/target/gpu_target.h"

namespace imbrex::target::nvptx {

/// What the assembler's remarks say (`ptxas -v`); none where they say nothing of a kernel.
std::optional<Resources> resourcesOf(llvm::StringRef remarks);

} // namespace imbrex::target::nvptx
