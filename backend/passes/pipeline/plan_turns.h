#pragma once

#include "backend/machine/machine.h"
#include "backend/passes/pipeline/loop_loads.h"
#include "backend/schedule/plan/ping_pong.h"

#include <cstdint>
#include <optional>
#include <string>

/// Whether halves of the warps take turns in a loop (take_turns.h), and how: the loop as the
/// planner of turns sees it (schedule/plan/ping_pong.h), which says where slots are filled.
namespace imbrex::passes::pipeline {

/// A trip of a product, cut along k. All that it loads is one piece, which comes at once.
struct TurnTrip {
  std::int32_t parts = 2;                 ///< Of k: each is read in a cluster of its own.
  std::int32_t slots = 1;                 ///< That loads fill; 1 where they are stored.
  bool areStored = false;                 ///< Loads go through registers.
  schedule::Cost load = {}, store = {};   ///< Of a trip, for all warps together;
  schedule::Cost read = {}, product = {}; ///< of a part.
};

/// In which cluster of a trip a slot is filled, and for how many trips later: of those that are
/// safe, what the planner takes.
schedule::LoadPlace placeOfFill(const TurnTrip &trip);

/// Why the halves of a block's warps cannot be a meeting apart in a loop of this kernel; empty:
/// they can.
std::string whyNotApart(const ir::Kernel &kernel, const ir::Op &loop,
                        const machine::Machine &machine);
/// Whether an op has to do with scalars alone: no thread needs another for it.
bool isOfScalars(const ir::Kernel &kernel, const ir::Op &op);

struct PlannedTurns {
  std::int32_t parts;
  std::string explanation; ///< For people.
};

/// The loads of a loop that fill so many slots, or one that they are stored into. Nothing where the
/// warps of the machine cannot, the loop is no single product, or it does not pay, with the reason
/// in `why`. What the loop itself asks for is done if it can be, whether it pays or not.
std::optional<PlannedTurns> planTurns(const ir::Kernel &kernel, ir::Op &loop,
                                      const LoopLoads &loads, std::int32_t slots,
                                      const machine::Machine &machine, std::string &why);

} // namespace imbrex::passes::pipeline
