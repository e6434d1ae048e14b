#pragma once

#include "llvm/IR/Module.h"

/// A word of halves from two words of which a condition says which is first: what lanes make of
/// their own word and of the one that they exchanged. LLVM 22.1 selects both words and takes the
/// halves from these, two instructions for a word; v_perm_b32 takes its halves by a register, which
/// a condition that stays the same decides once:
///
///   %a = select i1 %c, i32 %x, i32 %y                      %s = select i1 %c, i32 …, i32 …
///   %b = select i1 %c, i32 %y, i32 %x                      %w = perm(%y, %x, %s)
///   %w = %a's lower half, %b's lower half
///
/// Just before code is generated: the emulator runs what LLVM has optimised.
namespace imbrex::target::amdgpu {

void permuteSwappedHalves(llvm::Module &module);

} // namespace imbrex::target::amdgpu
