#include "backend/target/nvptx/shifts.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

namespace imbrex::target::nvptx {
namespace {

namespace match = llvm::PatternMatch;

bool isGuarded(const llvm::Instruction &shift) {
  return llvm::any_of(shift.users(), llvm::IsaPred<llvm::SelectInst>);
}

void prepare(llvm::Instruction &shift) {
  llvm::Value *amount = nullptr;
  if (!match::match(&shift, match::m_LogicalShift(match::m_Value(), match::m_Value(amount))))
    return;
  constexpr unsigned kWide = 64; // wider ones are made of these
  const unsigned bits = shift.getType()->getScalarSizeInBits();
  const bool isLeft = shift.getOpcode() == llvm::Instruction::Shl;
  if (isLeft && match::match(amount, match::m_SpecificInt(bits - 1)))
    shift.setHasNoSignedWrap(false);
  // What is compared is then no longer what is shifted by, and the comparison stays.
  if (bits == kWide && !llvm::isa<llvm::Constant>(amount) && isGuarded(shift))
    shift.setOperand(1, llvm::IRBuilder<>(&shift).CreateAnd(amount, kWide - 1));
}

} // namespace

void prepareShifts(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) prepare(instruction);
}

} // namespace imbrex::target::nvptx
