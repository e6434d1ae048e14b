#pragma once

#include "backend/schedule/check/check.h"
#include "backend/schedule/check/model.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <optional>
#include <vector>

/// What a run has decided about the numbers of trips.
namespace imbrex::schedule::check {

/// Where one agent is in its loops, by trips.
using Position = llvm::SmallVector<std::int32_t, 4>;
constexpr std::int32_t kBefore = -1;
constexpr std::int32_t kBehind = std::numeric_limits<std::int32_t>::max();

/// One run of a loop: the trips of the loops around it say which.
struct Instance {
  TripsId trips;
  llvm::SmallVector<std::int32_t, 2> around;
  std::int32_t count = 0; ///< The trips, or the fewest that are possible.
  bool isExact = false;
};

class TripDecisions {
public:
  /// With `fixed` all is decided from the start.
  explicit TripDecisions(const Program &program, const TripCount *fixed = nullptr)
      : program_(&program), fixed_(fixed) {}

  /// Whether the loop over these trips that the agent is at runs more than `than` times; nothing
  /// where that is not decided yet.
  std::optional<bool> isMoreThan(TripsId trips, const Position &position, std::int64_t than);

  /// The instance that the last question without an answer was about, for `decide`.
  std::size_t open() const { return open_; }
  void decide(std::size_t instance, bool oneMore);

  /// Forgets the instances that no agent can come to again; the open one is not among them.
  template <class Predicate>
  void forget(Predicate isDead) {
    const auto before = instances_.begin() + static_cast<std::ptrdiff_t>(open_);
    open_ -= static_cast<std::size_t>(std::count_if(instances_.begin(), before, isDead));
    std::erase_if(instances_, isDead);
  }
  const std::vector<Instance> &instances() const { return instances_; }
  /// How far an agent is from what is decided: a difference, since distance alone matters.
  const Instance *find(TripsId trips, const Position &position) const;

private:
  const Program *program_;
  const TripCount *fixed_;
  std::vector<Instance> instances_;
  std::size_t open_ = 0;
};

/// The trips around a loop over `trips`, outermost first.
llvm::SmallVector<std::int32_t, 2> tripsAround(const Program &program, TripsId trips,
                                               const Position &position);

} // namespace imbrex::schedule::check
