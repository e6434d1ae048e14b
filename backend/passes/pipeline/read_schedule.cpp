#include "backend/passes/pipeline/read_schedule.h"

#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"
#include "backend/ir/ring_bytes.h"
#include "backend/ir/shared_tiles.h"
#include "backend/passes/pipeline/agents.h"
#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/plan_turns.h"
#include "backend/passes/pipeline/program_parts.h"
#include "backend/passes/pipeline/read_condition.h"
#include "backend/passes/pipeline/taken_slots.h"
#include "backend/passes/pipeline/timed_work.h"
#include "backend/passes/pipeline/trip_counts.h"
#include "backend/passes/rewriting.h"
#include "backend/schedule/plan/compute_groups.h"
#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/well_formed.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using schedule::CursorId;
using schedule::Guard;
using schedule::ScheduleOp;
using schedule::ScheduleOpKind;
using schedule::TripsId;
using ScheduleOps = std::vector<ScheduleOp>;

static_assert(kMostSlots <= schedule::kSlots.most);
const schedule::MeetingId kAll(0);
/// What one thread does for all.
bool isByOneThread(const Op &op) {
  return op.kind == OpKind::RingLoadBox || op.kind == OpKind::BarrierExpect;
}

bool isMeetingOfHalf(const Op &op) {
  return op.kind == OpKind::Meet && op.attrs<MeetAttrs>().half != Half::Both;
}

bool holdsRings(const Kernel &kernel, const Op &op);

bool holdsRings(const Kernel &kernel, const Block &body) {
  return llvm::any_of(body.ops, [&](const auto &op) { return holdsRings(kernel, *op); });
}

/// Whether an op, or one in its bodies, moves a ring on or reads what lies there.
bool holdsRings(const Kernel &kernel, const Op &op) {
  return syncOp(op.kind) || readsShared(kernel, op) ||
         llvm::any_of(op.regions, [&](const Block &body) { return holdsRings(kernel, body); });
}

/// Whether threads may hand each other elements for an op, through memory that is no slot.
bool mayExchange(const Kernel &kernel, const machine::Machine &machine, const Op &op) {
  if (isProduct(op)) return workOf(kernel, op, machine).shared > 0; // or held as they are wanted
  constexpr std::array kOfThreads{
      OpKind::Constant,  OpKind::Arange,  OpKind::ViewLoad, OpKind::ViewStore,   OpKind::Load,
      OpKind::Store,     OpKind::RingNew, OpKind::RingCopy, OpKind::RingCopyBox, OpKind::SharedLoad,
      OpKind::RingStore, OpKind::For,     OpKind::While,    OpKind::If,          OpKind::Yield};
  const auto isShared = [&](ValueId value) { return kernel.type(value).isShared(); };
  const bool isName = !op.results.empty() && llvm::all_of(op.results, isShared);
  return !isName && !isOfScalars(kernel, op) && !isElementwise(op.kind) &&
         !llvm::is_contained(kOfThreads, op.kind);
}

class Reader {
  using QueueOf = ProgramParts::QueueOf;
  using Walks = ProgramParts::Walks;

public:
  Reader(const Kernel &kernel, const machine::Machine &machine, Diagnostics &diagnostics,
         ReadFor what)
      : kernel_(kernel), machine_(machine), diagnostics_(diagnostics) {
    if (what == ReadFor::Timeline) timed_.emplace(kernel, machine, parts_);
  }

  std::optional<KernelSchedule> run() {
    program_.name = kernel_.name();
    program_.where = kernel_.where();
    program_.meetings.push_back(meetingOfAll());
    for (const auto &op : kernel_.body().ops) {
      if (op->kind == OpKind::RingNew) parts_.addRing(*op);
      if (op->kind == OpKind::BarrierNew && !parts_.addBarriers(*op))
        unread(*op, "a phase of 'barrier.new' is over before all warps have arrived");
    }
    if (const Op *roles = rolesOf(kernel_)) {
      readAs(kLoader.role(), roles->regions[0]);
      readAs(kComputers.role(), roles->regions[1]);
    } else if (const Op *half = firstOp(kernel_.body(), isMeetingOfHalf)) {
      if (firstOp(kernel_.body(), isByOneThread))
        unread(*half, "one thread loads for both halves of the warps");
      read_.areHalves = true;
      checkBetweenHalves();
      readAs(kFirst.role(), kernel_.body());
      isOther_ = true;
      readAs(kSecond.role(), kernel_.body());
      halveCosts();
    } else if (firstOp(kernel_.body(), isByOneThread)) {
      // The one that starts the loads does what the others do as well.
      readAs(kFirst.role(), kernel_.body());
      isOther_ = true;
      readAs(kOthers.role(), kernel_.body());
      halveCosts();
    } else {
      readAs(kBlock.role(), kernel_.body());
      if (areApart(program_.roles.front().body)) takeOneAgent();
    }
    if (isUnread_) return std::nullopt;
    return std::move(read_);
  }

private:
  void readAs(schedule::Role role, const Block &body) {
    parts_.begin(schedule::RoleId(static_cast<std::uint32_t>(program_.roles.size())));
    program_.roles.push_back(std::move(role));
    taken_ = {};
    ScheduleOps ops = read(body);
    program_.roles.back().body = std::move(ops);
  }

