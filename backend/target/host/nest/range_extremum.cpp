#include "backend/target/host/arithmetic.h"
#include "backend/target/host/avx512.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace imbrex::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

constexpr Avx512Instruction kRange{
    {llvm::Intrinsic::x86_avx512_mask_range_ps_128, llvm::Intrinsic::x86_avx512_mask_range_ps_256,
     llvm::Intrinsic::x86_avx512_mask_range_ps_512},
    {llvm::Intrinsic::x86_avx512_mask_range_pd_128, llvm::Intrinsic::x86_avx512_mask_range_pd_256,
     llvm::Intrinsic::x86_avx512_mask_range_pd_512}};

/// AVX-512's vrange is our minimum and maximum but for signalling NaNs, which lose their signal
/// first. Null where there is none for this type.
Value *rangeExtremum(Builder &b, bool isMax, bool firstIsQuiet, llvm::ArrayRef<Value *> x) {
  if (!fillsAvx512(*x[0]->getType())) return nullptr;
  const auto quiet = [&](Value *operand) {
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::canonicalize, operand);
  };
  constexpr std::uint32_t kSignOfResult = 4, kMax = 1;
  return emitAvx512(b, kRange,
                    {firstIsQuiet ? x[0] : quiet(x[0]), quiet(x[1]),
                     b.getInt32(kSignOfResult | (isMax ? kMax : 0))});
}

} // namespace

lower::NativeInstructions nativesOf(const HostMachine &machine) {
  return {.extremum = machine.hasAvx512 ? rangeExtremum : nullptr};
}

} // namespace imbrex::host
