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

/// Bytes of whole words.
bool isOfBytes(const Value &value) {
  const auto *type = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
  return type && type->getNumElements() % kBytes == 0 && type->getElementType()->isIntegerTy(8);
}

std::size_t bytesIn(const Value &vector) {
  return llvm::cast<llvm::FixedVectorType>(vector.getType())->getNumElements();
}

/// A word of a vector of bytes, and a byte of it; none: any.
struct Byte {
  Value *vector = nullptr;
  std::size_t word = 0, number = 0;

  bool isOfWordOf(const Byte &other) const { return vector == other.vector && word == other.word; }
};

/// The byte through the shuffles of bytes that have brought it.
Byte byteOf(Value *vector, std::size_t number) {
  while (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(vector)) {
    if (!isOfBytes(*shuffle->getOperand(0))) break;
    const int from = shuffle->getMaskValue(static_cast<unsigned>(number));
    if (from < 0) return {};
    const auto at = static_cast<std::size_t>(from), bytes = bytesIn(*shuffle->getOperand(0));
    vector = shuffle->getOperand(at < bytes ? 0 : 1);
    number = at % bytes;
  }
  return {vector, number / kBytes, number % kBytes};
}

/// Shuffles of bytes that something else than such a shuffle wants.
bool isWanted(const llvm::Instruction &instruction) {
  return llvm::isa<llvm::ShuffleVectorInst>(instruction) && isOfBytes(instruction) &&
         llvm::any_of(instruction.users(), [](const llvm::User *user) {
           return !llvm::isa<llvm::ShuffleVectorInst>(user) || !isOfBytes(*user);
         });
}

using BytesOfWord = std::array<Byte, kBytes>;

/// From how many words a word has its bytes; none where one is any.
std::size_t wordsOf(const BytesOfWord &bytes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (bytes[i].vector == nullptr) return 0;
    const auto before = llvm::ArrayRef(bytes).take_front(i);
    if (llvm::none_of(before, [&](const Byte &other) { return bytes[i].isOfWordOf(other); }))
      ++count;
  }
  return count;
}

/// The words of one block, whose pairs of columns are made once.
class WordPacker {
public:
  explicit WordPacker(llvm::BasicBlock &block) : b_(block.getContext()) {}

  /// The same bytes in place of a shuffle; null where that is not worth it.
  Value *pack(llvm::Instruction &shuffle) {
    llvm::SmallVector<BytesOfWord, 4> words(bytesIn(shuffle) / kBytes);
    for (std::size_t i = 0; i < bytesIn(shuffle); ++i)
      words[i / kBytes][i % kBytes] = byteOf(&shuffle, i);
    constexpr std::size_t kFewest = 3; // of less LLVM makes a single instruction
    if (!llvm::all_of(words, [](const BytesOfWord &of) { return wordsOf(of) >= kFewest; }))
      return nullptr;
    b_.SetInsertPoint(&shuffle);
    auto *const type =
        llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(words.size()));
    Value *packed = llvm::PoisonValue::get(type);
    for (std::size_t i = 0; i < words.size(); ++i)
      packed = b_.CreateInsertElement(packed, wordOfBytes(words[i]), i);
    return b_.CreateBitCast(packed, shuffle.getType());
  }

private:
  /// Two bytes side by side.
  struct Pair {
    Value *word;
    std::size_t first;
  };

  Value *wordOfBytes(const BytesOfWord &bytes) {
    const Pair low = pairOf(bytes[0], bytes[1]), high = pairOf(bytes[2], bytes[3]);
    return permute(low.word, high.word,
                   {low.first, low.first + 1, kBytes + high.first, kBytes + high.first + 1});
  }

  Pair pairOf(const Byte &low, const Byte &high) {
    const bool isColumn = low.number == high.number;
    const std::size_t even = low.number & ~std::size_t{1};
    const std::array<std::size_t, kBytes> bytes =
        isColumn ? std::array{even, kBytes + even, even + 1, kBytes + even + 1}
                 : std::array{low.number, kBytes + high.number, low.number, kBytes + high.number};
    Value *&word = pairs_[{low.vector, low.word, high.vector, high.word, bytes[0], bytes[1]}];
    if (word == nullptr) word = permute(wordOf(low), wordOf(high), bytes);
    return {word, isColumn ? 2 * (low.number - even) : 0};
  }

  Value *wordOf(const Byte &byte) {
    auto *const type = llvm::FixedVectorType::get(
        b_.getInt32Ty(), static_cast<unsigned>(bytesIn(*byte.vector) / kBytes));
    return b_.CreateExtractElement(b_.CreateBitCast(byte.vector, type), byte.word);
  }

  /// Of the bytes of two words, counted from the first one's lowest.
  Value *permute(Value *first, Value *second, const std::array<std::size_t, kBytes> &bytes) {
    std::uint32_t selected = 0;
    for (std::size_t i = 0; i < kBytes; ++i)
      selected |= static_cast<std::uint32_t>(bytes[i]) << (8 * i);
    return b_.CreateIntrinsic(llvm::Intrinsic::amdgcn_perm, {},
                              {second, first, b_.getInt32(selected)});
  }

  llvm::IRBuilder<> b_;
  using PairKey = std::tuple<Value *, std::size_t, Value *, std::size_t, std::size_t, std::size_t>;
  std::map<PairKey, Value *> pairs_;
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
