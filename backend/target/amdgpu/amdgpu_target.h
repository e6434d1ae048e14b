#pragma once

#include "backend/target/gpu_target.h"

#include <memory>

namespace imbrex::target::amdgpu {

/// AMD's GPUs: LLVM writes the object file, and lld makes the code object of it (linker.h).
std::unique_ptr<GpuTarget> makeTarget(const machine::Machine &machine);

} // namespace imbrex::target::amdgpu
