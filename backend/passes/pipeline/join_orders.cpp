#include "backend/passes/pipeline/join_orders.h"

#include "backend/passes/pipeline/agents.h"
#include "backend/passes/pipeline/read_condition.h"
#include "backend/passes/rewriting.h"
#include "backend/schedule/program/channels.h"
#include "llvm/ADT/STLExtras.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using schedule::CursorId;
using schedule::RoleId;
using schedule::ScheduleOp;
using schedule::ScheduleOpKind;
using schedule::TripsId;
using ScheduleOps = std::vector<ScheduleOp>;

/// What of an order a role does.
enum class RolePart : std::uint8_t { All, AllButBoxes, Loads, Computes };

/// Where an order's memory begins in that of all.
struct Places {
  std::size_t buffers, barriers;
};

/// The cursors of a role, by that of an order and the ring that it walks: loops that fill the same
/// ring have them in common.
using Cursors = std::map<std::pair<CursorId, schedule::RingId>, CursorId>;

/// The ops of an order under the names of the program of all, for one role.
class Renamer {
public:
  Renamer(schedule::Program &joined, Cursors &ofRole, const schedule::Program &order,
          const Places &places, TripsId trips, RolePart part)
      : joined_(joined), ofRole_(ofRole), order_(order), places_(places), trips_(trips),
        part_(part), role_(static_cast<std::uint32_t>(joined.roles.size() - 1)) {}

  ScheduleOps run(const ScheduleOps &ops) {
    schedule::forEachOp(ops, [&](const ScheduleOp &op) {
      for (const schedule::Access &access : op.accesses)
        cursorIn(access.index.cursor, joined_[buffer(access.buffer)].ring);
      if (op.barrier.valid()) cursorIn(op.index.cursor, joined_[barrier(op.barrier)].ring);
    });
    return renamed(ops);
  }

private:
  schedule::BufferId buffer(schedule::BufferId id) const {
    return schedule::BufferId(static_cast<std::uint32_t>(id.index() + places_.buffers));
  }
  schedule::BarrierId barrier(schedule::BarrierId id) const {
    return schedule::BarrierId(static_cast<std::uint32_t>(id.index() + places_.barriers));
  }

  /// Of an order's cursor there is one for each ring that it walks now.
  CursorId cursorIn(CursorId of, schedule::RingId ring) {
    const CursorId next(static_cast<std::uint32_t>(joined_.cursors.size()));
    const auto [at, isNew] = ofRole_.try_emplace({of, ring}, next);
    cursors_.insert(*at);
    if (isNew)
      joined_.cursors.push_back(
          {.name = "c" + std::to_string(next.index()), .role = role_, .ring = ring});
    return at->second;
  }

  ScheduleOps renamed(const ScheduleOps &ops) {
    ScheduleOps made;
    for (const ScheduleOp &op : ops) {
      const bool isOfEngine = op.kind == ScheduleOpKind::Copy || op.kind == ScheduleOpKind::Expect;
      if (part_ == RolePart::AllButBoxes && isOfEngine) continue;
      if (op.kind == ScheduleOpKind::Advance)
        for (const auto &[walk, cursor] : cursors_) {
          if (walk.first == op.cursor) made.push_back({.kind = op.kind, .cursor = cursor});
        }
      else
        made.push_back(renamed(op));
    }
    return made;
  }

  ScheduleOp renamed(ScheduleOp op) {
    for (schedule::Access &access : op.accesses) {
      access.buffer = buffer(access.buffer);
      access.index.cursor = cursorIn(access.index.cursor, joined_[access.buffer].ring);
      if (access.part != schedule::Part::Own || joined_[role_].warps > 1) continue;
      access.part = schedule::Part::Numbered;
      access.number = static_cast<std::int32_t>(role_.index());
    }
    if (op.barrier.valid()) {
      op.barrier = barrier(op.barrier);
      op.index.cursor = cursorIn(op.index.cursor, joined_[op.barrier].ring);
    }
    if (op.queue.valid()) op.queue = queueLike(order_[op.queue]);
    if (op.meeting.valid()) op.meeting = schedule::MeetingId(0);
    if (op.trips.valid()) op.trips = trips_;
    if (op.guard.trips.valid()) op.guard.trips = trips_;
    op.body = renamed(op.body);
    return op;
  }

