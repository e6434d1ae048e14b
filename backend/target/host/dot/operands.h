#pragma once

#include "backend/ir/attributes.h"
#include "backend/ir/types.h"
#include "llvm/IR/IRBuilder.h"

#include <cstdint>

/// How the elements of a dot's operands become elements of its sum.
namespace imbrex::host {

/// Which part of an operand a product takes. The split precisions write x as big + small.
enum class DotPart : std::uint8_t {
  Whole,    // the element itself
  Tf32,     // rounded to 10 bits of mantissa, half away from zero
  Tf32Rest, // what that rounding left, rounded the same way
  Bf16,     // rounded to bf16, half to even
  Bf16Rest, // what that rounding left, rounded the same way
};

/// The LLVM type of an element in scratch: floats and integers as themselves, narrow floats and
/// bool as bytes.
llvm::Type *scratchElementType(llvm::LLVMContext &context, ir::ElementKind kind);

/// Load `lanes` neighbouring elements from `pointer` and convert them, exactly, to what a copy is
/// of; then take the part.
llvm::Value *loadDotElements(llvm::IRBuilder<> &builder, ir::ElementKind from, ir::ElementKind to,
                             DotPart part, llvm::Value *pointer, std::int64_t lanes);

} // namespace imbrex::host
