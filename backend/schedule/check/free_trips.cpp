#include "backend/schedule/check/free_trips.h"

#include <algorithm>
#include <set>
#include <vector>

namespace imbrex::schedule::check {

namespace {

/// For each of the program's trips, the innermost loops around those that ask for them.
class TripUsers {
public:
  explicit TripUsers(const Program &program) : around_(program.trips.size()) {
    for (const Role &role : program.roles) study(role.body);
  }

  /// The one loop that all of them are in; not valid where there is none, or several.
  TripsId around(TripsId trips) const {
    const std::set<TripsId> &around = around_[trips.index()];
    return around.size() == 1 ? *around.begin() : TripsId();
  }

private:
  void study(const std::vector<ScheduleOp> &body) {
    for (const ScheduleOp &op : body) {
      if (op.kind == ScheduleOpKind::If) ask(op.guard.trips);
      if (op.kind == ScheduleOpKind::For) {
        ask(op.trips);
        loops_.push_back(op.trips);
      }
      study(op.body);
      if (op.kind == ScheduleOpKind::For) loops_.pop_back();
    }
  }

  /// What is asked in the loop over the trips itself, was asked where that began.
  void ask(TripsId trips) {
    const auto own = std::ranges::find(loops_, trips);
    around_[trips.index()].insert(own == loops_.begin() ? TripsId() : *std::prev(own));
  }

  std::vector<std::set<TripsId>> around_; // an id that is not valid: no loop
  std::vector<TripsId> loops_;            // that are open
};

} // namespace

std::optional<Program> withFreeTrips(const Program &program) {
  const TripUsers askers(program);
  std::optional<Program> free;
  for (std::uint32_t t = 0; t < program.trips.size(); ++t) {
    const TripsId around = askers.around(TripsId(t));
    if (program.trips[t].within.valid() || !around.valid()) continue;
    if (!free) free = program;
    free->trips[t].within = around;
  }
  return free;
}

} // namespace imbrex::schedule::check
