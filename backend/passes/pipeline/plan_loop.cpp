#include "backend/passes/pipeline/plan_loop.h"

#include "backend/analysis/movement.h"
#include "backend/ir/ring_bytes.h"
#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/read_layout.h"
#include "backend/passes/rewriting.h"
#include "backend/schedule/blocks/block_program.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using schedule::Access;
using schedule::BufferId;
using schedule::QueueId;
using schedule::TripsId;

// What a plan is compared at, where nobody knows: trips of a loop, and of the one around it.
constexpr std::int32_t kUsualTrips = 32, kUsualTripsAround = 4;

std::int64_t tileBytes(const Kernel &kernel, ValueId tile) {
  const Type &type = kernel.type(tile);
  if (!kernel.layoutOf(tile).valid()) return 0;
  const std::int64_t bits = type.isTile() ? storageBits(type.element()) : 64;
  return (bits << kernel.layout(kernel.layoutOf(tile)).outputBits()) / 8;
}

/// What an op would take of shared memory at most if it moved its tiles through it at once. A
/// product leaves those alone that lie there.
std::int64_t exchangeBytes(const Kernel &kernel, const Op &op, const std::set<ValueId> &inPlace) {
  if (op.kind == OpKind::Dot) {
    std::int64_t bytes = 0;
    for (const std::size_t i : {0, 1})
      if (!kernel.type(op.operand(i)).isShared() && !inPlace.contains(op.operand(i)))
        bytes += 2 * tileBytes(kernel, op.operand(i));
    return bytes;
  }
  if (llvm::any_of(op.results, [&](ValueId result) { return inPlace.contains(result); })) return 0;
  std::int64_t most = 0;
  for (const ValueId operand : op.operands) most = std::max(most, tileBytes(kernel, operand));
  return most;
}

constexpr std::array kExchanging{OpKind::ConvertLayout, OpKind::Dot,   OpKind::Reduce,
                                 OpKind::Scan,          OpKind::Sort,  OpKind::Gather,
                                 OpKind::Histogram,     OpKind::Concat};
constexpr std::array kMoving{OpKind::Slice, OpKind::Flip, OpKind::Reshape};

/// A move of bits within the coordinates is done by the layouts (assign-layouts); by an offset, or
/// by arithmetic on coordinates, elements change threads (lower/ops/emit_movement.cpp).
bool exchanges(const Kernel &kernel, const Op &op) {
  if (llvm::is_contained(kExchanging, op.kind)) return true;
  if (!llvm::is_contained(kMoving, op.kind)) return false;
  const auto movement = analysis::movementOf(kernel, op, 0, 0);
  return !movement || movement->offset != layout::Bits{0};
}

bool isInLoop(const Block &block, const Op &wanted, bool inside, bool &found) {
  for (const auto &op : block.ops) {
    if (op.get() == &wanted) return found = true, inside;
    for (const Block &region : op->regions)
      if (const bool is = isInLoop(region, wanted, inside || isLoop(*op), found); found) return is;
  }
  return false;
}

class LoopPlanner {
public:
  LoopPlanner(const Kernel &kernel, const Op &loop, const LoopLoads &loads,
              const PassContext &context)
      : kernel_(kernel), loop_(loop), loads_(loads), copies_(context.machine.asyncCopies) {}

  /// One trip after the other, each beginning with its loads. By a role of their own these are
  /// copies that count on barriers, else operations of a queue.
  schedule::Program work(bool isOfRoles) {
    schedule::Program work{.name = kernel_.name(), .where = loop_.where};
    bool found = false;
    const bool again = isInLoop(kernel_.body(), loop_, false, found);
    if (again) work.trips.push_back({.name = "again"});
    trips_ = TripsId(static_cast<std::uint32_t>(work.trips.size()));
    work.trips.push_back({.name = "trip", .within = again ? TripsId(0) : TripsId()});
    if (!isOfRoles)
      work.queues.push_back({.name = "copies",
                             .role = schedule::RoleId(0),
                             .grouped = true,
                             .capacity = copies_.capacity});
    std::vector<schedule::Op> body = trip(work);
    schedule::Op loop{.kind = schedule::OpKind::For,
                      .trips = trips_,
                      .body = std::move(body),
                      .where = loop_.where};
    if (again) {
      schedule::Op outer{.kind = schedule::OpKind::For, .trips = TripsId(0), .where = loop_.where};
      outer.body.push_back(std::move(loop));
      loop = std::move(outer);
    }
    work.roles.push_back({.name = "block", .warps = agents()});
    work.roles.front().body.push_back(std::move(loop));
    return work;
  }

