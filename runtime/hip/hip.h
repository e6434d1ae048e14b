#pragma once

#include "runtime/gpu/gpu.h"

/// AMD's GPUs, through HIP.
namespace imbrex::hip {

const gpu::Vendor &vendor();

/// A device of the first HIP that is at one of the paths. What it says is asked now.
Result<std::unique_ptr<gpu::Gpu>> openGpu(llvm::ArrayRef<std::string> paths, std::int32_t number);

} // namespace imbrex::hip
