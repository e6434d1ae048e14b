#include "backend/passes/pipeline/read_schedule.h"

#include "backend/ir/ring_bytes.h"
#include "backend/schedule/check.h"
#include "backend/schedule/well_formed.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using schedule::CursorId;
using schedule::Guard;
using schedule::TripsId;
using ScheduleOp = schedule::OpKind;
using ScheduleOps = std::vector<schedule::Op>;

constexpr std::int32_t kAgents = 2;
const schedule::RoleId kRole(0);
const schedule::QueueId kCopies(0);
const schedule::MeetingId kAll(0);

bool isRingOp(const Op &op) { return info(op.kind).effect == Effect::Ring; }

bool holdsRings(const Op &op) {
  return isRingOp(op) || llvm::any_of(op.regions, [](const Block &body) {
           return llvm::any_of(body.ops, [](const auto &inner) { return holdsRings(*inner); });
         });
}

/// Whether what stands behind the op may be left out: a way out of the body, or of the kernel.
bool mayLeave(const Op &op) {
  if (op.kind == OpKind::BreakIf || op.kind == OpKind::ExitIf) return true;
  const bool isLoop = op.kind == OpKind::For || op.kind == OpKind::While;
  return llvm::any_of(op.regions, [&](const Block &body) {
    return llvm::any_of(body.ops, [&](const auto &inner) {
      return mayLeave(*inner) && !(isLoop && inner->kind == OpKind::BreakIf);
    });
  });
}

class Reader {
public:
  Reader(const Kernel &kernel, Diagnostics &diagnostics)
      : kernel_(kernel), diagnostics_(diagnostics) {}

  std::optional<schedule::Program> run() {
    program_.name = kernel_.name();
    program_.roles.push_back({.name = "block", .warps = kAgents});
    program_.queues.push_back({.name = "copies", .role = kRole, .grouped = true, .capacity = 0});
    program_.meetings.push_back({.name = "all", .parties = kAgents});
    program_.roles.front().body = read(kernel_.body());
    if (isUnread_) return std::nullopt;
    return std::move(program_);
  }

private:
  struct Ring {
    schedule::BufferId buffer;
    CursorId filled, taken;
  };
  /// A loop whose body is read, or is in the body that is.
  struct Loop {
    const Op *op;
    TripsId trips;
  };

  void unread(const Op &op, std::string_view why) {
    if (!isUnread_) diagnostics_.report(Diag::PipelineUnread, op.where, kernel_.name(), why);
    isUnread_ = true;
  }

  TripsId newTrips() {
    const TripsId trips(static_cast<std::uint32_t>(program_.trips.size()));
    program_.trips.push_back({.name = "k" + std::to_string(trips.index()), .within = within_});
    return trips;
  }

  // --- bodies ---

  ScheduleOps read(const Block &body) {
    const std::size_t outer = loops_.size();
    // A condition may ask for the count of a loop that comes behind it.
    for (const auto &op : body.ops)
      if (op->kind == OpKind::For && holdsRings(*op)) loops_.push_back({op.get(), newTrips()});
    ScheduleOps ops = readFrom(body, 0);
    loops_.resize(outer);
    return ops;
  }

  ScheduleOps readFrom(const Block &body, std::size_t first) {
    ScheduleOps ops;
    for (std::size_t i = first; i < body.ops.size(); ++i) {
      const Op &op = *body.ops[i];
      if (isRingOp(op))
        readRingOp(op, ops);
      else if (holdsRings(op))
        readBodies(op, ops);
      if (!mayLeave(op)) continue;
      ops.push_back(maybe(op, [&] { return readFrom(body, i + 1); }));
      break;
    }
    return ops;
  }

  void readBodies(const Op &op, ScheduleOps &ops) {
    if (op.kind == OpKind::For) {
      const auto loop = llvm::find_if(loops_, [&](const Loop &l) { return l.op == &op; });
      ops.push_back(loopOver(loop->trips, op, [&] { return read(op.regions[0]); }));
      return;
    }
    if (op.kind == OpKind::While)
      return ops.push_back(loopOver(newTrips(), op, [&] { return read(op.regions[0]); }));
    for (const Block &body : op.regions) ops.push_back(maybe(op, [&] { return read(body); }));
  }

  template <class Body>
  schedule::Op loopOver(TripsId trips, const Op &op, const Body &body) {
    const TripsId outer = std::exchange(within_, trips);
    schedule::Op loop{.kind = ScheduleOp::For, .trips = trips, .body = body(), .where = op.where};
    within_ = outer;
    return loop;
  }

  /// Once or not at all.
  template <class Body>
  schedule::Op maybe(const Op &op, const Body &body) {
    const Guard guard{Guard::Measure::Count, newTrips(), 0};
    return {.kind = ScheduleOp::If, .guard = guard, .body = body(), .where = op.where};
  }

  // --- rings ---

  // Not a switch: of all ops these few are rings'.
  void readRingOp(const Op &op, ScheduleOps &ops) {
    const auto count = [&] { return op.attrs<CountAttrs>().count; };
    const auto add = [&](schedule::Op made) {
      made.where = op.where;
      ops.push_back(std::move(made));
    };
    if (op.kind == OpKind::RingNew) return addRing(op);
    if (op.kind == OpKind::RingCommit) return add({.kind = ScheduleOp::Commit, .queue = kCopies});
    if (op.kind == OpKind::Meet) return add({.kind = ScheduleOp::Meet, .meeting = kAll});
    if (op.kind == OpKind::RingDrain) {
      std::int32_t &capacity = program_.queues.front().capacity;
      capacity = std::max(capacity, count());
      return add({.kind = ScheduleOp::Drain, .count = count(), .queue = kCopies});
    }
    const Ring &ring = rings_.at(op.operand(0));
    if (op.kind != OpKind::RingRead) return readCopy(op, ring, ops);
    add({.kind = ScheduleOp::Access, .accesses = {{.buffer = ring.buffer, .index = {ring.taken}}}});
    add({.kind = ScheduleOp::Advance, .cursor = ring.taken});
  }

