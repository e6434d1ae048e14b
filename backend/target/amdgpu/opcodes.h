#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/TargetInstrInfo.h"

namespace imbrex::target::amdgpu {

/// LLVM's numbers of opcodes are in no public header, their names are: `S_WAITCNT`. It must be one.
unsigned opcodeOf(const llvm::TargetInstrInfo &instructions, llvm::StringRef name);

} // namespace imbrex::target::amdgpu
