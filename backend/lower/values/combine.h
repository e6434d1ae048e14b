#pragma once

#include "backend/ir/combine.h"
#include "backend/lower/values/arithmetic.h"

/// How two elements become one in reductions and scans. The first is the left one.
namespace imbrex::lower {

/// The element in which a combine of such elements is accumulated: f32 for sums and products of f16
/// and bf16, which would otherwise stop growing.
ir::ElementKind accumulatorOf(ir::Combine combine, ir::ElementKind element);

/// Of argmin and argmax: a NaN, or the number that loses against every other.
llvm::Constant *identityOf(ir::Combine combine, ir::ElementKind element, llvm::Type *type);

/// What an exclusive scan begins with.
llvm::Constant *startOf(ir::Combine combine, ir::ElementKind element, llvm::Type *type);

llvm::Value *emitCombine(llvm::IRBuilder<> &builder, ir::Combine combine, ir::ElementKind element,
                         llvm::Value *a, llvm::Value *b, const NativeInstructions &natives);

/// The same where `a` is what such combines have given so far.
llvm::Value *emitAccumulate(llvm::IRBuilder<> &builder, ir::Combine combine,
                            ir::ElementKind element, llvm::Value *a, llvm::Value *b,
                            const NativeInstructions &natives);

/// A value and where it was found.
struct ValueWithIndex {
  llvm::Value *value;
  llvm::Value *index;
};
ValueWithIndex emitCombineArg(llvm::IRBuilder<> &builder, ir::Combine combine,
                              ir::ElementKind element, const ValueWithIndex &a,
                              const ValueWithIndex &b, const NativeInstructions &natives);

} // namespace imbrex::lower
