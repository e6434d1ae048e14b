#include "backend/target/host/avx512.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::host {
namespace {

using llvm::Value;

constexpr std::uint64_t kLeastBits = 128, kMostBits = 512;
constexpr unsigned kLeastMask = 8;

/// As the instruction takes it: a bit for each lane, of which there are eight at least.
Value *maskBits(llvm::IRBuilder<> &b, unsigned lanes, Value *mask) {
  llvm::IntegerType *const bits = b.getIntNTy(std::max(kLeastMask, lanes));
  if (mask == nullptr) return llvm::Constant::getAllOnesValue(bits);
  if (lanes < kLeastMask) {
    llvm::SmallVector<int, kLeastMask> widened(kLeastMask, static_cast<int>(lanes)); // off
    for (unsigned lane = 0; lane < lanes; ++lane) widened[lane] = static_cast<int>(lane);
    mask = b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), widened);
  }
  return b.CreateBitCast(mask, bits);
}

} // namespace

bool fillsAvx512(const llvm::Type &type) {
  if (!llvm::isa<llvm::FixedVectorType>(type)) return false;
  const llvm::Type &element = *type.getScalarType();
  const std::uint64_t bits = type.getPrimitiveSizeInBits().getFixedValue();
  return (element.isFloatTy() || element.isDoubleTy()) && llvm::has_single_bit(bits) &&
         bits >= kLeastBits && bits <= kMostBits;
}

Value *emitAvx512(llvm::IRBuilder<> &b, const Avx512Instruction &instruction,
                  llvm::ArrayRef<Value *> operands, Value *mask) {
  auto &type = llvm::cast<llvm::FixedVectorType>(*operands[0]->getType());
  const std::uint64_t bits = type.getPrimitiveSizeInBits().getFixedValue();
  llvm::SmallVector<Value *, 6> arguments(operands);
  arguments.push_back(llvm::Constant::getNullValue(&type));
  arguments.push_back(maskBits(b, type.getNumElements(), mask));
  constexpr std::uint32_t kCurrentRounding = 4;
  if (bits == kMostBits) arguments.push_back(b.getInt32(kCurrentRounding));
  const auto &ofWidths =
      type.getElementType()->isDoubleTy() ? instruction.ofF64 : instruction.ofF32;
  const auto width = static_cast<std::size_t>(llvm::countr_zero(bits / kLeastBits));
  return b.CreateIntrinsic(ofWidths[width], {}, arguments);
}

} // namespace imbrex::host
