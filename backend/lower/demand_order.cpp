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
    Instruction *before = nullptr;
    for (Instruction *instruction : fixed_) {
      if (before) placeSumsOf(*before, *instruction);
      before = instruction;
      // What only other blocks ask for comes last, and it alone is asked for by name: what it is
      // made of comes when it wants it, and not for all elements before the first one's end.
      if (instruction->isTerminator())
        for (Instruction *other : free_)
          if (!isAskedForHere(*other)) place(other, *instruction);
      for (llvm::Value *operand : instruction->operands()) place(operand, *instruction);
    }
  }

private:
  /// In front of the next instruction what a matrix instruction's sums are added to, which end
  /// there: until somebody asks for that, all instructions' sums would wait.
  void placeSumsOf(Instruction &made, Instruction &next) {
    if (!made.getType()->isStructTy()) return;
    for (llvm::User *element : made.users()) {
      if (!llvm::isa<llvm::ExtractValueInst>(element) || !element->hasOneUse()) continue;
      auto *sum = llvm::dyn_cast<llvm::BinaryOperator>(*element->user_begin());
      if (sum && sum->getOpcode() == Instruction::FAdd && waiting_.contains(sum) &&
          llvm::all_of(sum->operands(), [&](const llvm::Use &x) { return endsIn(x, *element); }))
        place(sum, next);
    }
  }

  /// Whether a number is this element, or has its place, and nobody else asks for it.
  bool endsIn(const llvm::Value *number, const llvm::User &element) const {
    const auto *instruction = llvm::dyn_cast<Instruction>(number);
    if (!instruction || !instruction->hasOneUse()) return false;
    const bool isFromElsewhere =
        llvm::isa<llvm::PHINode>(instruction) ||
        instruction->getParent() != llvm::cast<Instruction>(element).getParent();
    return instruction == &element || isFromElsewhere ||
           (isFree(*instruction) && !waiting_.contains(instruction));
  }

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
