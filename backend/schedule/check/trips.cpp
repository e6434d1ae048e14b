#include "backend/schedule/check/trips.h"

#include <algorithm>

namespace imbrex::schedule::check {

llvm::SmallVector<std::int32_t, 2> tripsAround(const Program &program, TripsId trips,
                                               const Position &position) {
  llvm::SmallVector<std::int32_t, 2> around;
  for (TripsId outer = program[trips].within; outer.valid(); outer = program[outer].within)
    around.insert(around.begin(), position[outer.index()]);
  return around;
}

const Instance *TripDecisions::find(TripsId trips, const Position &position) const {
  const auto around = tripsAround(*program_, trips, position);
  const auto found = std::ranges::find_if(instances_, [&](const Instance &instance) {
    return instance.trips == trips && instance.around == around;
  });
  return found == instances_.end() ? nullptr : &*found;
}

std::optional<bool> TripDecisions::isMoreThan(TripsId trips, const Position &position,
                                              std::int64_t than) {
  if (fixed_) {
    const auto around = tripsAround(*program_, trips, position);
    return (*fixed_)(trips, around.empty() ? 0 : around.back()) > than;
  }
  const Instance *known = find(trips, position);
  if (!known) {
    instances_.push_back({.trips = trips,
                          .around = tripsAround(*program_, trips, position),
                          .count = (*program_)[trips].least});
    known = &instances_.back();
  }
  if (known->count > than) return true;
  if (known->isExact) return false;
  open_ = static_cast<std::size_t>(known - instances_.data());
  return std::nullopt;
}

void TripDecisions::decide(std::size_t instance, bool oneMore) {
  if (oneMore)
    ++instances_[instance].count;
  else
    instances_[instance].isExact = true;
}

} // namespace imbrex::schedule::check