  /// Each of two roles does its half of what all threads do, but what one alone has the engine do.
  void halveCosts() {
    for (schedule::Role &role : program_.roles)
      schedule::forEachOp(role.body, [](ScheduleOp &op) {
        if (op.kind != ScheduleOpKind::Copy) op.cost = schedule::halved(op.cost);
      });
  }

  /// What threads exchange is written, and read behind a meeting: of halves that are one apart some
  /// would read too early.
  void checkBetweenHalves() {
    bool areApart = false;
    for (const auto &op : kernel_.body().ops) {
      if (isMeetingOfHalf(*op)) areApart = !areApart;
      if (!areApart) continue;
      const auto exchanges = [&](const Op &one) { return mayExchange(kernel_, machine_, one); };
      const Op *found = exchanges(*op) ? op.get() : nullptr;
      for (const Block &body : op->regions)
        if (!found) found = firstOp(body, exchanges);
      if (found)
        unread(*found, "threads exchange elements while halves of the warps are a meeting apart");
    }
  }

  /// Whether nobody hands another anything: neither meets, nor touches more than what is his own.
  static bool areApart(const ScheduleOps &body) {
    bool areApart = true;
    schedule::forEachOp(body, [&](const ScheduleOp &op) {
      areApart &= op.kind != ScheduleOpKind::Meet && !op.barrier.valid();
      for (const schedule::Access &access : op.accesses)
        areApart &= access.part == schedule::Part::Own;
    });
    return areApart;
  }

  /// What one does, all do.
  void takeOneAgent() {
    program_.meetings.clear();
    program_.roles.front().warps = 1;
    for (schedule::Buffer &buffer : program_.buffers) buffer.parts = 1;
  }

  void unread(const Op &op, std::string_view why) {
    if (!isUnread_) diagnostics_.report(Diag::PipelineUnread, op.where, kernel_.name(), why);
    isUnread_ = true;
  }

  // --- bodies ---

  ScheduleOps read(const Block &body) {
    const std::size_t outer = loops_.size();
    // A condition may ask for the count of a loop that comes behind it, most likely of the next.
    for (const auto &op : body.ops)
      if (op->kind == OpKind::For && isWalked(*op))
        loops_.push_back({op.get(), counts_.ofFor(*op)});
    std::reverse(loops_.begin() + static_cast<std::ptrdiff_t>(outer), loops_.end());
    ScheduleOps ops = readFrom(body, 0);
    loops_.resize(outer);
    for (std::size_t i = ops.size(); i-- > 0;)
      if (ops[i].kind == ScheduleOpKind::Advance) moveBehindReads(ops, i);
    return ops;
  }

  /// A ring goes on where its slot is taken, and it is all the same if it does so behind what reads
  /// the slot; but a proof looks at far fewer states where no index goes back from its cursor.
  static void moveBehindReads(ScheduleOps &ops, std::size_t advance) {
    const CursorId cursor = ops[advance].cursor;
    const auto forReads = [&](ScheduleOp &op, const auto &visit) {
      for (schedule::Access &access : op.accesses)
        if (access.index.cursor == cursor) visit(access.index);
    };
    std::size_t end = advance + 1;
    for (std::size_t i = end; i < ops.size() && !schedule::hasBody(ops[i].kind); ++i) {
      if (ops[i].cursor == cursor) break;
      forReads(ops[i], [&](const schedule::Index &) { end = i + 1; });
    }
    for (std::size_t i = advance + 1; i < end; ++i)
      forReads(ops[i], [](schedule::Index &index) { ++index.offset; });
    const auto first = ops.begin() + static_cast<std::ptrdiff_t>(advance);
    std::rotate(first, first + 1, ops.begin() + static_cast<std::ptrdiff_t>(end));
  }

