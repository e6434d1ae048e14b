#include "backend/schedule/plan/partitions.h"

#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/channels.h"

#include <algorithm>
#include <map>
#include <utility>

namespace imbrex::schedule {

namespace {

/// What an operation of the work is for.
enum class Duty : std::uint8_t { Copy, Product, Compute };

class Partitions {
public:
  Partitions(const Program &work, const PlanRequest &request) : work_(work), request_(request) {
    study(work.roles.front().body, nullptr);
  }

  std::vector<Partition> all() const {
    std::vector<Partition> found;
    const bool hasProducts = std::ranges::find(duties_, Duty::Product) != duties_.end();
    for (const bool products : {false, true})
      for (const bool apart : {false, true}) {
        if (products && !hasProducts) continue;
        if (apart && rates_.size() < 2) continue;
        found.push_back(partitionOf(products, apart));
        if (!request_.turns || products) continue;
        found.push_back(found.back());
        found.back().name += " by turns";
        found.back().halved =
            RoleId(static_cast<std::uint32_t>(found.back().split.roles.size() - 1));
      }
    return found;
  }

private:
  void study(const std::vector<ScheduleOp> &body, const ScheduleOp *loop) {
    for (const ScheduleOp &op : body) {
      if (hasBody(op.kind)) {
        study(op.body, op.kind == ScheduleOpKind::For ? &op : loop);
        continue;
      }
      duties_.push_back(dutyOf(op));
      if (duties_.back() == Duty::Copy && std::ranges::find(rates_, loop) == rates_.end())
        rates_.push_back(loop);
      loops_.push_back(loop);
    }
  }

  Duty dutyOf(const ScheduleOp &op) const {
    if (op.kind == ScheduleOpKind::Copy) return Duty::Copy;
    const bool queued = info(op.kind).fields & kQueue;
    return queued && request_.isSignalling(op.queue) ? Duty::Product : Duty::Compute;
  }

  Partition partitionOf(bool products, bool apart) const {
    Partition partition;
    const auto role = [&](std::string name, std::int32_t warps) {
      partition.name += (partition.name.empty() ? "" : " | ") + name;
      partition.split.roles.push_back({.name = std::move(name), .warps = warps});
      return static_cast<std::uint32_t>(partition.split.roles.size() - 1);
    };
    std::map<const ScheduleOp *, std::uint32_t> loaders;
    for (const ScheduleOp *rate : rates_)
      if (loaders.empty() || apart)
        loaders[rate] = role(apart ? "load_" + nameOf(rate) : "load", 1);
      else
        loaders[rate] = loaders.begin()->second;
    const std::uint32_t product = products ? role("multiply", 1) : 0;
    const std::uint32_t compute = role(products ? "finish" : "compute", request_.warps);
    for (std::size_t i = 0; i < duties_.size(); ++i)
      partition.split.roleOf.push_back(duties_[i] == Duty::Copy ? loaders[loops_[i]]
                                       : duties_[i] == Duty::Product && products ? product
                                                                                 : compute);
    return partition;
  }

  std::string nameOf(const ScheduleOp *loop) const {
    return loop ? work_[loop->trips].name : "once";
  }

  const Program &work_;
  const PlanRequest &request_;
  std::vector<Duty> duties_;              // by operation that is given to a role
  std::vector<const ScheduleOp *> loops_; // the innermost loop around each
  std::vector<const ScheduleOp *> rates_; // the loops that copies are in
};

/// The other queue whose loads brought into registers what an operation stores. What reads
/// something of the work as well is none: a product, say, whose sums are stored at the end.
std::optional<QueueId> queueInto(const Program &work, const ScheduleOp &store) {
  std::optional<QueueId> queue;
  forEachOp(work.roles.front().body, [&](const ScheduleOp &op) {
    const bool loads = op.kind == ScheduleOpKind::Issue && op.accesses.size() == 1;
    if (!loads || op.queue == store.queue) return;
    const Access &into = op.accesses.front();
    if (!into.writes || work[into.buffer].space != Space::Registers) return;
    const auto isStored = [&](const Access &from) {
      return !from.writes && from.buffer == into.buffer;
    };
    if (std::ranges::any_of(store.accesses, isStored)) queue = op.queue;
  });
  return queue;
}

} // namespace

std::vector<Partition> partitionsOf(const Program &work, const PlanRequest &request) {
  return Partitions(work, request).all();
}

std::optional<QueueId> loadQueueOf(const Program &work) {
  std::optional<QueueId> queue;
  forEachOp(work.roles.front().body, [&](const ScheduleOp &op) {
    const bool stores = std::ranges::any_of(op.accesses, [&](const Access &access) {
      return access.writes && work[access.buffer].space == Space::Shared;
    });
    if (queue || !stores || op.kind == ScheduleOpKind::Copy) return;
    queue = queueInto(work, op);
    if (!queue && op.kind == ScheduleOpKind::Issue) queue = op.queue;
  });
  return queue;
}

} // namespace imbrex::schedule
