#pragma once

#include "llvm/IR/Module.h"

/// Bytes that lie in one register where they are loaded, and go from block to block, as those of
/// tiles that are loaded ahead. LLVM 22.1 hands each one on in a register of its own, four for one;
/// so they go as the words that they are:
///
///   %v = phi <4 x i8> [%a, …], [%b, …]        %w = phi i32 [bitcast %a, …], [bitcast %b, …]
///                                             %v = bitcast i32 %w to <4 x i8>
///
/// Just before code is generated: LLVM's optimiser would make it the first again.
namespace imbrex::target::amdgpu {

void carryBytesInWords(llvm::Module &module);

} // namespace imbrex::target::amdgpu
