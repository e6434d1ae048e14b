#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

#include <array>

namespace imbrex::host {

/// An instruction of AVX-512 on floats that may leave lanes out, by its vectors' bits: 128, 256,
/// 512.
struct Avx512Instruction {
  std::array<llvm::Intrinsic::ID, 3> ofF32, ofF64;
};

/// Whether a type is that of such a vector of f32 or f64.
bool fillsAvx512(const llvm::Type &type);

/// Emits it for the lanes of a mask, or for all; 0 in others. The first operand's type is one that
/// fills a vector.
llvm::Value *emitAvx512(llvm::IRBuilder<> &b, const Avx512Instruction &instruction,
                        llvm::ArrayRef<llvm::Value *> operands, llvm::Value *mask = nullptr);

} // namespace imbrex::host
