#pragma once

#include "backend/target/gpu_target.h"

#include <memory>

namespace imbrex::target::amdgpu {

/// AMD's GPUs: LLVM writes assembly, its assembler makes an object file of that (assembler.h), and
/// lld the code object (linker.h).
std::unique_ptr<GpuTarget> makeTarget(const machine::Machine &machine);

} // namespace imbrex::target::amdgpu
