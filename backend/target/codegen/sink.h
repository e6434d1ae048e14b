#pragma once

#include "llvm/IR/Function.h"

namespace imbrex::target {

/// Move what only a later block asks for there, where no more values than before stay alive for it.
///
///   before                                  after
///   %at = getelementptr %rows, %i           br %inside, %load, %next
///   br %inside, %load, %next              load:
/// load:                                     %at = getelementptr %rows, %i
///   %x = load %at                           %x = load %at
///
/// An address is so computed where it is used, if at all, and out of what is there anyway. A sum of
/// two numbers that end in it stays: if it waited for the next load to be over, which stands in a
/// block of its own where it has a mask, all loaded numbers would wait in registers for one sum at
/// the end.
///
/// Runs on optimised code, in place of LLVM's two passes of this kind.
void sinkLightly(llvm::Function &function);

/// Compute a constant's distance from an address, and a condition, in each block that uses it.
///
///   before                                  after
///   %next = getelementptr %row, 64          br %loop
///   br %loop                              loop:
/// loop:                                     %next = getelementptr %row, 64
///   %x = load %next                         %x = load %next
///
/// Code is selected block by block: so the distance becomes part of the access, and the condition
/// of the branch, and neither needs a register from one block to the next. Says whether it has
/// changed anything.
///
/// Runs in a code generator, behind all that share such values again. LLVM's `codegenprepare` does
/// it too, and looks for much else: that took a twentieth of attention's compilation, and of a
/// filter's, whose addresses are sums of many parts, most.
bool computeWhereUsed(llvm::Function &function);

} // namespace imbrex::target
