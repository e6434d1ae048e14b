#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

/// The trips of a pipelined loop in which nothing is left out: all copies into slots take place, or
/// all loads of the next trip, and each brings a box that lies in its view as a whole. They are its
/// first ones, as many as is known in front of the loop, and code of their own needs no masks.
namespace imbrex::analysis {

/// A box that a trip copies, or loads. Along an axis it begins at a coordinate that stays as it is,
/// or goes on as the loop's index does.
struct MovingBox {
  const ir::Op *op;        ///< `ring.copy_box`, or `view.load`.
  std::vector<bool> moves; ///< By axis.
};

struct WholeTrips {
  std::int64_t step;   ///< Of the loop.
  std::int64_t slots;  ///< The fewest of its rings; 1 where it loads.
  std::int64_t behind; ///< So many trips come behind one that makes all its copies.
  /// Of each thread in a trip: an element of a tile that it computes, or a multiply-add. A product
  /// on matrix units counts as its elements.
  std::int64_t steps;
  std::vector<MovingBox> boxes;
  std::set<const ir::Op *> coordinates; ///< What the body makes them of, and views.
};

/// The operand of such an op that is its view; the coordinates stand behind it.
std::size_t viewOperand(const ir::Op &box);
ir::BoxUnit boxUnit(const ir::Op &box);
/// What has the type and the layout of its tile.
ir::ValueId boxTile(const ir::Op &box);

/// Of a loop that copies into slots, or loads (loads_if.h, where a machine `masksLoads` without a
/// branch), under conditions of the form `distance to the end > n steps`, boxes of which it is
/// known how they move. Nothing of others, nor of those that can be left on the way or have bodies
/// within.
std::optional<WholeTrips> wholeTrips(const ir::Kernel &kernel, const ir::Op &loop, bool masksLoads);

} // namespace imbrex::analysis