  ScheduleOps readFrom(const Block &body, std::size_t first) {
    ScheduleOps ops;
    for (std::size_t i = first; i < body.ops.size(); ++i) {
      const Op &op = *body.ops[i];
      if (const auto sync = syncOp(op.kind))
        readSync(*sync, op, ops);
      else if (readsShared(kernel_, op))
        readTiles(op, ops);
      else if (isWalked(op))
        readBodies(op, ops);
      else if (timed_)
        timed_->add(op, ops);
      else if (mayStop(op))
        ops.push_back({.kind = ScheduleOpKind::Access, .where = op.where});
      if (!mayLeave(op)) continue;
      if (read_.areHalves && firstOp(body, isMeetingOfHalf))
        unread(op, "what half of the warps alone meet for may be left out");
      ops.push_back(maybe(op, counts_.ofRest(op), [&] { return readFrom(body, i + 1); }));
      break;
    }
    return ops;
  }

  /// A timeline also tells the trips in which matrix units multiply.
  bool isWalked(const Block &body) const {
    return holdsRings(kernel_, body) || (timed_ && firstOp(body, isOnUnit));
  }
  bool isWalked(const Op &op) const {
    return holdsRings(kernel_, op) || (timed_ && llvm::any_of(op.regions, [&](const Block &body) {
                                         return firstOp(body, isOnUnit);
                                       }));
  }

  static bool isAssertion(const Op &op) { return op.kind == OpKind::Assert; }

  static bool mayStop(const Op &op) {
    return isAssertion(op) ||
           llvm::any_of(op.regions, [&](const Block &body) { return firstOp(body, isAssertion); });
  }

  ScheduleOps readTrip(const Op &loop) {
    if (timed_) timed_->beginTrip(loop);
    ScheduleOps ops = read(loop.regions[0]);
    if (timed_) timed_->endTrip(loop, ops);
    return ops;
  }

  void readBodies(const Op &op, ScheduleOps &ops) {
    taken_.forgetIn(op);
    readBodiesOf(op, ops);
    taken_.forgetIn(op);
  }

  void readBodiesOf(const Op &op, ScheduleOps &ops) {
    if (op.kind == OpKind::For) {
      const auto loop = llvm::find_if(loops_, [&](const CountedLoop &l) { return l.op == &op; });
      const auto number = loop - loops_.begin();
      read_.loops.push_back({&op, loop->trips});
      ops.push_back(loopOver(loop->trips, op, [&] { return readTrip(op); }));
      loops_[static_cast<std::size_t>(number)].isOver = true;
      return;
    }
    if (op.kind == OpKind::While) {
      read_.loops.push_back({&op, counts_.ofWhile(op)});
      return ops.push_back(
          loopOver(read_.loops.back().trips, op, [&] { return read(op.regions[0]); }));
    }
    for (std::size_t i = 0; i < op.regions.size(); ++i) readBranch(op, i, ops);
  }

  /// Of an if: where its condition counts trips, it is known; else the body runs or does not.
  void readBranch(const Op &op, std::size_t number, ScheduleOps &ops) {
    const Block &body = op.regions[number];
    if (!isWalked(body)) {
      if (!timed_ && firstOp(body, isAssertion))
        ops.push_back({.kind = ScheduleOpKind::Access, .where = op.where});
      return;
    }
    const auto guard = number == 0 ? readCondition(kernel_, op.operand(0), loops_) : std::nullopt;
    const TripsId runs = counts_.ofBranch(op, number);
    ops.push_back(maybe(op, runs, [&] { return read(body); }));
    if (guard) ops.back().guard = *guard;
  }

  template <class Body>
  ScheduleOp loopOver(TripsId trips, const Op &op, const Body &body) {
    const TripsId outer = counts_.enter(trips);
    ScheduleOp loop{.kind = ScheduleOpKind::For, .trips = trips, .body = body(), .where = op.where};
    counts_.enter(outer);
    return loop;
  }

  /// Once or not at all.
  template <class Body>
  ScheduleOp maybe(const Op &op, TripsId runs, const Body &body) {
    const Guard guard{Guard::Measure::Count, runs, 0};
    return {.kind = ScheduleOpKind::If, .guard = guard, .body = body(), .where = op.where};
  }

  // --- rings ---

