#include "backend/target/amdgpu/write_backs.h"

#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/amdgpu/opcodes.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace imbrex::target::amdgpu {
namespace {

void addWait(llvm::MachineInstr &writeBack, const llvm::TargetInstrInfo &instructions) {
  constexpr std::uint32_t kCount = 0xc00f; // of s_waitcnt's operand, the bits of vmcnt
  const llvm::MCInstrDesc &wait = instructions.get(opcodeOf(instructions, "S_WAITCNT"));
  const llvm::MachineInstr *next = writeBack.getNextNode();
  const bool isThere = next != nullptr && next->getOpcode() == wait.getOpcode() &&
                       (next->getOperand(0).getImm() & kCount) == 0;
  if (isThere) return;
  llvm::BuildMI(*writeBack.getParent(), std::next(writeBack.getIterator()), writeBack.getDebugLoc(),
                wait)
      .addImm(waitForLoads(0));
}

} // namespace

bool waitForWriteBacks(llvm::MachineFunction &function) {
  llvm::SmallVector<llvm::MachineInstr *> found;
  for (llvm::MachineBasicBlock &block : function)
    for (llvm::MachineInstr &instruction : block)
      if (nameOf(instruction) == "BUFFER_WBL2") found.push_back(&instruction);
  for (llvm::MachineInstr *writeBack : found)
    addWait(*writeBack, *function.getSubtarget().getInstrInfo());
  return !found.empty();
}

} // namespace imbrex::target::amdgpu
