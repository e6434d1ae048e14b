#include "backend/lower/demand_order.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"

namespace imbrex::lower {
namespace {

using llvm::Instruction;

/// Whether an instruction may stand anywhere between what it needs and what needs it.
bool isFree(const Instruction &instruction) {
  if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator()) return false;
  if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isConvergent())
    return false;
  return !instruction.mayReadOrWriteMemory() && !instruction.mayHaveSideEffects();
}

class BlockOrder {
public:
  explicit BlockOrder(llvm::BasicBlock &block) {
    for (Instruction &instruction : block)
      if (isFree(instruction))
        waiting_.insert(&instruction);
      else if (!llvm::isa<llvm::PHINode>(instruction))
        fixed_.push_back(&instruction);
    for (Instruction &instruction : block)
      if (waiting_.contains(&instruction)) free_.push_back(&instruction);
  }

  void run() {
    for (Instruction *instruction : fixed_) {
      // What only other blocks ask for comes last, and it alone is asked for by name: what it is
      // made of comes when it wants it, and not for all elements before the first one's end.
      if (instruction->isTerminator())
        for (Instruction *other : free_)
          if (!isAskedForHere(*other)) place(other, *instruction);
      for (llvm::Value *operand : instruction->operands()) place(operand, *instruction);
    }
  }

private:
  /// By what has no place yet.
  bool isAskedForHere(const Instruction &instruction) const {
    return llvm::any_of(instruction.users(), [&](const llvm::User *user) {
      return waiting_.contains(llvm::cast<Instruction>(user));
    });
  }

  /// Put what a value is made of, and then itself, in front of an instruction.
  void place(llvm::Value *value, Instruction &before) {
    struct Visit {
      Instruction *instruction;
      unsigned operand = 0;
    };
    llvm::SmallVector<Visit, 16> visits; // on the heap, for expressions can be deep
    const auto enter = [&](llvm::Value *what) {
      auto *instruction = llvm::dyn_cast<Instruction>(what);
      if (instruction && waiting_.erase(instruction)) visits.push_back({instruction});
    };
    enter(value);
    while (!visits.empty()) {
      Visit &top = visits.back();
      if (top.operand < top.instruction->getNumOperands()) {
        enter(top.instruction->getOperand(top.operand++));
        continue;
      }
      top.instruction->moveBefore(before.getIterator());
      visits.pop_back();
    }
  }

  llvm::SmallVector<Instruction *, 32> fixed_;  // in order
  llvm::SmallVector<Instruction *, 0> free_;    // in order
  llvm::DenseSet<const Instruction *> waiting_; // free ones that have no place yet
};

} // namespace

void orderByDemand(llvm::Function &function) {
  for (llvm::BasicBlock &block : function) BlockOrder(block).run();
}

} // namespace imbrex::lower
