#pragma once

#include "backend/ir/op.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstddef>

namespace imbrex::passes::expand {

/// Put the ops of a block from `first` on, which are pure, into the order in which `values` ask for
/// them, operands from left to right; likewise in their regions.
///
/// An expansion is written as C++ expressions, whose operands each compiler evaluates in an order
/// of its own. What stands for an op must not depend on the compiler that built this one.
void orderByDemand(ir::Block &block, std::size_t first, llvm::ArrayRef<ir::ValueId> values);

} // namespace imbrex::passes::expand
