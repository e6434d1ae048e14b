#pragma once

#include "backend/machine/mma.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

/// Calls of the intrinsics of backend/machine/mma.def. What stands around the fragments follows
/// from the row.
namespace imbrex::lower {

using MatrixValues = llvm::SmallVector<llvm::Value *, 8>;

/// The code for one row in a module.
class MatrixInstruction {
public:
  MatrixInstruction(llvm::Module &module, const machine::MmaInstruction &row);

  /// The sums of a fragment as the intrinsic takes and gives them, from its elements, in order.
  MatrixValues packSums(llvm::IRBuilder<> &b, llvm::ArrayRef<llvm::Value *> elements) const;
  MatrixValues unpackSums(llvm::IRBuilder<> &b, llvm::ArrayRef<llvm::Value *> packed) const;

  /// The operands' fragments, in registers as they come in the row's order: i32, or f64 where the
  /// elements are.
  struct Operands {
    llvm::ArrayRef<llvm::Value *> a, b;
    llvm::ArrayRef<llvm::Value *> scaleA = {}, scaleB = {}; ///< Of a row with block scales.
    std::int32_t scaleByteA = 0, scaleByteB = 0; ///< Where they begin, if the row can say it.
  };
  /// The sums, packed, with the product added.
  MatrixValues multiply(llvm::IRBuilder<> &b, Operands operands,
                        llvm::ArrayRef<llvm::Value *> sums) const;

private:
  const machine::MmaInstruction &row_;
  llvm::Function *intrinsic_;
  llvm::Type *sums_; ///< What the intrinsic gives.
};

} // namespace imbrex::lower