  /// A role has one, whatever loop it is in.
  schedule::QueueId queueLike(const schedule::Queue &like) {
    const auto own = llvm::find_if(joined_.queues, [&](const auto &q) { return q.role == role_; });
    const auto number = static_cast<std::uint32_t>(own - joined_.queues.begin());
    if (own == joined_.queues.end()) {
      joined_.queues.push_back(like);
      joined_.queues.back().role = role_;
    }
    return schedule::QueueId(number);
  }

  schedule::Program &joined_;
  Cursors &ofRole_;
  const schedule::Program &order_;
  const Places places_;
  const TripsId trips_;
  const RolePart part_;
  const RoleId role_;
  Cursors cursors_; // of the order
};

class Joiner {
public:
  Joiner(const Kernel &kernel, const LoopOrders &orders) : kernel_(kernel), orders_(orders) {}

  schedule::Program run() {
    joined_.name = kernel_.name();
    joined_.meetings.push_back(meetingOfAll());
    for (const auto &[loop, order] : orders_)
      if (!order.refills) addMemory(*loop, order.order);
    for (const auto &[loop, order] : orders_)
      if (order.refills) places_.emplace(loop, places_.at(order.refills));
    const auto isOfRoles = [](const auto &one) { return one.second.order.isOfRoles(); };
    const auto hasPhases = [](const auto &one) {
      return !one.second.order.program.barriers.empty();
    };
    if (llvm::any_of(orders_, isOfRoles)) {
      addRole(kLoader, RolePart::Loads);
      addRole(kComputers, RolePart::Computes);
    } else if (llvm::any_of(orders_, hasPhases)) {
      addRole(kFirst, RolePart::All);
      addRole(kOthers, RolePart::AllButBoxes);
    } else {
      addRole(kBlock, RolePart::All);
    }
    return std::move(joined_);
  }

private:
  /// As a kernel has it: each buffer and each barrier in a ring of its own.
  void addMemory(const Op &loop, const LoopOrder &order) {
    places_[&loop] = {joined_.buffers.size(), joined_.barriers.size()};
    for (schedule::Buffer buffer : order.program.buffers) {
      buffer.ring = addRing(order.slots);
      buffer.name = joined_[buffer.ring].name + ".tile";
      buffer.parts = kAgents;
      joined_.buffers.push_back(std::move(buffer));
    }
    for (schedule::Barrier barrier : order.program.barriers) {
      barrier.ring = addRing(order.slots);
      barrier.name = joined_[barrier.ring].name + ".phase";
      if (barrier.arrivals == order.program.roles.back().warps) barrier.arrivals = kAgents;
      joined_.barriers.push_back(std::move(barrier));
    }
  }

  schedule::RingId addRing(std::int32_t slots) {
    const auto number = static_cast<std::uint32_t>(joined_.rings.size());
    joined_.rings.push_back({.name = "ring" + std::to_string(number), .depth = slots});
    return schedule::RingId(number);
  }

  void addRole(const RoleAgents &who, RolePart part) {
    part_ = part;
    cursors_.clear();
    joined_.roles.push_back(who.role());
    ScheduleOps ops = join(kernel_.body());
    joined_.roles.back().body = std::move(ops);
  }

  // --- the kernel ---

  bool holdsOrders(const Op &op) const {
    return orders_.contains(&op) || llvm::any_of(op.regions, [&](const Block &body) {
             return llvm::any_of(body.ops, [&](const auto &inner) { return holdsOrders(*inner); });
           });
  }

  ScheduleOps join(const Block &block) { return join(block, 0, block.ops.size()); }

  ScheduleOps join(const Block &block, std::size_t first, std::size_t end) {
    ScheduleOps ops;
    for (std::size_t i = first; i < end; ++i) {
      const Op &op = *block.ops[i];
      if (holdsOrders(op)) addBodies(op, ops);
      if (!mayLeave(op)) continue;
      addIf(op, op.regions.size(), ops, [&] { return join(block, i + 1, end); });
      break;
    }
    return ops;
  }