  /// Who counts as one: a thread waits for its own copies alone, and what threads do to one slot
  /// only meetings order. So each warp is taken for an agent, and one warp for two.
  std::int32_t agents() const { return std::max(kernel_.threads().warps, 2); }
  TripsId trips() const { return trips_; }

private:
  schedule::Op loadOf(const schedule::Program &work, const AheadLoad &load, BufferId buffer,
                      std::int64_t bytes) const {
    schedule::Op op{.kind = schedule::OpKind::Copy,
                    .accesses = {{.buffer = buffer, .writes = true}},
                    .bytes = bytes,
                    .cost = copyCost(copies_, bytes),
                    .where = load.op->where};
    if (work.queues.empty()) return op;
    op.kind = schedule::OpKind::Issue;
    op.bytes = 0;
    op.queue = QueueId(0);
    op.accesses.front().part = schedule::Part::Own;
    return op;
  }

  /// Whether each thread uses what it has copied itself: then nobody need meet. Where copies are
  /// counted all meet nevertheless (read_schedule.cpp).
  bool readsOwn(const AheadLoad &load) const {
    const ValueId tile = load.op->result();
    if (load.way != Way::Copies || !copies_.areGrouped || loads_.inPlace.contains(tile))
      return false;
    const LayoutId own = kernel_.layoutOf(tile);
    return wantedLayout(kernel_, tile).value_or(own) == own &&
           !layout::hasCopies(kernel_.layout(own));
  }

  std::vector<schedule::Op> trip(schedule::Program &work) const {
    std::vector<schedule::Op> issues, uses;
    const std::int64_t compute = bodyCycles();
    for (const AheadLoad &load : loads_.loads) {
      const ValueId tile = load.op->result();
      const std::int64_t bytes =
          slotBytes(kernel_.type(tile), kernel_.layout(kernel_.layoutOf(tile)));
      const BufferId buffer(static_cast<std::uint32_t>(work.buffers.size()));
      work.buffers.push_back(
          {.name = "tile" + std::to_string(buffer.index()), .bytes = bytes, .parts = agents()});
      issues.push_back(loadOf(work, load, buffer, bytes));
      const bool isLast = &load == &loads_.loads.back();
      const auto read = readsOwn(load) ? schedule::Part::Own : schedule::Part::All;
      uses.push_back({.kind = schedule::OpKind::Access,
                      .accesses = {{.buffer = buffer, .part = read}},
                      .cost = readCost(bytes, isLast ? compute : 0),
                      .where = load.op->where});
    }
    if (!work.queues.empty())
      issues.push_back(
          {.kind = schedule::OpKind::Commit, .queue = QueueId(0), .where = loop_.where});
    std::ranges::move(uses, std::back_inserter(issues));
    return issues;
  }

  std::int64_t bodyCycles() const {
    std::int64_t cycles = 0;
    for (const auto &op : loop_.regions[0].ops)
      if (!loads_.addresses.contains(op.get())) cycles += computeCycles(kernel_, *op);
    return cycles;
  }

  const Kernel &kernel_;
  const Op &loop_;
  const LoopLoads &loads_;
  const machine::AsyncCopies &copies_;
  TripsId trips_;
};

std::int64_t bytesOfSlot(const schedule::Program &work) {
  std::int64_t bytes = 0;
  for (const schedule::Buffer &buffer : work.buffers) bytes += buffer.bytes;
  return bytes;
}

/// How the room is divided, for people.
std::string inWords(const RingRoom &room, std::int64_t bytes) {
  return "slots of " + std::to_string(bytes) + " bytes; a block has " + std::to_string(room.bytes) +
         " for them, beside " + std::to_string(room.exchange) + " for exchanges between threads";
}

