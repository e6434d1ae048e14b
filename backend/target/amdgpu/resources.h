#pragma once

#include "backend/target/gpu_target.h"

namespace imbrex::target::amdgpu {

/// What the metadata of a code object say of its one kernel (LLVM, AMDGPUUsage, "Code Object V3
/// Metadata"); none where it has no such note.
std::optional<Resources> resourcesOf(llvm::ArrayRef<char> image);
/// The same of an assembly, in which they stand as text.
std::optional<Resources> resourcesIn(llvm::StringRef assembly);

} // namespace imbrex::target::amdgpu