  void addBodies(const Op &op, ScheduleOps &ops) {
    const auto found = orders_.find(&op);
    const auto role = found == orders_.end() ? std::nullopt : roleIn(found->second.order);
    if (role) return addOrdered(op, found->second, *role, ops);
    for (std::size_t i = 0; i < op.regions.size(); ++i)
      if (isLoop(op))
        ops.push_back(loopOver(op));
      else
        addIf(op, i, ops, [&] { return join(op.regions[i]); });
  }

  ScheduleOp loopOver(const Op &op) {
    const TripsId trips = tripsOf(op, 0);
    const TripsId around = std::exchange(within_, trips);
    ScheduleOp loop{.kind = ScheduleOpKind::For, .trips = trips, .body = join(op.regions[0])};
    within_ = around;
    return loop;
  }

  template <class Body>
  void addIf(const Op &op, std::size_t number, ScheduleOps &ops, const Body &body) {
    ScheduleOps inside = body();
    if (inside.empty()) return;
    const schedule::Guard guard{schedule::Guard::Measure::Count, tripsOf(op, number), 0};
    ops.push_back({.kind = ScheduleOpKind::If, .guard = guard, .body = std::move(inside)});
  }

  /// How often a body runs, in all roles alike.
  TripsId tripsOf(const Op &op, std::size_t number) {
    const auto next = static_cast<std::uint32_t>(joined_.trips.size());
    const auto [at, isNew] = trips_.try_emplace({&op, number}, TripsId(next));
    if (isNew) joined_.trips.push_back({.name = "k" + std::to_string(next), .within = within_});
    return at->second;
  }

  // --- orders ---

  /// The role of an order that does this part of it; none where it leaves nothing to do.
  std::optional<std::size_t> roleIn(const LoopOrder &order) const {
    switch (part_) {
    case RolePart::All:
    case RolePart::AllButBoxes: return 0;
    case RolePart::Loads: return order.isOfRoles() ? std::optional<std::size_t>(0) : std::nullopt;
    case RolePart::Computes: return order.program.roles.size() - 1;
    }
    return std::nullopt;
  }

  void addOrdered(const Op &loop, const OrderedLoop &order, std::size_t role, ScheduleOps &ops) {
    const ScheduleOps *around = &order.order.program.roles[role].body;
    while (around->back().trips != order.order.trips) around = &around->back().body;
    const TripsId trips = tripsOf(loop, 0);
    ScheduleOps made =
        Renamer(joined_, cursors_, order.order.program, places_.at(&loop), trips, part_)
            .run(*around);
    const TripsId outer = std::exchange(within_, trips);
    made.back().body = joinTrip(loop.regions[0], order.loads, std::move(made.back().body));
    within_ = outer;
    llvm::append_range(ops, made);
  }

  /// What a trip does for its loads stands in front of each, as applyOrder writes it.
  ScheduleOps joinTrip(const Block &body, const LoopLoads &loads, ScheduleOps made) {
    ScheduleOps trip;
    std::size_t place = 0, load = 0;
    for (ScheduleOp &op : made) {
      if (op.kind == ScheduleOpKind::Access) {
        const std::size_t until = placeOf(*loads.loads[load++].op, body);
        llvm::append_range(trip, join(body, place, until));
        place = until;
      }
      trip.push_back(std::move(op));
    }
    llvm::append_range(trip, join(body, place, body.ops.size()));
    return trip;
  }

  static std::size_t placeOf(const Op &op, const Block &body) {
    const auto found = llvm::find_if(body.ops, [&](const auto &one) { return one.get() == &op; });
    return static_cast<std::size_t>(found - body.ops.begin());
  }

  const Kernel &kernel_;
  const LoopOrders &orders_;
  schedule::Program joined_;
  std::map<const Op *, Places> places_;
  std::map<std::pair<const Op *, std::size_t>, TripsId> trips_;
  RolePart part_ = RolePart::All; // of the role that is added
  Cursors cursors_;               // of that role
  TripsId within_;
};

} // namespace

schedule::Program joinOrders(const Kernel &kernel, const LoopOrders &orders) {
  return Joiner(kernel, orders).run();
}

} // namespace imbrex::passes::pipeline
