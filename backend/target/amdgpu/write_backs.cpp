#include "backend/target/amdgpu/write_backs.h"

#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/amdgpu/opcodes.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace imbrex::target::amdgpu {
namespace {

class WriteBackWaits final : public llvm::MachineFunctionPass {
public:
  static char ID;
  WriteBackWaits() : llvm::MachineFunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "waits for write-backs"; }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    const llvm::TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    llvm::SmallVector<llvm::MachineInstr *> found;
    for (llvm::MachineBasicBlock &block : function)
      for (llvm::MachineInstr &instruction : block)
        if (instructions.getName(instruction.getOpcode()) == "BUFFER_WBL2")
          found.push_back(&instruction);
    for (llvm::MachineInstr *writeBack : found) addWait(*writeBack, instructions);
    return !found.empty();
  }

private:
  static void addWait(llvm::MachineInstr &writeBack, const llvm::TargetInstrInfo &instructions) {
    constexpr std::uint32_t kCount = 0xc00f; // of s_waitcnt's operand, the bits of vmcnt
    const llvm::MCInstrDesc &wait = instructions.get(opcodeOf(instructions, "S_WAITCNT"));
    const llvm::MachineInstr *next = writeBack.getNextNode();
    const bool isThere = next != nullptr && next->getOpcode() == wait.getOpcode() &&
                         (next->getOperand(0).getImm() & kCount) == 0;
    if (isThere) return;
    llvm::BuildMI(*writeBack.getParent(), std::next(writeBack.getIterator()),
                  writeBack.getDebugLoc(), wait)
        .addImm(waitForLoads(0));
  }
};

char WriteBackWaits::ID = 0;

} // namespace

llvm::Pass *makeWriteBackWaits() { return new WriteBackWaits; }

} // namespace imbrex::target::amdgpu
