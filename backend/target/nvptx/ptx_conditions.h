#pragma once

#include "backend/target/codegen/code_graph.h"
#include "llvm/ADT/StringRef.h"

namespace imbrex::target::nvptx {

/// Name what decides the jumps of a kernel by what it is computed from, in place of the register
/// that holds it: LLVM computes one condition again wherever it needs it, and may turn it around.
///
///   and.b32      %r37, %r3, 24;
///   setp.ne.b32  %p7, %r37, 0;       %p7 and %p19 are
///   and.b32      %r67, %r3, 24;      not eq(and.b32(%r3,24),0)
///   setp.ne.b32  %p19, %r67, 0;
///   setp.gt.u64  %p49, %rd1, 8;      not lt.u64(%rd1,9)
///   setp.lt.u64  %p55, %rd1, 9;      lt.u64(%rd1,9)
///
/// In the names numbers stand for the operands: two of one number are computed alike.
/// Registers that are set in several places, or from memory, stand for themselves.
/// So does a predicate that is computed from what a register held before it was set again. A
/// block's `sets`, which are all registers on the way in, are the conditions that depend on them on
/// the way out.
void nameConditions(CodeGraph &graph, llvm::StringRef ptx);

} // namespace imbrex::target::nvptx
