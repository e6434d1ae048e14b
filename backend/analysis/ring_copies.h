#pragma once

#include "backend/ir/kernel.h"
#include "backend/layout/vector_width.h"
#include "backend/machine/machine.h"

#include <cstdint>
#include <iterator>
#include <optional>

namespace imbrex::analysis {

/// The copies by which each thread fills a slot.
struct RingCopies {
  layout::RegisterVectors vectors;
  std::int64_t bytes = 0; ///< Of one.
  bool areAsynchronous = false;
  bool areInLaneOrder = false; ///< As Machine::asyncCopies says.
  bool areStores = false;      ///< Of what threads hold in registers.

  std::int64_t countOfThread() const { return std::ssize(vectors.registers) / vectors.width; }
};
/// Whether an op fills a slot by them.
bool isRingCopy(const ir::Op &op);
RingCopies copiesOf(const ir::Kernel &kernel, ir::ValueId ring, const machine::Machine &machine);

/// The least number of copies that a thread makes in any group. A machine without groups waits
/// until n times so many are left where n groups may be, which is never too weak: copies end in
/// order.
std::int64_t leastCopiesOfGroup(const ir::Kernel &kernel, const machine::Machine &machine);

/// What fills a ring's slots.
ir::Ahead filledBy(const ir::Kernel &kernel, ir::ValueId ring);

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
