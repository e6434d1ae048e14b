#include "backend/passes/pipeline/order_loop.h"

#include "backend/ir/ring_bytes.h"
#include "backend/passes/pipeline/agents.h"
#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/read_layout.h"
#include "backend/passes/rewriting.h"
#include "backend/schedule/plan/drains.h"
#include "backend/schedule/plan/prefetch.h"
#include "backend/schedule/plan/split_roles.h"
#include "backend/schedule/plan/synchronise.h"
#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/channels.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using schedule::Access;
using schedule::BufferId;
using schedule::QueueId;
using schedule::ScheduleOp;
using schedule::ScheduleOpKind;
using schedule::TripsId;

bool isInLoop(const Block &block, const Op &wanted, bool inside, bool &found) {
  for (const auto &op : block.ops) {
    if (op.get() == &wanted) return found = true, inside;
    for (const Block &region : op->regions)
      if (const bool is = isInLoop(region, wanted, inside || isLoop(*op), found); found) return is;
  }
  return false;
}

/// An order asks for no costs, a plan does.
enum class Costs : std::uint8_t { Left, Counted };

class WorkMaker {
public:
  WorkMaker(const Kernel &kernel, const Op &loop, const LoopLoads &loads,
            const machine::Machine &machine, Costs costs)
      : kernel_(kernel), loop_(loop), loads_(loads), machine_(machine),
        copies_(machine.asyncCopies), hasCosts_(costs == Costs::Counted) {}

  LoopWork make(bool hasLoader) const {
    schedule::Program work{.name = kernel_.name(), .where = loop_.where};
    bool found = false;
    const bool again = isInLoop(kernel_.body(), loop_, false, found);
    if (again) work.trips.push_back({.name = "again"});
    const TripsId trips(static_cast<std::uint32_t>(work.trips.size()));
    work.trips.push_back({.name = "trip", .within = again ? TripsId(0) : TripsId()});
    if (!hasLoader)
      work.queues.push_back({.name = "copies",
                             .role = schedule::RoleId(0),
                             .grouped = true,
                             .capacity = copies_.capacity});
    std::vector<ScheduleOp> body = trip(work);
    ScheduleOp loop{
        .kind = ScheduleOpKind::For, .trips = trips, .body = std::move(body), .where = loop_.where};
    if (again) {
      ScheduleOp outer{.kind = ScheduleOpKind::For, .trips = TripsId(0), .where = loop_.where};
      outer.body.push_back(std::move(loop));
      loop = std::move(outer);
    }
    work.roles.push_back({.name = std::string(kBlock.name), .warps = agents()});
    work.roles.front().body.push_back(std::move(loop));
    return {.program = std::move(work), .trips = trips};
  }

private:
  /// Who counts as one: a thread waits for its own copies alone, and what threads do to one slot
  /// only meetings order. So each warp is taken for an agent, and one warp for two.
  std::int32_t agents() const { return std::max(kernel_.threads().warps, 2); }

  ScheduleOp loadOf(const schedule::Program &work, const AheadLoad &load, BufferId buffer,
                    std::int64_t bytes) const {
    ScheduleOp op{.kind = ScheduleOpKind::Copy,
                  .accesses = {{.buffer = buffer, .writes = true}},
                  .bytes = bytes,
                  .cost =
                      hasCosts_ ? copyCost(copies_, bytes, sourceOf(kernel_)) : schedule::Cost(),
                  .where = load.op->where};
    if (work.queues.empty()) return op;
    op.kind = ScheduleOpKind::Issue;
    op.bytes = 0;
    op.queue = QueueId(0);
    op.accesses.front().part = schedule::Part::Own;
    return op;
  }

  /// Whether each thread uses what it has copied itself: then nobody need meet. Where copies are
  /// counted all meet nevertheless (read_schedule.cpp).
  bool readsOwn(const AheadLoad &load) const {
    const ValueId tile = load.op->result();
    if (load.by != Ahead::Copies || !copies_.areGrouped || loads_.inPlace.contains(tile))
      return false;
    const LayoutId own = kernel_.layoutOf(tile);
    return wantedLayout(kernel_, tile).value_or(own) == own &&
           !layout::hasCopies(kernel_.layout(own));
  }

  std::vector<ScheduleOp> trip(schedule::Program &work) const {
    std::vector<ScheduleOp> issues, uses;
    for (const AheadLoad &load : loads_.loads) {
      const ValueId tile = load.op->result();
      const std::int64_t bytes =
          slotBytes(kernel_.type(tile), kernel_.layout(kernel_.layoutOf(tile)));
      const BufferId buffer(static_cast<std::uint32_t>(work.buffers.size()));
      work.buffers.push_back(
          {.name = "tile" + std::to_string(buffer.index()), .bytes = bytes, .parts = agents()});
      issues.push_back(loadOf(work, load, buffer, bytes));
      const auto read = readsOwn(load) ? schedule::Part::Own : schedule::Part::All;
      uses.push_back({.kind = ScheduleOpKind::Access,
                      .accesses = {{.buffer = buffer, .part = read}},
                      .cost = hasCosts_ ? combinedCost(workFor(load, bytes)) : schedule::Cost(),
                      .where = load.op->where});
    }
    if (!work.queues.empty())
      issues.push_back({.kind = ScheduleOpKind::Commit, .queue = QueueId(0), .where = loop_.where});
    std::ranges::move(uses, std::back_inserter(issues));
    return issues;
  }

  /// Products read where tiles lie; all else is read into registers first. The last read is
  /// followed by all that is computed.
  Work workFor(const AheadLoad &load, std::int64_t bytes) const {
    Work work;
    if (!loads_.inPlace.contains(load.op->result())) work = workToRead(bytes, machine_);
    if (&load == &loads_.loads.back()) work += ofBody();
    return work;
  }

