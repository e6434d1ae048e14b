#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"

namespace imbrex::target::amdgpu {

/// Carry what an instruction wants as a vector from block to block as one.
///
///   before                                  after
/// loop:                                   loop:
///   %a = phi float [0, …], [%x, %loop]      %s = phi <2 x float> [0, …], [%d, %loop]
///   %b = phi float [0, …], [%y, %loop]      %d = mfma …, %s
///   %v = insertelement …, %a, 0
///   %s = insertelement %v, %b, 1
///   %d = mfma …, %s
///   %x = extractelement %d, 0
///   %y = extractelement %d, 1
///
/// A tile's elements are numbers of their own to us, and sums of matrix units have up to sixteen in
/// registers that follow each other. LLVM selects code block by block: it would copy each element
/// in front of a product and behind it, and then take a sixth of its time to leave the copies out.
///
/// Of other vectors, as of pairs of numbers in a function that branches, it is left to LLVM: there
/// they take more registers than their elements.
///
/// Runs on code as it is lowered, in front of LLVM's passes.
using WantsVectors = llvm::function_ref<bool(const llvm::Instruction &)>;
void carryVectors(llvm::Module &module, WantsVectors wantsVectors);

} // namespace imbrex::target::amdgpu
