#pragma once

#include "backend/ir/kernel.h"
#include "backend/layout/vector_width.h"
#include "backend/machine/machine.h"

#include <cstdint>
#include <optional>

namespace imbrex::analysis {

/// The copies by which each thread fills a slot.
struct RingCopies {
  layout::RegisterVectors vectors;
  std::int64_t bytes = 0; ///< Of one.
  bool areAsynchronous = false;
  bool areInLaneOrder = false; ///< As Machine::asyncCopies says.
};
RingCopies copiesOf(const ir::Kernel &kernel, ir::ValueId ring, const machine::Machine &machine);

/// The fewest copies of a thread that any group of the kernel has: where the machine counts copies
/// and knows no groups, at most so many times n may be left where n groups may be. Copies end in
/// order, so that those left then are of the youngest n groups.
std::int64_t leastCopiesOfGroup(const ir::Kernel &kernel, const machine::Machine &machine);

/// Who brings what into a ring's slots, and how these lie.
struct SlotPlan {
  layout::LinearLayout write;
  layout::LinearLayout shared;
};
/// The plan that suits what fills them, and threads that read the tile in
/// `read`: from register, lane and warp to coordinates.
SlotPlan planSlots(const ir::Kernel &kernel, ir::ValueId ring, const layout::LinearLayout &read,
                   const machine::Machine &machine);

/// The layout of a ring's slots as those say who take one; none where nobody does.
std::optional<layout::LinearLayout> slotLayoutOf(const ir::Kernel &kernel, ir::ValueId ring);

} // namespace imbrex::analysis
