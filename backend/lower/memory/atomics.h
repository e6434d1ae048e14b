#pragma once

#include "backend/ir/choices.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

/// Indivisible updates of one element, on every target. All values are bits: integers of the
/// element's width.
namespace imbrex::lower {

/// The element in memory, and what its update orders for whom.
struct AtomicPlace {
  llvm::Value *address;
  llvm::Align alignment;
  llvm::AtomicOrdering ordering;
  llvm::SyncScope::ID scope = llvm::SyncScope::System;
};

llvm::AtomicOrdering orderingOf(ir::MemoryOrder order);

/// An update of integers, or an exchange of any bits. Gives the old bits.
llvm::Value *emitAtomicUpdate(llvm::IRBuilder<> &builder, const AtomicPlace &place,
                              ir::AtomicKind kind, bool isSigned, llvm::Value *bits);

struct CompareExchangeResult {
  llvm::Value *old;
  llvm::Value *isDone;
};
/// Writes `desired` where memory holds `expected`.
CompareExchangeResult emitCompareExchange(llvm::IRBuilder<> &builder, const AtomicPlace &place,
                                          llvm::Value *expected, llvm::Value *desired);

/// An update that no instruction makes: computes the new bits of the old ones, and tries again
/// while another thread was faster. Gives the old bits.
llvm::Value *emitAtomicLoop(llvm::IRBuilder<> &builder, const AtomicPlace &place,
                            llvm::IntegerType *type,
                            llvm::function_ref<llvm::Value *(llvm::Value *old)> compute);

} // namespace imbrex::lower