  void readSync(SyncOp kind, const Op &op, ScheduleOps &ops) {
    const auto add = [&](ScheduleOp made) {
      made.where = op.where;
      if (timed_) made.cost = timed_->costOf(op);
      ops.push_back(std::move(made));
    };
    const auto advance = [&](std::size_t operand, Walks walks) {
      ops.push_back({.kind = ScheduleOpKind::Advance,
                     .cursor = parts_.cursor(op.operand(operand), walks),
                     .where = op.where});
    };
    switch (kind) {
    case SyncOp::RingNew:
    case SyncOp::BarrierNew: return; // before all others
    case SyncOp::RingCopy:
    case SyncOp::RingCopyBox: return readCopy(op, ops);
    case SyncOp::RingStore: {
      const CursorId filled = parts_.cursor(op.operand(0), Walks::Filled);
      add({.kind = ScheduleOpKind::Access,
           .accesses = {ownPart(parts_.buffer(op.operand(0)), filled)}});
      return advance(0, Walks::Filled);
    }
    case SyncOp::RingCommit:
      return add({.kind = ScheduleOpKind::Commit, .queue = parts_.queue(QueueOf::Copies)});
    case SyncOp::RingDrain: return add(readDrain(op));
    case SyncOp::Meet:
      if (const Half half = op.attrs<MeetAttrs>().half;
          half != Half::Both && (half == Half::Second) != isOther_)
        return;
      return add({.kind = ScheduleOpKind::Meet, .meeting = kAll});
    case SyncOp::RingSlot: taken_.note(op); return advance(0, Walks::Taken);
    case SyncOp::RingLoadBox:
      if (isOther_) return;
      add(readLoad(op));
      return advance(0, Walks::Filled);
    case SyncOp::BarrierExpect:
      if (isOther_) return;
      add(atBarrier(ScheduleOpKind::Expect, op, Walks::Arrives));
      ops.back().bytes = op.attrs<BytesAttrs>().bytes;
      return advance(0, Walks::Arrives);
    case SyncOp::BarrierArrive:
      add(atBarrier(ScheduleOpKind::Arrive, op, Walks::Arrives));
      return advance(0, Walks::Arrives);
    case SyncOp::BarrierWait:
      add(atBarrier(ScheduleOpKind::Wait, op, Walks::Awaits));
      ops.back().flipped = op.attrs<WaitAttrs>().flipped;
      return advance(0, Walks::Awaits);
    }
    IMBREX_UNREACHABLE("nobody reads '{0}'", info(op.kind).mnemonic);
  }

  ScheduleOp readDrain(const Op &op) {
    const std::int32_t count = op.attrs<CountAttrs>().count;
    std::int32_t &capacity = program_.queues[parts_.queue(QueueOf::Copies).index()].capacity;
    capacity = std::max(capacity, count);
    return {.kind = ScheduleOpKind::Drain, .count = count, .queue = parts_.queue(QueueOf::Copies)};
  }

  // --- slots ---

  /// An op that reads slots.
  void readTiles(const Op &op, ScheduleOps &ops) {
    ScheduleOp access{.kind = ScheduleOpKind::Access, .where = op.where};
    std::int64_t bytes = 0;
    for (const ValueId operand : op.operands) {
      if (!kernel_.type(operand).isShared()) continue;
      const Op &slot = slotOf(kernel_, operand);
      const auto behind = taken_.usesAgo(slot);
      if (!behind)
        return unread(op, "'" + std::string(info(op.kind).mnemonic) +
                              "' reads a slot of a ring that has gone on in a loop or condition");
      bytes += slotBytes(kernel_, slot.operand(0));
      access.accesses.push_back(readOf(op, slot, *behind));
    }
    if (timed_) return timed_->addReads(op, bytes, std::move(access), ops);
    ops.push_back(std::move(access));
  }

  ScheduleOp readLoad(const Op &op) {
    const ValueId ring = op.operand(0);
    // It ends the phase that was expected last.
    constexpr std::int32_t kLast = -1;
    return {.kind = ScheduleOpKind::Copy,
            .accesses = {{.buffer = parts_.buffer(ring),
                          .index = {parts_.cursor(ring, Walks::Filled)},
                          .writes = true}},
            .barrier = parts_.barrier(op.operand(1)),
            .index = {parts_.cursor(op.operand(1), Walks::Arrives), kLast},
            .bytes = slotBytes(kernel_, ring)};
  }

