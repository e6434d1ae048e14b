#include "backend/target/nvptx/shifts.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

namespace imbrex::target::nvptx {
namespace {

namespace match = llvm::PatternMatch;

/// By what is not what was compared. A shift that was poison is a number now.
void takeLowBits(llvm::BinaryOperator &shift) {
  llvm::Value *amount = shift.getOperand(1);
  const std::uint64_t bits = shift.getType()->getScalarSizeInBits();
  shift.setOperand(1, llvm::IRBuilder<>(&shift).CreateAnd(amount, bits - 1));
}

bool isGuarded(const llvm::Instruction &shift) {
  return llvm::any_of(shift.users(), llvm::IsaPred<llvm::SelectInst>);
}

void prepare(llvm::Instruction &instruction) {
  if (!match::match(&instruction, match::m_LogicalShift(match::m_Value(), match::m_Value())))
    return;
  const bool isLeft = instruction.getOpcode() == llvm::Instruction::Shl;
  constexpr unsigned kWide = 64; // the amount is read as 32 bits; others are made of these
  const unsigned bits = instruction.getType()->getScalarSizeInBits();
  if (isLeft && match::match(instruction.getOperand(1), match::m_SpecificInt(bits - 1)))
    instruction.setHasNoSignedWrap(false);
  if (bits == kWide && !llvm::isa<llvm::Constant>(instruction.getOperand(1)) &&
      isGuarded(instruction))
    takeLowBits(llvm::cast<llvm::BinaryOperator>(instruction));
}

} // namespace

void prepareShifts(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) prepare(instruction);
}

} // namespace imbrex::target::nvptx