  void addRing(const Op &op) {
    const std::string name = "ring" + std::to_string(rings_.size());
    const schedule::RingId ring(static_cast<std::uint32_t>(program_.rings.size()));
    program_.rings.push_back({.name = name, .depth = op.attrs<RingAttrs>().slots});
    const auto cursor = [&](const char *what) {
      program_.cursors.push_back({.name = name + what, .role = kRole, .ring = ring});
      return CursorId(static_cast<std::uint32_t>(program_.cursors.size()) - 1);
    };
    const schedule::BufferId buffer(static_cast<std::uint32_t>(program_.buffers.size()));
    program_.buffers.push_back({.name = name + ".tile",
                                .ring = ring,
                                .bytes = slotBytes(kernel_, op.result()),
                                .parts = kAgents});
    const CursorId filled = cursor(".filled");
    rings_[op.result()] = {buffer, filled, cursor(".taken")};
  }

  void readCopy(const Op &op, const Ring &ring, ScheduleOps &ops) {
    const schedule::Op issue{.kind = ScheduleOp::Issue,
                             .accesses = {{.buffer = ring.buffer,
                                           .index = {ring.filled},
                                           .writes = true,
                                           .part = schedule::Part::Own}},
                             .queue = kCopies,
                             .where = op.where};
    ScheduleOps filling{issue,
                        {.kind = ScheduleOp::Advance, .cursor = ring.filled, .where = op.where}};
    if (constantBits(kernel_, op.operand(1)) == std::uint64_t{1})
      std::ranges::move(filling, std::back_inserter(ops));
    else if (const auto guard = readCondition(op.operand(1)))
      ops.push_back({.kind = ScheduleOp::If, .guard = *guard, .body = filling, .where = op.where});
    else
      unread(op, "the condition of '" + std::string(info(op.kind).mnemonic) +
                     "' does not compare how many trips of a loop are left, or are in all");
  }

  // --- conditions ---

  const Op *madeBy(ValueId value, OpKind kind) const {
    const Op *op = kernel_.definition(value);
    return op && op->kind == kind ? op : nullptr;
  }

  /// `distance > n steps`, as numbers without a sign.
  std::optional<Guard> readCondition(ValueId condition) const {
    const Op *greater = madeBy(condition, OpKind::Gt);
    if (!greater || isSigned(kernel_.type(greater->operand(0)).element())) return std::nullopt;
    const auto bound = constantInteger(kernel_, greater->operand(1));
    if (!bound || *bound < 0) return std::nullopt;
    for (const Loop &loop : loops_) {
      const auto step = constantInteger(kernel_, loop.op->operand(2));
      if (!step || *step <= 0 || *bound % *step != 0 || mayBeLeft(*loop.op)) continue;
      const auto measure = readDistance(greater->operand(0), *loop.op);
      if (!measure) continue;
      return Guard{*measure, loop.trips, static_cast<std::int32_t>(*bound / *step)};
    }
    return std::nullopt;
  }

  /// Then its trips are fewer than its numbers say.
  static bool mayBeLeft(const Op &loop) {
    return llvm::any_of(loop.regions[0].ops, [](const auto &op) { return mayLeave(*op); });
  }

  /// From the index to the end: the trips that are left; from the beginning, or 0 where the end
  /// lies before it: all.
  std::optional<Guard::Measure> readDistance(ValueId value, const Op &loop) const {
    if (isDistance(value, loop.operand(1), loop.regions[0].arguments[0]))
      return Guard::Measure::Left;
    const Op *select = madeBy(value, OpKind::Select);
    if (!select || constantBits(kernel_, select->operand(2)) != std::uint64_t{0}) return {};
    const Op *runs = madeBy(select->operand(0), OpKind::Lt);
    const bool isAll = runs && runs->operand(0) == loop.operand(0) &&
                       runs->operand(1) == loop.operand(1) &&
                       isDistance(select->operand(1), loop.operand(1), loop.operand(0));
    return isAll ? std::optional(Guard::Measure::Count) : std::nullopt;
  }

  bool isDistance(ValueId value, ValueId high, ValueId low) const {
    if (const Op *bits = madeBy(value, OpKind::Bitcast)) value = bits->operand(0);
    const Op *difference = madeBy(value, OpKind::Sub);
    return difference && difference->operand(0) == high && difference->operand(1) == low;
  }

  const Kernel &kernel_;
  Diagnostics &diagnostics_;
  schedule::Program program_;
  std::map<ValueId, Ring> rings_;
  std::vector<Loop> loops_; // those of the bodies around, and of the one that is read
  TripsId within_;
  bool isUnread_ = false;
};

} // namespace

bool hasRings(const Kernel &kernel) {
  return llvm::any_of(kernel.body().ops, [](const auto &op) { return holdsRings(*op); });
}

std::optional<schedule::Program> readSchedule(const Kernel &kernel, Diagnostics &diagnostics) {
  auto program = Reader(kernel, diagnostics).run();
  Diagnostics broken;
  IMBREX_CHECK(!program || schedule::verify(*program, broken),
               "a schedule was read that says nothing:\n{0}", broken.render());
  return program;
}

bool checkRings(const Kernel &kernel, Diagnostics &diagnostics) {
  if (!hasRings(kernel)) return true;
  const auto program = readSchedule(kernel, diagnostics);
  return program && schedule::report(schedule::prove(*program), diagnostics);
}

} // namespace imbrex::passes::pipeline
