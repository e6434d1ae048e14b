#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Write factors of products on matrix units that no trip of a loop changes, such as the queries of
/// attention, into shared memory once, in front of the loop; lowering would do so in each trip.
///
///   before                              after
///   %q = view.load … : f16[128x64] #0   %q = view.load … : f16[128x64] #0
///                                       ring.store %ring, %q
///                                       meet
///                                       %s = ring.slot %ring : shared<f16[128x64]> #1
///   for … {                             for … {
///     %d = dot %q, %k, %c                 %d = dot %s, %k, %c
///
/// In front of a store within another loop all threads meet, as some may read what the last trip
/// stored. What lies as fragments already stays in registers. What takes few registers, what there
/// is no room for, and what would keep blocks from the core, is held as fragments from in front of
/// the loop on (hold_factor.h).
///
/// Runs behind split-roles, when all other rings are there, and in front of order-products, which
/// asks where operands lie.
void storeFactors(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