/// Where each copy is counted: how many of a warp's are in flight, if so many slow it down.
std::string manyInFlight(const Kernel &kernel, const machine::AsyncCopies &copies,
                         std::int64_t slots, std::int64_t bytes) {
  constexpr std::int64_t kStall = schedule::CounterLimits().vmBeforeStall;
  const std::int64_t ofSlot = bytes / (std::int64_t{copies.mostBytes} * kernel.threads().count());
  const std::int64_t inFlight = (slots - 1) * ofSlot;
  if (copies.areGrouped || inFlight < kStall) return "";
  return "  up to " + std::to_string(inFlight) + " loads of a warp are in flight: warps were seen" +
         " to stall from " + std::to_string(kStall) + " on\n";
}

/// Slots that copies can run ahead with. Whether a trip comes is asked of a distance in the index's
/// own type, without a sign: further than that counts, nobody could say (read_condition.h reads
/// numbers of 63 bits).
std::int64_t slotsOfIndex(const Kernel &kernel, const Op &loop) {
  const std::int32_t bits = storageBits(kernel.type(loop.operand(2)).element());
  const std::uint64_t furthest = llvm::maxUIntN(static_cast<std::uint64_t>(std::min(bits, 63)));
  const std::int64_t trips =
      static_cast<std::int64_t>(furthest) / *constantInteger(kernel, loop.operand(2));
  return std::min<std::int64_t>(trips, kMostSlots - 1) + 1;
}

/// Behind a ring whose copies lie in lane order: where those go that nobody wants
/// (lower/memory/ring.h).
std::int64_t unreadBytes(const Kernel &kernel, const machine::Machine &machine) {
  const machine::AsyncCopies &copies = machine.asyncCopies;
  return copies.areInLaneOrder ? std::int64_t{copies.mostBytes} * kernel.threads().count() : 0;
}

} // namespace

RingRoom ringRoom(const Kernel &kernel, const machine::Machine &machine,
                  const std::set<ValueId> &inPlace) {
  const std::int64_t limit = machine.sharedMemoryBytes;
  // What exchanges take can be cut into rounds, at the price of time.
  constexpr std::int64_t kLargestShare = 3;
  const std::int64_t least = leastExchangeBytes(kernel);
  std::int64_t exchange = least, taken = 0;
  walk(kernel.body(), [&](const Op &op) {
    if (exchanges(kernel, op)) exchange = std::max(exchange, exchangeBytes(kernel, op, inPlace));
    if (op.kind == OpKind::RingNew)
      taken += op.attrs<RingAttrs>().slots * slotBytes(kernel, op.result()) +
               unreadBytes(kernel, machine);
    if (op.kind == OpKind::BarrierNew)
      taken += op.attrs<BarrierAttrs>().slots * machine::kBarrierBytes;
  });
  const std::int64_t most =
      std::min(limit / kLargestShare, std::int64_t{machine.staticSharedMemoryBytes});
  exchange = std::max(least, std::min(exchange, most));
  return {.bytes = limit - exchange - taken, .limit = limit, .exchange = exchange};
}

