#pragma once

#include "llvm/IR/IRBuilder.h"

namespace imbrex::lower {

/// A table of pointers: where their addresses lie, and how many there are.
struct TableValues {
  llvm::Value *data;
  llvm::Value *size; // i64
};

/// The pointer with a number, an i64, as a value of type `pointer`. What is none of the table's
/// gets the null pointer that stands behind the others (ir::Argument), so that no branch is needed.
llvm::Value *tablePointer(llvm::IRBuilder<> &builder, const TableValues &table, llvm::Value *index,
                          llvm::Type *pointer);

} // namespace imbrex::lower
