#pragma once

#include "tests/codegen/kernel_table.h"

#include <functional>
#include <string>
#include <vector>

/// Loops marked `.pipelined`, at numbers of trips around the number of slots.
namespace imbrex::testing {

/// The slots that are tried; 0: the planner's choice.
inline constexpr int kPipelineSlots[] = {2, 3, 4, 5, 0};
/// The slots that a loop then has, or more of the planner's own choice than it takes in these.
constexpr int slotsAtMost(int slots) { return slots == 0 ? 8 : slots; }

/// A kernel in one depth; the launches differ in their arguments alone.
std::vector<TableKernel> pipelinedKernels(int slots);

/// Products with rings of 48 and 72 KB.
std::vector<TableKernel> largeProducts();

/// Two products a trip of multiply-adds, in a loop in a loop: of no trip, one that is not whole, as
/// many as go around the slots, and one more that is not whole.
std::vector<TableKernel> longTrips(int slots);

/// Two loops of two products a trip, one behind the other, in a loop: of numbers of trips around
/// the slots.
std::vector<TableKernel> loopsInRow(int slots);

/// Products of tiles whose extents are no powers of two, with b as it is and transposed.
std::vector<TableKernel> oddProducts();

/// Loops of which an engine can bring one tile, and the threads alone another.
std::vector<TableKernel> mixedLoads();

/// Products of what is read under hints, by whole boxes and beyond them.
std::vector<TableKernel> hintedLoads();

} // namespace imbrex::testing
