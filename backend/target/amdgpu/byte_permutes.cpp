#include "backend/target/amdgpu/byte_permutes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Transforms/Utils/Local.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace imbrex::target::amdgpu {
namespace {

using llvm::Value;

constexpr std::size_t kBytes = 4; // of a word

bool isWordOfBytes(const Value &value) {
  const auto *type = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
  return type && type->getNumElements() == kBytes && type->getElementType()->isIntegerTy(8);
}

/// A byte of a word; none: of any.
struct Byte {
  Value *word = nullptr;
  std::size_t number = 0;
};

/// The byte through the shuffles of words that have brought it.
Byte byteOf(Value *word, std::size_t number) {
  while (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(word)) {
    Value *first = shuffle->getOperand(0);
    const int from = shuffle->getMaskValue(static_cast<unsigned>(number));
    if (from < 0) return {};
    if (!isWordOfBytes(*first)) break;
    const auto at = static_cast<std::size_t>(from);
    word = shuffle->getOperand(at < kBytes ? 0 : 1);
    number = at % kBytes;
  }
  return {word, number};
}

/// Shuffles of words that something else than such a shuffle wants.
bool isWanted(const llvm::Instruction &instruction) {
  return llvm::isa<llvm::ShuffleVectorInst>(instruction) && isWordOfBytes(instruction) &&
         llvm::any_of(instruction.users(), [](const llvm::User *user) {
           return !llvm::isa<llvm::ShuffleVectorInst>(user) || !isWordOfBytes(*user);
         });
}

/// The words of one block, whose pairs of columns are made once.
class WordPacker {
public:
  explicit WordPacker(llvm::BasicBlock &block) : b_(block.getContext()) {}

  /// The word in place of a shuffle; null where that is not worth it.
  Value *pack(llvm::Instruction &shuffle) {
    std::array<Byte, kBytes> bytes;
    llvm::SmallVector<Value *, kBytes> words;
    for (std::size_t i = 0; i < kBytes; ++i) {
      bytes[i] = byteOf(&shuffle, i);
      if (bytes[i].word == nullptr) return nullptr;
      if (!llvm::is_contained(words, bytes[i].word)) words.push_back(bytes[i].word);
    }
    constexpr std::size_t kFewest = 3; // of less LLVM makes a single instruction
    if (words.size() < kFewest || !llvm::all_of(words, [](Value *w) { return isWordOfBytes(*w); }))
      return nullptr;
    b_.SetInsertPoint(&shuffle);
    const Pair low = pairOf(bytes[0], bytes[1]), high = pairOf(bytes[2], bytes[3]);
    Value *word = permute(low.word, high.word,
                          {low.first, low.first + 1, kBytes + high.first, kBytes + high.first + 1});
    return b_.CreateBitCast(word, shuffle.getType());
  }

private:
  /// Two bytes side by side.
  struct Pair {
    Value *word;
    std::size_t first;
  };

  Pair pairOf(const Byte &low, const Byte &high) {
    const bool isColumn = low.number == high.number;
    const std::size_t even = low.number & ~std::size_t{1};
    Value *&word = pairs_[{low.word, high.word, isColumn ? even : low.number,
                           isColumn ? even + 1 : kBytes + high.number}];
    if (word == nullptr) {
      Value *first = wordOf(low.word), *second = wordOf(high.word);
      word = isColumn ? permute(first, second, {even, kBytes + even, even + 1, kBytes + even + 1})
                      : permute(first, second,
                                {low.number, kBytes + high.number, low.number, kBytes + high.number});
    }
    return {word, isColumn ? 2 * (low.number - even) : 0};
  }

  Value *wordOf(Value *bytes) { return b_.CreateBitCast(bytes, b_.getInt32Ty()); }

  /// Of the bytes of two words, counted from the first one's lowest.
  Value *permute(Value *first, Value *second, const std::array<std::size_t, kBytes> &bytes) {
    std::uint32_t selected = 0;
    for (std::size_t i = 0; i < kBytes; ++i)
      selected |= static_cast<std::uint32_t>(bytes[i]) << (8 * i);
    return b_.CreateIntrinsic(llvm::Intrinsic::amdgcn_perm, {},
                              {second, first, b_.getInt32(selected)});
  }

  llvm::IRBuilder<> b_;
  std::map<std::tuple<Value *, Value *, std::size_t, std::size_t>, Value *> pairs_;
};

} // namespace

void permuteBytes(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function) {
      WordPacker packer(block);
      llvm::SmallVector<llvm::WeakTrackingVH, 16> replaced;
      for (llvm::Instruction &instruction : block) {
        if (!isWanted(instruction)) continue;
        Value *word = packer.pack(instruction);
        if (word == nullptr) continue;
        instruction.replaceAllUsesWith(word);
        replaced.emplace_back(&instruction);
      }
      llvm::RecursivelyDeleteTriviallyDeadInstructions(replaced);
    }
}

} // namespace imbrex::target::amdgpu
