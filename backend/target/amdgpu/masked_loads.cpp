#include "backend/target/amdgpu/masked_loads.h"

#include "backend/target/amdgpu/opcodes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LivePhysRegs.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <array>

namespace imbrex::target::amdgpu {
namespace {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

class MaskedLoads {
public:
  explicit MaskedLoads(const llvm::MachineFunction &function)
      : registers_(*function.getSubtarget().getRegisterInfo()) {}

  /// The one at the end of `block`, if what it goes around may as well be done.
  bool removeBranch(MachineBasicBlock &block) const {
    if (block.empty() || nameOf(block.back()) != "S_CBRANCH_EXECZ") return false;
    MachineBasicBlock *around = block.getNextNode();
    MachineBasicBlock *after = block.back().getOperand(0).getMBB();
    const bool isAlone = around != nullptr && around->pred_size() == 1 &&
                         block.isSuccessor(around) && around->succ_size() == 1 &&
                         around->isSuccessor(after) && around->getNextNode() == after;
    if (!isAlone || !isCheap(*around, *after)) return false;
    block.back().eraseFromParent();
    block.removeSuccessor(after, /*NormalizeSuccProbs=*/true);
    return true;
  }

private:
  /// Loads, and little besides: a wave all of whose lanes are off pays for each.
  bool isCheap(const MachineBasicBlock &around, const MachineBasicBlock &after) const {
    constexpr int kMostOthers = 16;
    llvm::LivePhysRegs needed(registers_);
    findNeeded(after, needed);
    int others = 0;
    bool loads = false;
    for (const MachineInstr &instruction : around) {
      if (instruction.isMetaInstruction()) continue;
      const bool isLoad = isVectorLoad(instruction);
      if (!isLoad && !isArithmetic(instruction)) return false;
      if (!isLoad && ++others > kMostOthers) return false;
      if (changesWhatIsNeeded(instruction, needed)) return false;
      loads |= isLoad;
    }
    return loads;
  }

  static bool isVectorLoad(const MachineInstr &instruction) {
    const llvm::StringRef name = nameOf(instruction);
    const bool isToLds = name.contains("LDS"); // which are counted
    return !isToLds && !instruction.mayStore() &&
           llvm::any_of(kLoads, [&](llvm::StringRef start) { return name.starts_with(start); });
  }

  /// To read one lane of a vector is nothing of the kind: of no lane there is none.
  static bool isArithmetic(const MachineInstr &instruction) {
    const llvm::StringRef name = nameOf(instruction);
    const bool isOfVectors = name.starts_with("V_") && !name.starts_with("V_READ");
    return (isOfVectors || name.starts_with("S_")) && !instruction.isTerminator() &&
           !instruction.isCall() && !instruction.mayLoadOrStore() &&
           !instruction.hasUnmodeledSideEffects();
  }

  /// Each register by itself; what a block lists is whole vectors of them.
  static void findNeeded(const MachineBasicBlock &block, llvm::LivePhysRegs &needed) {
    needed.addLiveOuts(block);
    for (const MachineInstr &instruction : llvm::reverse(block)) needed.stepBackward(instruction);
  }

  /// Whether it writes a register of the whole wave's that has another value behind the branch. A
  /// vector's lanes are off.
  bool changesWhatIsNeeded(const MachineInstr &instruction,
                           const llvm::LivePhysRegs &needed) const {
    const llvm::MachineRegisterInfo &function = instruction.getMF()->getRegInfo();
    return llvm::any_of(instruction.all_defs(), [&](const llvm::MachineOperand &made) {
      const llvm::MCRegister written = made.getReg().asMCReg();
      if (registers_.isDivergentRegClass(registers_.getMinimalPhysRegClass(written))) return false;
      const auto isPartNeeded = [&](llvm::MCRegister part) { return needed.contains(part); };
      return llvm::any_of(registers_.subregs_inclusive(written), isPartNeeded) ||
             isAlwaysNeeded(written, function);
    });
  }

  /// Of these nobody says where they are needed, such as the mask of the lanes. Not so VCC, which
  /// is among them where it is wider than a mask, and where nothing can be written.
  bool isAlwaysNeeded(llvm::MCRegister written, const llvm::MachineRegisterInfo &function) const {
    return function.isReserved(written) && !function.isConstantPhysReg(written) &&
           !llvm::StringRef(registers_.getName(written)).starts_with("VCC");
  }

  static constexpr std::array<llvm::StringLiteral, 5> kLoads{"GLOBAL_LOAD_", "FLAT_LOAD_",
                                                             "BUFFER_LOAD_", "DS_READ", "DS_LOAD"};
  const llvm::TargetRegisterInfo &registers_;
};

} // namespace

bool removeBranchesAroundLoads(llvm::MachineFunction &function) {
  const MaskedLoads loads(function);
  bool changes = false;
  for (MachineBasicBlock &block : function) changes |= loads.removeBranch(block);
  return changes;
}

} // namespace imbrex::target::amdgpu
