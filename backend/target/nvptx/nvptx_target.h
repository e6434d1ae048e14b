#pragma once

#include "backend/target/gpu_target.h"

#include <memory>

namespace imbrex::target::nvptx {

/// NVIDIA's GPUs: LLVM writes PTX, and NVIDIA's assembler makes the image of it (assembler.h).
std::unique_ptr<GpuTarget> makeTarget(const machine::Machine &machine);

} // namespace imbrex::target::nvptx
