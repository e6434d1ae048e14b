#pragma once

#include "backend/ir/types.h"
#include "llvm/IR/IRBuilder.h"

#include <cstdint>

namespace imbrex::lower {

/// Where a box begins along an axis, in elements: its coordinate, cast to i64 from an integer of
/// this kind, counts so many. A coordinate of 64 bits is first brought to where nothing is inside a
/// view and neither the product nor an element's place in the box overflows.
llvm::Value *boxStart(llvm::IRBuilder<> &builder, llvm::Value *coordinate, ir::ElementKind kind,
                      std::int64_t unit);

} // namespace imbrex::lower
