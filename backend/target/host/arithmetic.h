#pragma once

#include "backend/lower/combine.h"

/// What all targets compute with, told what this machine's processor does better.
namespace imbrex::host {

extern const lower::Natives kNatives;

using lower::accumulatorOf;
using lower::identityOf;
using lower::Indexed;
using lower::lanesLike;
using lower::laneType;
using lower::splatBits;
using lower::startOf;

inline llvm::Value *emitElementwise(llvm::IRBuilder<> &b, ir::OpKind kind, ir::ElementKind element,
                                    llvm::ArrayRef<llvm::Value *> operands) {
  return lower::emitElementwise(b, kind, element, operands, kNatives);
}
inline llvm::Value *emitCast(llvm::IRBuilder<> &b, ir::ElementKind from, ir::ElementKind to,
                             ir::Rounding rounding, llvm::Value *x) {
  return lower::emitCast(b, from, to, rounding, x, kNatives);
}
inline llvm::Value *emitCombine(llvm::IRBuilder<> &builder, ir::Combine combine,
                                ir::ElementKind element, llvm::Value *a, llvm::Value *b) {
  return lower::emitCombine(builder, combine, element, a, b, kNatives);
}
inline llvm::Value *emitAccumulate(llvm::IRBuilder<> &builder, ir::Combine combine,
                                   ir::ElementKind element, llvm::Value *a, llvm::Value *b) {
  return lower::emitAccumulate(builder, combine, element, a, b, kNatives);
}
inline Indexed emitCombineArg(llvm::IRBuilder<> &builder, ir::Combine combine,
                              ir::ElementKind element, const Indexed &a, const Indexed &b) {
  return lower::emitCombineArg(builder, combine, element, a, b, kNatives);
}

} // namespace imbrex::host
