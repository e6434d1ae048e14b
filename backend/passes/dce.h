#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace imbrex::passes {

/// Drop what no effect depends on: ops, reads of memory, ifs and for loops, and single values that
/// a loop carries or an if gives.
///
///   before                                        after
///   %u = load %p                                  %r = for %lo, %hi, %one, %a (%i, %x) {
///   %r, %s = for %lo, %hi, %one, %a, %b             %1 = add %x, %x
///       (%i, %x, %y) {                              yield %1
///     %1 = add %x, %x                             }
///     %2 = add %y, %u                             store %q, %r
///     yield %1, %2
///   }
///   store %q, %r                                            <- %s and all that fed it is gone
///
/// A for loop always ends, so that an unused one goes; a while stays, because a kernel that hangs
/// must hang on every executor.
///
/// Runs late in a round, because folding and merging leave ops without users.
void dropDeadCode(ir::Kernel &kernel, const PassContext &context);

/// The same, where `isRoot` says which ops must stay though nobody uses their results.
void dropUnneeded(ir::Kernel &kernel, llvm::function_ref<bool(const ir::Op &)> isRoot);
/// Which are roots as the language has it.
bool hasEffect(const ir::Op &op);

} // namespace imbrex::passes
