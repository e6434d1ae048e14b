#include "backend/target/amdgpu/shuffle.h"

#include "backend/support/check.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

#include <array>

namespace imbrex::target::amdgpu {
namespace {

namespace Intrinsic = llvm::Intrinsic;
using llvm::Value;

// The DPP controls (AMD's ISA documents, "Data Parallel Processing", DPP_CTRL).
constexpr std::uint32_t kRowMirror = 0x140;
constexpr std::uint32_t kRowHalfMirror = 0x141;
constexpr std::uint32_t kRowXmask = 0x160; // plus the mask
constexpr std::uint32_t kAllRows = 0xf;    // row_mask and bank_mask: every lane takes part

/// quad_perm: for each of four lanes, two bits that say which lane of the quad it reads.
constexpr std::uint32_t quadPermutation(std::uint32_t mask) {
  std::uint32_t control = 0;
  for (std::uint32_t lane = 0; lane < 4; ++lane) control |= (lane ^ mask) << (2 * lane);
  return control;
}
static_assert(quadPermutation(0) == 0xe4, "the identity");

std::uint32_t dppControl(std::uint32_t mask) {
  if (mask < 4) return quadPermutation(mask);
  if (mask == 7) return kRowHalfMirror;
  if (mask == 15) return kRowMirror;
  return kRowXmask + mask;
}

Value *byDpp(Builder &b, Value *x, std::uint32_t mask) {
  Value *nothing = llvm::PoisonValue::get(b.getInt32Ty()); // for lanes that nobody writes: none
  return b.CreateIntrinsic(Intrinsic::amdgcn_update_dpp, {b.getInt32Ty()},
                           {nothing, x, b.getInt32(dppControl(mask)), b.getInt32(kAllRows),
                            b.getInt32(kAllRows), b.getTrue()});
}

/// Lane i of a row reads lane (i ^ mask) % 16 of the row beside it; the selectors hold four bits
/// for each of sixteen lanes.
Value *byPermlaneRows(Builder &b, Value *x, std::uint32_t mask) {
  std::uint64_t selector = 0;
  for (std::uint64_t lane = 0; lane < 16; ++lane) selector |= (lane ^ (mask & 15)) << (4 * lane);
  Value *nothing = llvm::PoisonValue::get(b.getInt32Ty());
  return b.CreateIntrinsic(Intrinsic::amdgcn_permlanex16, {b.getInt32Ty()},
                           {nothing, x, b.getInt32(static_cast<std::uint32_t>(selector)),
                            b.getInt32(static_cast<std::uint32_t>(selector >> 32)), b.getTrue(),
                            b.getTrue()});
}

/// ds_swizzle in bit mode: lane ((i & and) | or) ^ xor of 32, the masks five bits each from bit 0.
Value *bySwizzle(Builder &b, Value *x, std::uint32_t mask) {
  constexpr std::uint32_t kKeepAll = 0x1f;
  return b.CreateIntrinsic(Intrinsic::amdgcn_ds_swizzle, {},
                           {x, b.getInt32(mask << 10 | kKeepAll)});
}

/// v_permlane32_swap exchanges the upper half of its first operand with the lower half of its
/// second. Of x and x it makes (lower, lower) and (upper, upper).
Value *byPermlaneSwap(Builder &b, Value *x) {
  Value *both =
      b.CreateIntrinsic(Intrinsic::amdgcn_permlane32_swap, {}, {x, x, b.getFalse(), b.getFalse()});
  Value *isUpper = b.CreateICmpUGE(laneOf64(b), b.getInt32(32));
  return b.CreateSelect(isUpper, b.CreateExtractValue(both, 0), b.CreateExtractValue(both, 1));
}

} // namespace

Exchange cheapestExchange(llvm::AMDGPU::IsaVersion isa, std::uint32_t mask) {
  const bool hasRows = isa.Major >= 10;
  const bool hasSwap = isa.Major == 9 && isa.Minor == 5;
  if (mask < 4 || mask == 7 || mask == 15 || (hasRows && mask < 16)) return Exchange::Dpp;
  if (hasRows && mask < 32) return Exchange::PermlaneRows;
  if (mask < 32) return Exchange::Swizzle;
  return hasSwap && mask == 32 ? Exchange::PermlaneSwap : Exchange::Bpermute;
}

std::uint32_t cheapestMask(llvm::AMDGPU::IsaVersion isa, std::uint32_t mask, std::uint32_t alike) {
  std::uint32_t best = mask;
  // Every subset of the bits, the empty one last.
  for (std::uint32_t some = alike; some != 0; some = (some - 1) & alike)
    if (cheapestExchange(isa, mask ^ some) < cheapestExchange(isa, best)) best = mask ^ some;
  return best;
}

Value *exchange(Builder &b, llvm::AMDGPU::IsaVersion isa, Value *x, std::uint32_t mask) {
  switch (cheapestExchange(isa, mask)) {
  case Exchange::Dpp: return byDpp(b, x, mask);
  case Exchange::PermlaneRows: return byPermlaneRows(b, x, mask);
  case Exchange::Swizzle: return bySwizzle(b, x, mask);
  case Exchange::PermlaneSwap: return byPermlaneSwap(b, x);
  case Exchange::Bpermute: return fetch(b, x, b.CreateXor(laneOf64(b), mask));
  }
  IMBREX_UNREACHABLE("no exchange serves the mask {0}", mask);
}

Value *laneOf64(Builder &b) {
  Value *everyLane = b.getInt32(0xffffffff);
  Value *low = b.CreateIntrinsic(Intrinsic::amdgcn_mbcnt_lo, {}, {everyLane, b.getInt32(0)});
  return b.CreateIntrinsic(Intrinsic::amdgcn_mbcnt_hi, {}, {everyLane, low});
}

Value *fetch(Builder &b, Value *x, Value *lane) {
  Value *address = b.CreateShl(lane, 2); // ds_bpermute counts bytes
  return b.CreateIntrinsic(Intrinsic::amdgcn_ds_bpermute, {}, {address, x});
}

} // namespace imbrex::target::amdgpu
