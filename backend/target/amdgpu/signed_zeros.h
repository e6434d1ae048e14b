#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

/// Of a product that is rounded to 16 bits, LLVM 22.1 makes one instruction that multiplies, adds
/// +0 and rounds (its PR 214544 mends that). But −0 + 0 is +0: the sign of a product that is −0, or
/// rounds to it, would be lost. Adding −0 leaves every number as it is, at no further cost, so just
/// before code is generated
///
///   %p = fmul float %x, %y                   %p = fma(%x, %y, -0.0)
///   %r = fptrunc float %p to half            %r = fptrunc float %p to half
///
///   v_fma_mixlo_f16 v0, v0, v1, 0            v_fma_mixlo_f16 v0, v0, v1, s0    ; s0 = 0x80000000
///
/// The two roundings, to 32 bits and then to 16, are those of the two instructions either way.
namespace imbrex::target::amdgpu {

void keepSignsOfZero(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace imbrex::target::amdgpu
