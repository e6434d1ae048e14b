#pragma once

#include "backend/target/gpu_target.h"
#include "llvm/ADT/StringRef.h"

namespace imbrex::target::amdgpu {

/// The code object that the driver loads, of one relocatable object file: lld, as a library.
Result<ObjectCode> link(llvm::StringRef object, const machine::Machine &machine);

} // namespace imbrex::target::amdgpu