  /// Of what stays in the loop: tiles that are read in place are only named there.
  Work ofBody() const {
    Work work;
    for (const auto &op : loop_.regions[0].ops) {
      const bool isNamed = llvm::any_of(
          op->results, [&](ValueId result) { return loads_.inPlace.contains(result); });
      if (!isNamed && !loads_.addresses.contains(op.get())) work += workOf(kernel_, *op, machine_);
    }
    return work;
  }

  const Kernel &kernel_;
  const Op &loop_;
  const LoopLoads &loads_;
  const machine::Machine &machine_;
  const machine::AsyncCopies &copies_;
  const bool hasCosts_;
};

/// What the engine loads in a trip ends a phase of a barrier instead of a group of a queue: what
/// waited for the trip's group waits for its phase, and for the group where threads copy as well.
class PhasesForGroups {
public:
  PhasesForGroups(LoopOrder &order, const LoopLoads &loads)
      : program_(order.program), trips_(order.trips), loads_(loads) {}

  void run() {
    program_.barriers.push_back({.name = "full", .ring = schedule::RingId(0), .arrivals = 1});
    schedule::Role &role = program_.roles.front();
    const bool isInside = false;
    rewrite(role.body, isInside);
    if (!hasGroups()) program_.queues.clear();
  }

private:
  // prefetch makes two cursors: that of what is loaded, and that of what is used.
  static constexpr schedule::CursorId kAhead{0}, kNow{1};

  bool hasGroups() const { return loads_.has(Ahead::Copies); }

  void rewrite(std::vector<ScheduleOp> &body, bool isInLoop) {
    std::vector<ScheduleOp> out;
    const std::int64_t bytes = aim(body);
    if (bytes > 0)
      out.push_back({.kind = ScheduleOpKind::Expect,
                     .barrier = schedule::BarrierId(0),
                     .index = {kAhead},
                     .bytes = bytes,
                     .where = body.front().where});
    for (ScheduleOp &op : body) {
      rewrite(op.body, op.kind == ScheduleOpKind::For && op.trips == trips_);
      const bool isDrain = op.kind == ScheduleOpKind::Drain;
      if (isDrain && isInLoop)
        out.push_back({.kind = ScheduleOpKind::Wait,
                       .barrier = schedule::BarrierId(0),
                       .index = {kNow},
                       .where = op.where});
      if (hasGroups() || !(isDrain || op.kind == ScheduleOpKind::Commit))
        out.push_back(std::move(op));
    }
    body = std::move(out);
  }

  /// Make a body's loads of boxes copies that count on the barrier. Returns the bytes they bring.
  std::int64_t aim(std::vector<ScheduleOp> &body) const {
    std::int64_t bytes = 0;
    for (ScheduleOp &op : body) {
      if (op.kind != ScheduleOpKind::Issue) continue;
      schedule::Access &slot = op.accesses.front();
      if (loads_.loads[slot.buffer.index()].by != Ahead::Boxes) continue;
      op.kind = ScheduleOpKind::Copy;
      op.queue = {};
      slot.part = schedule::Part::All;
      op.bytes = program_[slot.buffer].bytes;
      op.barrier = schedule::BarrierId(0);
      op.index = {kAhead};
      bytes += op.bytes;
    }
    return bytes;
  }

  schedule::Program &program_;
  TripsId trips_;
  const LoopLoads &loads_;
};

/// Who loads, and who computes.
schedule::RoleSplit loaderAndOthers(const schedule::Program &work) {
  schedule::RoleSplit split;
  split.roles = {{.name = std::string(kLoader.name), .warps = kLoader.agents},
                 {.name = std::string(kComputers.name), .warps = work.roles.front().warps}};
  schedule::forEachOp(work.roles.front().body, [&](const ScheduleOp &op) {
    if (!schedule::hasBody(op.kind))
      split.roleOf.push_back(op.kind == ScheduleOpKind::Copy ? 0 : 1);
  });
  return split;
}

std::optional<schedule::Program> splitWork(const schedule::Program &work, std::int32_t slots,
                                           Diagnostics &broken) {
  auto split = schedule::splitRoles(work, loaderAndOthers(work), broken);
  if (!split) return std::nullopt;
  for (schedule::Ring &ring : split->rings) ring.depth = slots;
  return schedule::addBarriers(*std::move(split), {}, broken);
}

} // namespace

LoopWork workOf(const Kernel &kernel, const Op &loop, const LoopLoads &loads, bool hasLoader,
                const machine::Machine &machine) {
  return WorkMaker(kernel, loop, loads, machine, Costs::Counted).make(hasLoader);
}

LoopOrder orderLoop(const Kernel &kernel, const Op &loop, const LoopLoads &loads,
                    const LoopChoice &choice, const machine::Machine &machine) {
  LoopWork work = WorkMaker(kernel, loop, loads, machine, Costs::Left).make(choice.hasLoader);
  Diagnostics broken;
  auto ordered = choice.hasLoader ? splitWork(work.program, choice.slots, broken)
                                  : schedule::prefetch(std::move(work.program), QueueId(0),
                                                       work.trips, choice.slots, broken);
  IMBREX_CHECK(ordered, "a loop's trips cannot be put in order:\n{0}", broken.render());
  LoopOrder order{.program = schedule::addDrains(*std::move(ordered)),
                  .trips = work.trips,
                  .slots = choice.slots};
  if (!choice.hasLoader && loads.has(Ahead::Boxes)) PhasesForGroups(order, loads).run();
  return order;
}

} // namespace imbrex::passes::pipeline
