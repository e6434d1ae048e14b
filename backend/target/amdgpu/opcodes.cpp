#include "backend/target/amdgpu/opcodes.h"

#include "backend/support/check.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace imbrex::target::amdgpu {

llvm::StringRef nameOf(const llvm::MachineInstr &instruction) {
  return instruction.getMF()->getSubtarget().getInstrInfo()->getName(instruction.getOpcode());
}

unsigned opcodeOf(const llvm::TargetInstrInfo &instructions, llvm::StringRef name) {
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode)
    if (instructions.getName(opcode) == name) return opcode;
  IMBREX_UNREACHABLE("LLVM has no instruction {0}", name.str());
}

} // namespace imbrex::target::amdgpu
