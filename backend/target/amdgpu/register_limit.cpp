#include "backend/target/amdgpu/register_limit.h"

#include "llvm/IR/Function.h"

namespace imbrex::target::amdgpu {

bool forgetSharedMemory(llvm::MachineFunction &machine) {
  llvm::Function &function = machine.getFunction();
  if (function.hasFnAttribute("amdgpu-num-vgpr")) function.removeFnAttr("amdgpu-lds-size");
  return false;
}

} // namespace imbrex::target::amdgpu
