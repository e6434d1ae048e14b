#include "backend/target/host/arithmetic.h"
#include "llvm/IR/IntrinsicsX86.h"

#include <algorithm>

namespace imbrex::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

/// AVX-512's vrange is our minimum and maximum but for signalling NaNs, which lose their signal
/// first. Null where there is none for this type.
Value *rangeExtremum(Builder &b, bool isMax, bool firstIsQuiet, llvm::ArrayRef<Value *> x) {
  const auto *type = llvm::dyn_cast<llvm::FixedVectorType>(x[0]->getType());
  if (!type) return nullptr;
  const bool isDouble = type->getElementType()->isDoubleTy();
  const auto bits = type->getPrimitiveSizeInBits().getFixedValue();
  namespace Intrinsic = llvm::Intrinsic;
  Intrinsic::ID id = Intrinsic::not_intrinsic;
  if (bits == 128)
    id = isDouble ? Intrinsic::x86_avx512_mask_range_pd_128
                  : Intrinsic::x86_avx512_mask_range_ps_128;
  else if (bits == 256)
    id = isDouble ? Intrinsic::x86_avx512_mask_range_pd_256
                  : Intrinsic::x86_avx512_mask_range_ps_256;
  else if (bits == 512)
    id = isDouble ? Intrinsic::x86_avx512_mask_range_pd_512
                  : Intrinsic::x86_avx512_mask_range_ps_512;
  if (id == Intrinsic::not_intrinsic) return nullptr;
  const unsigned lanes = type->getNumElements();
  const auto quiet = [&](Value *operand) {
    return b.CreateUnaryIntrinsic(Intrinsic::canonicalize, operand);
  };
  llvm::SmallVector<Value *, 6> arguments{firstIsQuiet ? x[0] : quiet(x[0]), quiet(x[1])};
  constexpr std::uint32_t kSignOfResult = 4, kMax = 1, kCurrentRounding = 4;
  arguments.push_back(b.getInt32(kSignOfResult | (isMax ? kMax : 0)));
  arguments.push_back(llvm::Constant::getNullValue(x[0]->getType()));
  arguments.push_back(llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8U, lanes))));
  if (bits == 512) arguments.push_back(b.getInt32(kCurrentRounding));
  return b.CreateIntrinsic(id, {}, arguments);
}

} // namespace

lower::NativeInstructions nativesOf(const HostMachine &machine) {
  return {.extremum = machine.hasRange ? rangeExtremum : nullptr};
}

} // namespace imbrex::host
