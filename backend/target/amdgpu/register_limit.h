#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineFunction.h"

/// LLVM 22 obeys `amdgpu-num-vgpr` only down to the registers with which no more warps would fit
/// than shared memory lets: with fewer nothing would be won (GCNSubtarget::getBaseMaxNumVGPRs). But
/// what an author asks for is a maximum, and other kernels may be on the core. Once LLVM has read
/// how much shared memory a kernel has, this pass makes it forget that; it is asked for no other
/// thing behind instruction selection.
namespace imbrex::target::amdgpu {

inline constexpr llvm::StringRef kPassOfSelection = "amdgpu-isel";

/// Goes behind it.
bool forgetSharedMemory(llvm::MachineFunction &machine);

} // namespace imbrex::target::amdgpu
