#include "backend/target/amdgpu/loop_waits.h"

#include "backend/target/amdgpu/opcodes.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace imbrex::target::amdgpu {
namespace {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;
using Loop = std::vector<MachineBasicBlock *>;

constexpr llvm::StringLiteral kMayGo = "_soft";

/// Loads and accesses to LDS are in any loop that has a fence; stores cost a wait of their own.
bool isOfAccesses(llvm::StringRef wait, bool stores) {
  const bool isOfStores = wait.contains("VSCNT") || wait.contains("STORECNT");
  const bool isOfTranslation = wait.contains("XCNT");
  return isOfStores ? stores : !isOfTranslation;
}

bool storesIn(const Loop &loop) {
  return llvm::any_of(loop, [](const MachineBasicBlock *block) {
    return llvm::any_of(*block, [](const MachineInstr &instruction) {
      return instruction.mayStore() && !nameOf(instruction).starts_with("DS_");
    });
  });
}

bool keepWaits(const Loop &loop, const llvm::TargetInstrInfo &instructions) {
  const bool stores = storesIn(loop);
  bool changes = false;
  for (MachineBasicBlock *block : loop)
    for (MachineInstr &instruction : *block) {
      llvm::StringRef name = nameOf(instruction);
      if (!name.consume_back(kMayGo) || !isOfAccesses(name, stores)) continue;
      instruction.setDesc(instructions.get(opcodeOf(instructions, name)));
      changes = true;
    }
  return changes;
}

} // namespace

bool keepWaitsInLoops(llvm::MachineFunction &function) {
  bool changes = false;
  for (auto part = llvm::scc_begin(&function); !part.isAtEnd(); ++part)
    if (part.hasCycle()) changes |= keepWaits(*part, *function.getSubtarget().getInstrInfo());
  return changes;
}

} // namespace imbrex::target::amdgpu