  ScheduleOp atBarrier(ScheduleOpKind kind, const Op &op, Walks walks) {
    return {.kind = kind,
            .barrier = parts_.barrier(op.operand(0)),
            .index = {parts_.cursor(op.operand(0), walks)}};
  }

  /// A thread that reads a slot as it was filled, each element by one thread, reads what it has
  /// copied itself. Where copies are counted it has to meet the others nevertheless: only then are
  /// its reads over before the slot is filled again.
  bool readsOwn(const Op &read, ValueId ring) const {
    const LayoutId layout = kernel_.layoutOf(ring);
    if (read.kind != OpKind::SharedLoad || kernel_.layoutOf(read.result()) != layout ||
        !machine_.asyncCopies.areGrouped)
      return false;
    // Under other names it has other elements in the same layout.
    if (kernel_.definition(read.operand(0))->kind != OpKind::RingSlot) return false;
    return !isFilledByEngine(ring) && !layout::hasCopies(kernel_.layout(layout));
  }

  bool isFilledByEngine(ValueId ring) const {
    return analysis::filledBy(kernel_, ring) == Ahead::Boxes;
  }

  /// Of the slot that was taken so many slots ago.
  schedule::Access readOf(const Op &read, const Op &slot, std::int32_t behind) {
    const ValueId ring = slot.operand(0);
    schedule::Access access = {.buffer = parts_.buffer(ring)};
    if (readsOwn(read, ring)) access = ownPart(parts_.buffer(ring), {});
    access.writes = false;
    access.index = {parts_.cursor(ring, Walks::Taken), -behind};
    return access;
  }

  /// Of a slot: that of an agent alone in its role is the one of its number among all.
  schedule::Access ownPart(schedule::BufferId buffer, CursorId filled) const {
    schedule::Access access{
        .buffer = buffer, .index = {filled}, .writes = true, .part = schedule::Part::Own};
    if (program_[parts_.role()].warps == kAgents) return access;
    access.part = schedule::Part::Numbered;
    access.number = isOther_ ? 1 : 0;
    return access;
  }

  void readCopy(const Op &op, ScheduleOps &ops) {
    const CursorId filled = parts_.cursor(op.operand(0), Walks::Filled);
    const ScheduleOp issue{.kind = ScheduleOpKind::Issue,
                           .accesses = {ownPart(parts_.buffer(op.operand(0)), filled)},
                           .queue = parts_.queue(QueueOf::Copies),
                           .cost = timed_ ? timed_->costOf(op) : schedule::Cost(),
                           .where = op.where};
    ScheduleOps filling{issue,
                        {.kind = ScheduleOpKind::Advance, .cursor = filled, .where = op.where}};
    if (constantBits(kernel_, op.operand(1)) == std::uint64_t{1})
      std::ranges::move(filling, std::back_inserter(ops));
    else if (const auto guard = readCondition(kernel_, op.operand(1), loops_))
      ops.push_back(
          {.kind = ScheduleOpKind::If, .guard = *guard, .body = filling, .where = op.where});
    else
      unread(
          op,
          "the condition of '" + std::string(info(op.kind).mnemonic) +
              "' does not compare how many trips of a loop are left, or are in all, with a number "
              "below 2^31");
  }

  const Kernel &kernel_;
  const machine::Machine &machine_;
  Diagnostics &diagnostics_;
  KernelSchedule read_;
  schedule::Program &program_ = read_.program;
  TripCounts counts_{kernel_, read_};
  TakenSlots taken_;
  ProgramParts parts_{kernel_, read_};
  std::optional<TimedWork> timed_;
  bool isOther_ = false; // one of those that do not start loads of boxes, or of the second half
  std::vector<CountedLoop> loops_; // those of the bodies around, and of the one that is read
  bool isUnread_ = false;
};

} // namespace

bool hasRings(const Kernel &kernel) { return holdsRings(kernel, kernel.body()); }

bool multipliesInLoops(const Kernel &kernel) {
  return firstOp(kernel.body(), [](const Op &op) {
           return isLoop(op) && firstOp(op.regions[0], isOnUnit);
         }) != nullptr;
}

std::optional<KernelSchedule> readSchedule(const Kernel &kernel, const machine::Machine &machine,
                                           Diagnostics &diagnostics, ReadFor what) {
  auto read = Reader(kernel, machine, diagnostics, what).run();
  Diagnostics broken;
  IMBREX_CHECK(!read || schedule::verify(read->program, broken),
               "a schedule was read that says nothing:\n{0}", broken.render());
  return read;
}

} // namespace imbrex::passes::pipeline
