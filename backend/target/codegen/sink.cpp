#include "backend/target/codegen/sink.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

namespace imbrex::target {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;

bool isMovable(const Instruction &instruction) {
  if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || instruction.isTerminator())
    return false;
  const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return !(call && call->isConvergent()) && !instruction.mayReadOrWriteMemory() &&
         !instruction.mayHaveSideEffects();
}

/// How many values would stay alive for an instruction's sake alone, were it moved down with all
/// that can be moved with it.
class LiveOperands {
public:
  explicit LiveOperands(llvm::Function &function) {
    for (BasicBlock *block : llvm::ReversePostOrderTraversal<llvm::Function *>(&function))
      for (Instruction &instruction : *block)
        if (isMovable(instruction)) note(instruction);
  }

  /// At most one, in place of the instruction's own.
  bool isLight(const Instruction &instruction) const { return light_.contains(&instruction); }

private:
  void note(const Instruction &instruction) {
    int kept = 0;
    for (const llvm::Value *operand : instruction.operands()) {
      const auto *made = llvm::dyn_cast<Instruction>(operand);
      if (made != nullptr && made->hasOneUse() && !none_.contains(made)) ++kept;
    }
    if (kept <= 1) light_.insert(&instruction);
    if (kept == 0) none_.insert(&instruction);
  }

  llvm::DenseSet<const Instruction *> light_, none_;
};

/// The block in which all asks for a value; null where there are several, or none.
BasicBlock *onlyUser(Instruction &instruction) {
  BasicBlock *only = nullptr;
  for (llvm::Use &use : instruction.uses()) {
    auto *user = llvm::cast<Instruction>(use.getUser());
    auto *phi = llvm::dyn_cast<llvm::PHINode>(user);
    BasicBlock *block = phi != nullptr ? phi->getIncomingBlock(use) : user->getParent();
    if (only != nullptr && block != only) return nullptr;
    only = block;
  }
  return only;
}

/// What costs nothing, or next to nothing, to compute again.
bool isCheap(const Instruction &instruction) {
  const auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
  return llvm::isa<llvm::CmpInst>(instruction) ||
         (address != nullptr && address->hasAllConstantIndices());
}

/// Gives each other block that asks for this instruction one of its own; whether there is any.
bool copyIntoUsers(Instruction &instruction) {
  llvm::SmallDenseMap<BasicBlock *, Instruction *, 4> copies;
  for (llvm::Use &use : llvm::make_early_inc_range(instruction.uses())) {
    auto *user = llvm::cast<Instruction>(use.getUser());
    if (llvm::isa<llvm::PHINode>(user) || user->getParent() == instruction.getParent()) continue;
    Instruction *&copy = copies[user->getParent()];
    if (copy == nullptr) {
      copy = instruction.clone();
      copy->insertBefore(user->getParent()->getFirstInsertionPt());
    }
    use.set(copy);
  }
  if (instruction.use_empty()) instruction.eraseFromParent();
  return !copies.empty();
}

} // namespace

bool computeWhereUsed(llvm::Function &function) {
  bool anyCopied = false;
  for (BasicBlock &block : function)
    for (Instruction &instruction : llvm::make_early_inc_range(block))
      if (isCheap(instruction)) anyCopied |= copyIntoUsers(instruction);
  return anyCopied;
}

void sinkLightly(llvm::Function &function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  const LiveOperands burdens(function);
  for (BasicBlock *block : llvm::post_order(&function.getEntryBlock()))
    for (Instruction &instruction : llvm::make_early_inc_range(llvm::reverse(*block))) {
      BasicBlock *to = burdens.isLight(instruction) ? onlyUser(instruction) : nullptr;
      if (to != nullptr && to != block && dominators.dominates(block, to) &&
          loops.getLoopFor(to) == loops.getLoopFor(block))
        instruction.moveBefore(to->getFirstInsertionPt());
    }
}

} // namespace imbrex::target
