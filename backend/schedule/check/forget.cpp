#include "backend/schedule/check/run.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

// What no longer matters to a run, so that more runs are alike.
namespace imbrex::schedule::check {

void Run::forgetTrips() {
  const auto mayComeTo = [&](std::size_t agent, const Instance &instance) {
    if (agents_[agent].isDone) return false;
    const LastTripUses &asks =
        model_->asks[model_->agents[agent].role.index()][instance.trips.index()];
    if (asks.forAny < 0) return false;
    const auto around = tripsAround(model_->program, instance.trips, agents_[agent].at);
    if (!std::ranges::equal(instance.around, around))
      return std::ranges::lexicographical_compare(around, instance.around);
    return asks.isRepeated || agents_[agent].pc <= asks.forAny;
  };
  trips_.forget([&](const Instance &instance) {
    for (std::size_t agent = 0; agent < agents_.size(); ++agent)
      if (mayComeTo(agent, instance)) return false;
    return true;
  });
}

Horizon Run::horizon() const {
  Horizon known(static_cast<std::size_t>(model_->axisOfClaim(0)),
                std::numeric_limits<std::int32_t>::max());
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    if (agents_[static_cast<std::size_t>(agent)].isDone) continue;
    const std::int32_t *own = clock(agent);
    for (std::size_t place = 0; place < known.size(); ++place)
      known[place] = std::min(known[place], own[place]);
  }
  return known;
}

void Run::forgetKnown() {
  const Horizon known = horizon();
  const auto isKnown = [&](const Event &event) {
    return known[static_cast<std::size_t>(event.axis)] >= event.time;
  };
  for (std::int32_t c = 0; c < model_->cells; ++c) {
    Cell &cell = cells_[static_cast<std::size_t>(c)];
    if (cell.write.op && isWriteOver(cell.write, c)) cell.write.end = {};
    llvm::erase_if(cell.reads, [&](const RecordedAccess &read) { return isReadOver(read, c); });
  }
  for (SlotRun &slot : slots_) {
    if (!slot.isMade || slot.made.axis < 0 || !isKnown(slot.made)) continue;
    const bool isSeen =
        !model_->hasProxies || isKnown({model_->axes + slot.made.axis, slot.made.time});
    if (isSeen) slot.made = {};
  }
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    const RoleId role = model_->agents[static_cast<std::size_t>(agent)].role;
    for (std::uint32_t q = 0; q < model_->program.queues.size(); ++q) {
      if (model_->program.queues[q].role != role) continue;
      const std::int32_t drained = clock(agent)[model_->axisOf(agent, QueueId(q))];
      llvm::erase_if(queue(agent, QueueId(q)).ends,
                     [&](const auto &end) { return end.second <= drained; });
    }
  }
}

} // namespace imbrex::schedule::check
