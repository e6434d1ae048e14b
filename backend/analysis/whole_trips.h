#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

/// The trips of a pipelined loop in which nothing is left out: all copies into slots take place,
/// and each brings a box that lies in its view as a whole. They are its first ones, as many as is
/// known in front of the loop, and code of their own needs no masks.
namespace imbrex::analysis {

/// A box that a trip copies. Along an axis it begins at a coordinate that stays as it is, or goes
/// on as the loop's index does.
struct MovingBox {
  const ir::Op *copy;      ///< `ring.copy_box`.
  std::vector<bool> moves; ///< By axis.
};

struct WholeTrips {
  std::int64_t step;   ///< Of the loop.
  std::int64_t slots;  ///< The fewest of its rings.
  std::int64_t behind; ///< So many trips come behind one that makes all its copies.
  std::vector<MovingBox> boxes;
  std::set<const ir::Op *> coordinates; ///< What the body makes them of, and views.
};

/// Of a loop that copies into slots under conditions of the form `distance to the end > n steps`,
/// boxes of which it is known how they move. Nothing of others, nor of those that
/// can be left on the way or have bodies within.
std::optional<WholeTrips> wholeTrips(const ir::Kernel &kernel, const ir::Op &loop);

} // namespace imbrex::analysis
