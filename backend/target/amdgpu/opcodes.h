#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"

namespace imbrex::target::amdgpu {

/// LLVM's numbers of opcodes are in no public header, their names are: `S_WAITCNT`.
llvm::StringRef nameOf(const llvm::MachineInstr &instruction);

/// It must be the name of one.
unsigned opcodeOf(const llvm::TargetInstrInfo &instructions, llvm::StringRef name);

} // namespace imbrex::target::amdgpu
