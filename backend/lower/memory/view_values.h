#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

namespace imbrex::lower {

/// A view argument, or a table of pointers, decoded once.
struct ViewValues {
  llvm::Value *data; ///< In global memory; the host's is an i64.
  llvm::SmallVector<llvm::Value *, 5> extents;
  llvm::SmallVector<llvm::Value *, 5> strides; ///< A table has none.
};

/// As a view of bytes: two elements along the last axis, which has stride 1, are one.
ViewValues viewOfBytes(llvm::IRBuilder<> &builder, ViewValues view);

/// The pointer with a number, an i64, as a value of type `pointer`. What is none of the table's
/// gets the null pointer that stands behind the others (ir::Argument), so that no branch is needed.
llvm::Value *tablePointer(llvm::IRBuilder<> &builder, const ViewValues &table, llvm::Value *index,
                          llvm::Type *pointer);

} // namespace imbrex::lower
