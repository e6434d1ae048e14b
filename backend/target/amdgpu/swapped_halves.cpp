#include "backend/target/amdgpu/swapped_halves.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace imbrex::target::amdgpu {
namespace {

using llvm::Value;

/// A word whose lower half is one of the first word's and whose upper half is one of the second's,
/// where the condition holds; else the words have changed places.
struct SwappedHalves {
  llvm::Instruction *condition;
  Value *first, *second;
  unsigned lower, upper; // 0 or 1: of its word
};

std::optional<SwappedHalves> swappedHalves(llvm::Instruction &instruction) {
  using namespace llvm::PatternMatch;
  auto *const shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction);
  if (!shuffle) return std::nullopt;
  auto *const halves = llvm::FixedVectorType::get(llvm::Type::getInt16Ty(shuffle->getContext()), 2);
  if (shuffle->getType() != halves || shuffle->getOperand(0)->getType() != halves)
    return std::nullopt;
  const int lower = shuffle->getMaskValue(0), upper = shuffle->getMaskValue(1);
  if (lower < 0 || lower > 1 || upper < 2) return std::nullopt;
  Value *condition = nullptr, *x = nullptr, *y = nullptr;
  if (!match(shuffle->getOperand(0),
             m_BitCast(m_Select(m_Value(condition), m_Value(x), m_Value(y)))) ||
      !match(shuffle->getOperand(1),
             m_BitCast(m_Select(m_Specific(condition), m_Specific(y), m_Specific(x)))))
    return std::nullopt;
  auto *const decides = llvm::dyn_cast<llvm::Instruction>(condition);
  if (!decides || !x->getType()->isIntegerTy(32)) return std::nullopt;
  return SwappedHalves{decides, x, y, static_cast<unsigned>(lower),
                       static_cast<unsigned>(upper - 2)};
}

/// The bytes of two words, counted from the first one's lowest, that v_perm_b32 takes.
std::uint32_t selected(unsigned lower, unsigned upper) {
  constexpr std::uint32_t kLowerHalf = 0x0100, kUpperHalf = 0x0302;
  const auto half = [](unsigned of) {
    const std::uint32_t inWord = of % 2 == 0 ? kLowerHalf : kUpperHalf;
    return of < 2 ? inWord : inWord + 0x0404;
  };
  return half(upper) << 16 | half(lower);
}

class Permuter {
public:
  Value *permute(llvm::Instruction &instruction, const SwappedHalves &halves) {
    llvm::IRBuilder<> b(&instruction);
    Value *const word = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_perm, {},
                                          {halves.second, halves.first, selectorOf(halves)});
    return b.CreateBitCast(word, instruction.getType());
  }

private:
  /// Where the condition is known: what stays the same in a loop is outside it.
  Value *selectorOf(const SwappedHalves &halves) {
    Value *&selector = selectors_[{halves.condition, 2 * halves.lower + halves.upper}];
    if (selector) return selector;
    llvm::IRBuilder<> b(halves.condition->getParent(),
                        *halves.condition->getInsertionPointAfterDef());
    return selector = b.CreateSelect(halves.condition,
                                     b.getInt32(selected(halves.lower, 2 + halves.upper)),
                                     b.getInt32(selected(2 + halves.lower, halves.upper)));
  }

  std::map<std::pair<llvm::Instruction *, unsigned>, Value *> selectors_;
};

} // namespace

void permuteSwappedHalves(llvm::Module &module) {
  for (llvm::Function &function : module) {
    Permuter permuter;
    llvm::SmallVector<llvm::WeakTrackingVH, 16> replaced;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (const auto halves = swappedHalves(instruction)) {
        instruction.replaceAllUsesWith(permuter.permute(instruction, *halves));
        replaced.emplace_back(&instruction);
      }
    llvm::RecursivelyDeleteTriviallyDeadInstructions(replaced);
  }
}

} // namespace imbrex::target::amdgpu
