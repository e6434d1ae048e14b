#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

namespace imbrex::host {

/// What a loop carries from one trip to the next.
using Carried = llvm::SmallVector<llvm::Value *, 16>;
using LoopBody =
    llvm::function_ref<Carried(llvm::Value *index, llvm::ArrayRef<llvm::Value *> carried)>;

/// Append `for (i64 i = 0; i < trips; i += step) carried = body(i, carried)` and leave the builder
/// behind it. `trips` is from 1. Returns the values carried out.
Carried emitCountedLoop(llvm::IRBuilder<> &builder, llvm::Value *trips, std::int64_t step,
                        llvm::ArrayRef<llvm::Value *> initial, LoopBody body);

/// The same of `i` from `first` on while it is below `end`: of no trip, maybe.
Carried emitLoopFrom(llvm::IRBuilder<> &builder, llvm::Value *first, llvm::Value *end,
                     std::int64_t step, llvm::ArrayRef<llvm::Value *> initial, LoopBody body);

/// Append `if (!condition) body()` and leave the builder behind it.
void emitUnless(llvm::IRBuilder<> &builder, llvm::Value *condition,
                llvm::function_ref<void()> body);

} // namespace imbrex::host
