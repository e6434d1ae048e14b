#pragma once

#include "backend/passes/pipeline/read_schedule.h"
#include "backend/passes/pipeline/same_values.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace imbrex::passes::pipeline {

/// The numbers of trips in a program that is read off a kernel: how often loops run, and whether
/// bodies do that run once or not at all. Each is written into the program where it is first asked
/// for, and found again in another role, or for other threads.
class TripCounts {
public:
  TripCounts(const ir::Kernel &kernel, KernelSchedule &read) : kernel_(kernel), read_(read) {}

  /// How often a for runs follows from its numbers, unless it may be left. That two loops run as
  /// often is worth knowing where one role hands the other something in each trip: of others, and
  /// of loops in a row, all pairs of numbers are looked at, of which there are far fewer states.
  schedule::TripsId ofFor(const ir::Op &loop);
  schedule::TripsId ofWhile(const ir::Op &loop) { return trips(What::Loop, loop, {}); }
  /// Whether what stands behind an op runs that may leave the body.
  schedule::TripsId ofRest(const ir::Op &op) { return trips(What::Rest, op, {}); }
  /// Whether a body of an if does.
  schedule::TripsId ofBranch(const ir::Op &op, std::size_t number) {
    return trips(What::Branch, op, {same_(op.operand(0)), number});
  }

  /// What is asked for from now on is in a trip of that loop. Returns the one before.
  schedule::TripsId enter(schedule::TripsId loop) { return std::exchange(within_, loop); }

private:
  enum class What : std::uint8_t { Loop, Rest, Counts, Branch };
  /// Loops over the same numbers in a trip of the same loop have as many.
  using Known = std::vector<std::uint64_t>;

  schedule::TripsId trips(What what, const ir::Op &op, const Known &of);
  TripsKind kindOf(What what, const ir::Op &op) const;

  const ir::Kernel &kernel_;
  KernelSchedule &read_;
  SameValues same_{kernel_};
  std::map<Known, schedule::TripsId> known_;
  schedule::TripsId within_;
};

} // namespace imbrex::passes::pipeline
