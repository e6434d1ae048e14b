#pragma once

#include "backend/ir/kernel.h"

#include <map>

namespace imbrex::analysis {

/// Rings whose oldest slot always has the number of another ring's, each with that one, which leads
/// no other: as those of one loop's loads.
///
///   %k = ring.slot %keys       read right behind each other, or neither;
///   %v = ring.slot %values     and of as many slots of as many bytes
///
/// One place in memory is then another one's at a distance, and threads keep one place for both.
/// What is filled next is not asked: that is done in branches, and of two that change one place
/// LLVM makes others, in which validate/ring_order.h can read no condition.
std::map<ir::ValueId, ir::ValueId> ringsInStep(const ir::Kernel &kernel);

} // namespace imbrex::analysis
