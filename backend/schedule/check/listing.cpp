#include "backend/schedule/check/listing.h"

#include <algorithm>
#include <limits>

namespace imbrex::schedule::check {

Listing::Listing(const Run &run) : run_(run), model_(*run.model_), program_(run.model_->program) {
  findBases();
  orderAxes();
  orderClaims();
}

void Listing::findBases() {
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  bases_.assign(program_.rings.size(), kNone);
  for (std::int32_t agent = 0; agent < run_.agents(); ++agent) {
    if (run_.agents_[static_cast<std::size_t>(agent)].isDone) continue;
    forCursors(agent, [&](CursorId id, std::int64_t use) {
      std::int64_t &base = bases_[program_[id].ring.index()];
      base = std::min(base, use + model_.lowest[id.index()]);
    });
  }
  for (std::int64_t &base : bases_)
    if (base == kNone) base = 0;
  for (const Buffer &buffer : program_.buffers) {
    if (!buffer.offset || !buffer.ring.valid()) continue;
    const std::int32_t depth = program_.depthOf(buffer.ring);
    std::int64_t &base = bases_[buffer.ring.index()];
    base = roundOfUse(base, depth) * depth;
  }
  // A cursor that goes back comes to a use by its number, however far others are by then.
  for (std::size_t ring = 0; ring < bases_.size(); ++ring)
    if (model_.resets[ring]) bases_[ring] = 0;
  for (std::uint32_t c = 0; c < program_.cursors.size(); ++c) {
    const std::size_t ring = program_.cursors[c].ring.index();
    if (model_.resets[ring]) bases_[ring] = std::min<std::int64_t>(bases_[ring], model_.lowest[c]);
  }
}

void Listing::orderAxes() {
  const std::int32_t first = model_.axisOfSlot(0);
  for (std::int32_t axis = 0; axis < first; ++axis) axes_.push_back(axis);
  for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
    const RingId ring = program_.barriers[b].ring;
    for (std::int32_t i = 0; i < program_.depthOf(ring); ++i)
      axes_.push_back(model_.axisOfSlot(model_.slotOf(BarrierId(b), baseOf(ring) + i)));
  }
  for (std::int32_t axis = first + model_.slots; axis < model_.axes; ++axis) axes_.push_back(axis);
  places_.resize(axes_.size());
  for (std::size_t place = 0; place < axes_.size(); ++place)
    places_[static_cast<std::size_t>(axes_[place])] = static_cast<std::int32_t>(place);
}

void Listing::orderClaims() {
  const auto add = [&](const std::vector<std::int32_t> &claims) {
    claims_.insert(claims_.end(), claims.begin(), claims.end());
  };
  forSlots([&](std::int32_t slot, std::int64_t) { add(model_.claimsOnSlot(slot)); }, [] {});
  forCells([&](std::int32_t cell) { add(model_.claimsOnCell(cell)); }, [] {});
}

} // namespace imbrex::schedule::check
