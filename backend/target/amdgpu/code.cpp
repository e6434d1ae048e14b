#include "backend/target/amdgpu/code.h"

#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/amdgpu/signed_zeros.h"

namespace imbrex::target::amdgpu {

Result<llvm::SmallVector<char, 0>> generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                                                llvm::CodeGenFileType type) {
  prepareLoadsToLds(module);
  keepSignsOfZero(module, machine);
  return generate(module, machine, type);
}

} // namespace imbrex::target::amdgpu