namespace {

std::optional<LoopPlan> plan(const Kernel &kernel, const Op &loop, const LoopLoads &loads,
                             const RingRoom &room, const PassContext &context, bool isOfRoles,
                             std::string &why) {
  LoopPlanner planner(kernel, loop, loads, context);
  const schedule::Program work = planner.work(isOfRoles);
  // A slot of boxes has two barriers: one says that it is full, one that it is empty.
  const std::int64_t beside = loads.has(Way::Boxes) ? 2 * machine::kBarrierBytes : 0;
  const std::int64_t unread = unreadBytes(kernel, context.machine) * std::ssize(loads.loads);
  const std::int64_t forSlots = room.bytes - unread;
  const std::int64_t bytes = bytesOfSlot(work), fitting = forSlots / (bytes + beside);
  if (room.slots < 2) {
    why = "no proof was found of its slots and those of the other loops";
    return std::nullopt;
  }
  if (fitting < 2) {
    why = "there is no room for two " + inWords(room, bytes);
    return std::nullopt;
  }
  const std::int32_t asked = loop.attrs<ForAttrs>().pipelined;
  const bool isAsked = asked != ForAttrs::kPlannerChooses;
  const std::int64_t ahead = isOfRoles ? fitting : slotsOfIndex(kernel, loop);
  const auto most = static_cast<std::int32_t>(std::min({fitting, ahead, std::int64_t{room.slots}}));
  const std::int32_t slots = std::min(asked, most);
  machine::Machine machine = context.machine;
  machine.sharedMemoryBytes = static_cast<std::int32_t>(forSlots);
  schedule::PlanRequest request{.machine = machine,
                                .loop = planner.trips(),
                                .trips = std::vector(work.trips.size(), kUsualTripsAround),
                                .slots = isAsked ? std::optional(slots) : std::nullopt,
                                .warps = planner.agents()};
  request.trips.back() = kUsualTrips;
  auto plan = planSchedule(work, request, context.diagnostics);
  if (plan && plan->taken().slots > most) {
    request.slots = most;
    plan = planSchedule(work, request, context.diagnostics);
  }
  if (!plan) return std::nullopt;
  if (plan->taken().slots == 1) {
    why = "no second slot would make it faster";
    return std::nullopt;
  }
  LoopPlan planned{
      .program = plan->program, .trips = planner.trips(), .slots = plan->taken().slots};
  if (context.explanation) {
    const std::string more = ": " + std::to_string(asked) + " ";
    planned.explanation =
        "  " + inWords(room, bytes) +
        (asked <= slots ? ""
         : most == ForAttrs::kMostSlots
             ? more + "are more than are taken: the code that starts them has a part for each"
         : most == room.slots
             ? more + "are more than could be proven beside those of the other loops"
         : ahead < fitting ? more + "are more than the loop's index can count ahead"
                           : more + "do not fit") +
        "\n" + manyInFlight(kernel, context.machine.asyncCopies, planned.slots, bytes) +
        explain(*plan, request);
  }
  return planned;
}

/// What the engine loads in a trip ends a phase of a barrier instead of a group of a queue: what
/// waited for the trip's group waits for its phase, and for the group where threads copy as well.
class PhasesForGroups {
public:
  PhasesForGroups(LoopPlan &plan, const LoopLoads &loads)
      : program_(plan.program), trips_(plan.trips), loads_(loads) {}

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

  bool hasGroups() const { return loads_.has(Way::Copies); }

  void rewrite(std::vector<schedule::Op> &body, bool isInLoop) {
    std::vector<schedule::Op> out;
    const std::int64_t bytes = aim(body);
    if (bytes > 0)
      out.push_back({.kind = schedule::OpKind::Expect,
                     .barrier = schedule::BarrierId(0),
                     .index = {kAhead},
                     .bytes = bytes,
                     .where = body.front().where});
    for (schedule::Op &op : body) {
      rewrite(op.body, op.kind == schedule::OpKind::For && op.trips == trips_);
      const bool isDrain = op.kind == schedule::OpKind::Drain;
      if (isDrain && isInLoop)
        out.push_back({.kind = schedule::OpKind::Wait,
                       .barrier = schedule::BarrierId(0),
                       .index = {kNow},
                       .where = op.where});
      if (hasGroups() || !(isDrain || op.kind == schedule::OpKind::Commit))
        out.push_back(std::move(op));
    }
    body = std::move(out);
  }

  /// Make a body's loads of boxes copies that count on the barrier. Returns the bytes they bring.
  std::int64_t aim(std::vector<schedule::Op> &body) const {
    std::int64_t bytes = 0;
    for (schedule::Op &op : body) {
      if (op.kind != schedule::OpKind::Issue) continue;
      schedule::Access &slot = op.accesses.front();
      if (loads_.loads[slot.buffer.index()].way != Way::Boxes) continue;
      op.kind = schedule::OpKind::Copy;
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

} // namespace

std::optional<LoopPlan> planLoop(const Kernel &kernel, const Op &loop, const LoopLoads &loads,
                                 const RingRoom &room, const PassContext &context,
                                 std::string &why) {
  constexpr bool kOneRole = false;
  auto planned = plan(kernel, loop, loads, room, context, kOneRole, why);
  if (planned && loads.has(Way::Boxes)) PhasesForGroups(*planned, loads).run();
  return planned;
}

std::optional<LoopPlan> planRoles(const Kernel &kernel, const Op &loop, const LoopLoads &loads,
                                  const RingRoom &room, const PassContext &context,
                                  std::string &why) {
  constexpr bool kTwoRoles = true;
  return plan(kernel, loop, loads, room, context, kTwoRoles, why);
}

} // namespace imbrex::passes::pipeline
