#pragma once

#include "backend/schedule/check/run.h"

#include <cstdint>
#include <vector>

namespace imbrex::schedule::check {

/// In which order the parts of a run's state are listed, so that runs that will go on alike have
/// theirs alike.
///
/// Slots are told apart by where they lie from the least use on that anything can still name, the
/// ring's base, and phases by how they differ from that use's: a ring is the same from each of its
/// slots on, unless somebody says where in memory it lies.
class Listing {
public:
  explicit Listing(const Run &run);

  std::int64_t baseOf(RingId ring) const { return ring.valid() ? bases_[ring.index()] : 0; }
  /// The axes of a clock, those of slots with each ring from its base on.
  const std::vector<std::int32_t> &axes() const { return axes_; }
  /// Where an axis stands among them.
  std::int32_t placeOf(std::int32_t axis) const { return places_[static_cast<std::size_t>(axis)]; }
  /// By slot and cell of it, as the rest of the state is listed.
  const std::vector<std::int32_t> &claims() const { return claims_; }

  /// `visit(cursor, use)` for those of an agent.
  template <class Visit>
  void forCursors(std::int32_t agent, Visit visit) const {
    const RoleId role = model_.agents[static_cast<std::size_t>(agent)].role;
    for (std::uint32_t c = 0; c < program_.cursors.size(); ++c)
      if (program_.cursors[c].role == role)
        visit(CursorId(c), run_.useOf(agent, {.cursor = CursorId(c)}));
  }

  /// `visit(slot, round)` for the slots of each barrier, and `endOfBarrier()` behind them.
  template <class Visit, class End>
  void forSlots(Visit visit, End endOfBarrier) const {
    for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
      const RingId ring = program_.barriers[b].ring;
      for (std::int32_t i = 0; i < program_.depthOf(ring); ++i) {
        const std::int64_t use = baseOf(ring) + i;
        visit(model_.slotOf(BarrierId(b), use), roundOfUse(use, program_.depthOf(ring)));
      }
      endOfBarrier();
    }
  }

  /// `visit(cell)` for the cells of each buffer, and `endOfBuffer()` behind them.
  template <class Visit, class End>
  void forCells(Visit visit, End endOfBuffer) const {
    for (std::uint32_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer &buffer = program_.buffers[b];
      const std::int32_t copies = buffer.space == Space::Registers ? run_.agents() : 1;
      for (std::int32_t copy = 0; copy < copies; ++copy)
        for (std::int32_t i = 0; i < program_.depthOf(buffer.ring); ++i) {
          const Access whole = {.buffer = BufferId(b)};
          const CellRange range = model_.cellsOf(whole, baseOf(buffer.ring) + i, copy);
          for (std::int32_t c = range.first; c < range.first + range.count; ++c) visit(c);
        }
      endOfBuffer();
    }
  }

private:
  void findBases();
  void orderAxes();
  void orderClaims();

  const Run &run_;
  const Model &model_;
  const Program &program_;
  std::vector<std::int64_t> bases_; // by ring
  std::vector<std::int32_t> axes_, places_;
  std::vector<std::int32_t> claims_;
};

} // namespace imbrex::schedule::check
