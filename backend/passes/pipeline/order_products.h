#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Choose in which order each product on a matrix unit counts k, so that its operands are read
/// with the fewest cycles and instructions.
///
///   before                                      after
///   %z = dot %a, %b, %c [unit = "…", …]         %z = dot %a, %b, %c [unit = "…", …,
///                                                      depth_order = [0, 3, 1, 2, 4]]
///
/// A sum may take its terms in any order, as long as both operands are read in the same: then a
/// lane's elements can be neighbours in memory, 16 bytes at a time, though the instruction wants
/// them further apart; or be where the lane has them already, as sums of another product.
///
/// Runs when it is known which operands lie in slots and which in registers, and before
/// place-slots, which lays the slots out for those who read.
void orderProducts(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
