#pragma once

#include "backend/schedule/plan/plan.h"
#include "backend/schedule/plan/split_roles.h"

#include <optional>
#include <string>
#include <vector>

/// Who may do what of sequential work, before it is asked how many slots that takes.
namespace imbrex::schedule {

/// A partition of the operations among roles.
struct Partition {
  std::string name = {};
  RoleSplit split = {};
  std::optional<RoleId> halved = std::nullopt; ///< The role that is two groups by turns.
};

/// All partitions: loads together or by the loop that they are in, products with the rest or not.
std::vector<Partition> partitionsOf(const Program &work, const PlanRequest &request);

/// The queue that loads run on, where no copy counts on a barrier.
std::optional<QueueId> loadQueueOf(const Program &work);

} // namespace imbrex::schedule
