#include "backend/target/amdgpu/loop_waits.h"

#include "backend/target/amdgpu/opcodes.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace imbrex::target::amdgpu {
namespace {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

constexpr llvm::StringLiteral kMayGo = "_soft";

class LoopWaits final : public llvm::MachineFunctionPass {
public:
  static char ID;
  LoopWaits() : llvm::MachineFunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "waits of fences in loops"; }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    instructions_ = function.getSubtarget().getInstrInfo();
    bool changes = false;
    for (auto part = llvm::scc_begin(&function); !part.isAtEnd(); ++part)
      if (part.hasCycle()) changes |= keepWaits(*part);
    return changes;
  }

private:
  using Loop = std::vector<MachineBasicBlock *>;

  llvm::StringRef nameOf(const MachineInstr &instruction) const {
    return instructions_->getName(instruction.getOpcode());
  }

  bool keepWaits(const Loop &loop) const {
    const bool stores = storesIn(loop);
    bool changes = false;
    for (MachineBasicBlock *block : loop)
      for (MachineInstr &instruction : *block) {
        llvm::StringRef name = nameOf(instruction);
        if (!name.consume_back(kMayGo) || !isOfAccesses(name, stores)) continue;
        instruction.setDesc(instructions_->get(opcodeOf(*instructions_, name)));
        changes = true;
      }
    return changes;
  }

  /// Loads and accesses to LDS are in any loop that has a fence; stores cost a wait of their own.
  static bool isOfAccesses(llvm::StringRef wait, bool stores) {
    const bool isOfStores = wait.contains("VSCNT") || wait.contains("STORECNT");
    const bool isOfTranslation = wait.contains("XCNT");
    return isOfStores ? stores : !isOfTranslation;
  }

  bool storesIn(const Loop &loop) const {
    return llvm::any_of(loop, [&](const MachineBasicBlock *block) {
      return llvm::any_of(*block, [&](const MachineInstr &instruction) {
        return instruction.mayStore() && !nameOf(instruction).starts_with("DS_");
      });
    });
  }

  const llvm::TargetInstrInfo *instructions_ = nullptr;
};

char LoopWaits::ID = 0;

} // namespace

llvm::Pass *makeLoopWaits() { return new LoopWaits; }

} // namespace imbrex::target::amdgpu
