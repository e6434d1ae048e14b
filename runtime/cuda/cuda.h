#pragma once

#include "runtime/gpu/gpu.h"

/// NVIDIA's GPUs, through the driver alone.
namespace imbrex::cuda {

const gpu::Vendor &vendor();

/// A device of the first driver that is at one of the paths. What it says is asked now; code and
/// memory go into its primary context, which CUDA's runtime and all that is built on it share.
Result<std::unique_ptr<gpu::Gpu>> openGpu(llvm::ArrayRef<std::string> paths, std::int32_t number);

} // namespace imbrex::cuda
