#include "backend/schedule/plan/synchronise.h"

#include "backend/schedule/program/channels.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace imbrex::schedule {

namespace {

/// The two barriers of a channel.
struct ChannelBarriers {
  const Channel *channel;
  BarrierId full, empty;
};

/// What goes before and after each operation of a body.
struct Insertions {
  explicit Insertions(std::size_t size) : before(size), after(size) {}
  std::vector<std::vector<ScheduleOp>> before, after;
};

/// The part of a body, by places, in which a cursor stands at one use: up to an advance.
struct UseInterval {
  CursorId cursor;
  std::size_t begin, end;
};

/// The operations of a stay that touch the use.
struct AccessSpan {
  std::size_t first = 0, last = 0;
  const ScheduleOp *lastTouch = nullptr; ///< The last in order, in whatever inner body.
};

/// A slot that a queue reads, to be given back when that is over.
struct SlotRelease {
  CursorId cursor;
  BarrierId empty;
  std::size_t place;         ///< Behind this: the queue's last operation in the stay.
  std::int32_t entriesAfter; ///< Of the queue, from the last that reads it to there.
};

std::int32_t entriesOf(const Program &program, const ScheduleOp &op) {
  if (op.kind == ScheduleOpKind::Commit) return 1;
  return op.kind == ScheduleOpKind::Issue && !program[op.queue].grouped ? op.count : 0;
}

class BarrierAdder {
public:
  BarrierAdder(Program program, const std::vector<QueuePlan> &queues, Diagnostics &diagnostics)
      : program_(std::move(program)), queues_(queues), diagnostics_(diagnostics) {}

  std::optional<Program> operator()() {
    channels_ = findChannels(program_, diagnostics_);
    if (diagnostics_.hasErrors()) return std::nullopt;
    for (const Channel &channel : channels_)
      if (channel.crossesRoles()) makeBarriers(channel);
    for (std::uint32_t r = 0; r < program_.roles.size(); ++r) {
      std::vector<ScheduleOp> tail;
      std::vector<ScheduleOp> &body = program_.roles[r].body;
      body = withBarriers(RoleId(r), std::move(body), nullptr, tail);
    }
    if (diagnostics_.hasErrors()) return std::nullopt;
    return std::move(program_);
  }

private:
  void makeBarriers(const Channel &channel) {
    std::int32_t consumers = 0;
    for (const RoleId role : channel.consumers)
      if (role != channel.producer) consumers += program_[role].warps;
    const auto make = [&](std::string_view what, std::int32_t arrivals) {
      program_.barriers.push_back({.name = program_[channel.ring].name + "." + std::string(what),
                                   .ring = channel.ring,
                                   .arrivals = arrivals});
      return BarrierId(static_cast<std::uint32_t>(program_.barriers.size()) - 1);
    };
    const BarrierId full = make("full", program_[channel.producer].warps);
    guarded_[channel.ring] = {.channel = &channel, .full = full, .empty = make("empty", consumers)};
  }

  /// `tail` gets what must come behind the loop whose body this is.
  std::vector<ScheduleOp> withBarriers(RoleId role, std::vector<ScheduleOp> body,
                                       const ScheduleOp *loop, std::vector<ScheduleOp> &tail) {
    Insertions additions(body.size());
    std::map<QueueId, std::vector<SlotRelease>> releases;
    for (const UseInterval &stay : staysOf(body)) addFor(role, stay, body, additions, releases);
    for (auto &[queue, slots] : releases) giveBack(queue, slots, body, loop, additions, tail);

    std::vector<ScheduleOp> out;
    const auto append = [&](std::vector<ScheduleOp> ops) {
      std::ranges::move(ops, std::back_inserter(out));
    };
    for (std::size_t i = 0; i < body.size(); ++i) {
      append(std::move(additions.before[i]));
      const ScheduleOp *inner = body[i].kind == ScheduleOpKind::For ? &body[i] : nullptr;
      std::vector<ScheduleOp> behind;
      ScheduleOp op = body[i];
      op.body = withBarriers(role, std::move(op.body), inner, behind);
      out.push_back(std::move(op));
      append(std::move(behind));
      append(std::move(additions.after[i]));
    }
    return out;
  }

  static std::vector<UseInterval> staysOf(const std::vector<ScheduleOp> &body) {
    std::vector<UseInterval> stays;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (body[i].kind != ScheduleOpKind::Advance) continue;
      std::size_t begin = 0;
      for (std::size_t before = 0; before < i; ++before)
        if (advances(body[before], body[i].cursor)) begin = before + 1;
      stays.push_back({.cursor = body[i].cursor, .begin = begin, .end = i});
    }
    return stays;
  }

  static bool advances(const ScheduleOp &op, CursorId cursor) {
    return (op.kind == ScheduleOpKind::Advance && op.cursor == cursor) ||
           std::ranges::any_of(op.body,
                               [&](const ScheduleOp &inner) { return advances(inner, cursor); });
  }

  void addFor(RoleId role, const UseInterval &stay, std::vector<ScheduleOp> &body,
              Insertions &additions, std::map<QueueId, std::vector<SlotRelease>> &releases) {
    const auto found = guarded_.find(program_[stay.cursor].ring);
    if (found == guarded_.end()) return;
    const ChannelBarriers &guarded = found->second;
    const bool produces = guarded.channel->producer == role;
    const auto span = spanOf(stay, produces, body);
    if (!span) return;
    if (produces)
      addProducer(stay, guarded, *span, body, additions);
    else
      addConsumer(stay, guarded, *span, body, additions, releases);
  }

  std::optional<AccessSpan> spanOf(const UseInterval &stay, bool writes,
                                   const std::vector<ScheduleOp> &body) const {
    std::optional<AccessSpan> span;
    for (std::size_t i = stay.begin; i < stay.end; ++i) {
      const auto look = [&](const ScheduleOp &op) {
        for (const Access &access : op.accesses) {
          if (access.index.cursor != stay.cursor || access.writes != writes) continue;
          if (!span) span = {.first = i};
          span->last = i;
          span->lastTouch = &op;
        }
      };
      look(body[i]);
      forEachOp(body[i].body, look);
    }
    return span;
  }

  void addProducer(const UseInterval &stay, const ChannelBarriers &guarded, const AccessSpan &span,
                   std::vector<ScheduleOp> &body, Insertions &additions) {
    const ScheduleOp &last = *span.lastTouch;
    const auto at = [&](ScheduleOpKind kind, BarrierId barrier) {
      return ScheduleOp{
          .kind = kind, .barrier = barrier, .index = {stay.cursor}, .where = last.where};
    };
    ScheduleOp wait = at(ScheduleOpKind::Wait, guarded.empty);
    wait.flipped = true;
    additions.before[span.first].push_back(wait);
    std::vector<ScheduleOp> &after = additions.after[span.last];
    if (last.kind == ScheduleOpKind::Copy) {
      ScheduleOp expect = at(ScheduleOpKind::Expect, guarded.full);
      expect.bytes = aimCopies(stay, guarded, body);
      additions.before[span.first].push_back(expect);
    } else if (last.kind == ScheduleOpKind::Issue && queues_[last.queue.index()].signals) {
      after.push_back(at(ScheduleOpKind::Signal, guarded.full));
      after.back().queue = last.queue;
    } else {
      if (last.kind == ScheduleOpKind::Issue)
        after.push_back({.kind = ScheduleOpKind::Drain, .count = 0, .queue = last.queue});
      if (guarded.channel->isReadByAsyncProxy && !program_.isAsync(last))
        after.push_back({.kind = ScheduleOpKind::Fence});
      after.push_back(at(ScheduleOpKind::Arrive, guarded.full));
    }
  }

  /// The copies of one use end at its barrier; in an inner loop nobody knew how many there are.
  /// Returns their bytes.
  std::int64_t aimCopies(const UseInterval &stay, const ChannelBarriers &guarded,
                         std::vector<ScheduleOp> &body) {
    std::int64_t bytes = 0;
    const auto aim = [&](ScheduleOp &copy, bool isInner) {
      if (copy.kind != ScheduleOpKind::Copy || copy.accesses.empty()) return;
      if (copy.accesses.front().index.cursor != stay.cursor) return;
      copy.barrier = guarded.full;
      copy.index = {stay.cursor};
      bytes += copy.bytes;
      if (isInner)
        diagnostics_.report(Diag::ScheduleUncountedBytes, copy.where,
                            program_[guarded.channel->ring].name);
    };
    for (std::size_t i = stay.begin; i < stay.end; ++i) {
      aim(body[i], false);
      forEachOp(body[i].body, [&](ScheduleOp &inner) { aim(inner, true); });
    }
    return bytes;
  }

  void addConsumer(const UseInterval &stay, const ChannelBarriers &guarded, const AccessSpan &span,
                   const std::vector<ScheduleOp> &body, Insertions &additions,
                   std::map<QueueId, std::vector<SlotRelease>> &releases) {
    const ScheduleOp &last = *span.lastTouch;
    const ScheduleOp wait = {.kind = ScheduleOpKind::Wait,
                             .barrier = guarded.full,
                             .index = {stay.cursor},
                             .where = last.where};
    additions.before[span.first].push_back(wait);
    ScheduleOp release = {.kind = ScheduleOpKind::Arrive,
                          .barrier = guarded.empty,
                          .index = {stay.cursor},
                          .where = last.where};
    if (last.kind != ScheduleOpKind::Issue) {
      additions.after[span.last].push_back(release);
    } else if (queues_[last.queue.index()].signals) {
      release.kind = ScheduleOpKind::Signal;
      release.queue = last.queue;
      additions.after[span.last].push_back(release);
    } else {
      std::size_t place = span.last;
      std::int32_t entries = 0;
      for (std::size_t i = span.last + 1; i < stay.end; ++i) {
        if (!mentions(body[i], last.queue)) continue;
        place = i;
        entries += entriesOf(program_, body[i]);
      }
      // The commit that closes the reading group does not come behind it.
      if (program_[last.queue].grouped) entries = std::max(entries - 1, 0);
      releases[last.queue].push_back(
          {.cursor = stay.cursor, .empty = guarded.empty, .place = place, .entriesAfter = entries});
    }
  }

  /// Behind the last operation of the queue: the slots that were read first come first, each after
  /// the weakest drain that says so.
  void giveBack(QueueId queue, std::vector<SlotRelease> &slots, const std::vector<ScheduleOp> &body,
                const ScheduleOp *loop, Insertions &additions, std::vector<ScheduleOp> &tail) {
    const std::int32_t lag = loop ? queues_[queue.index()].inFlight : 0;
    std::int32_t entries = 0;
    for (const ScheduleOp &op : body)
      if (mentions(op, queue)) entries += entriesOf(program_, op);
    std::ranges::sort(slots, [](const SlotRelease &a, const SlotRelease &b) {
      return std::tuple(a.place, -a.entriesAfter, a.cursor) <
             std::tuple(b.place, -b.entriesAfter, b.cursor);
    });
    const SlotRelease *before = nullptr;
    for (const SlotRelease &slot : slots) {
      std::vector<ScheduleOp> &after = additions.after[slot.place];
      const bool isDrained =
          before && before->place == slot.place && before->entriesAfter == slot.entriesAfter;
      if (!isDrained)
        after.push_back({.kind = ScheduleOpKind::Drain,
                         .count = lag * entries + slot.entriesAfter,
                         .queue = queue});
      before = &slot;
      addRelease(slot, lag, loop, after);
    }
    if (lag > 0) finish(queue, slots, lag, *loop, tail);
  }

  static bool mentions(const ScheduleOp &op, QueueId queue) {
    return op.queue == queue || std::ranges::any_of(op.body, [&](const ScheduleOp &inner) {
             return mentions(inner, queue);
           });
  }

  static ScheduleOp releaseOf(const SlotRelease &slot, std::int32_t back) {
    return {.kind = ScheduleOpKind::Arrive, .barrier = slot.empty, .index = {slot.cursor, -back}};
  }

  static void addRelease(const SlotRelease &slot, std::int32_t lag, const ScheduleOp *loop,
                         std::vector<ScheduleOp> &after) {
    if (lag == 0) return after.push_back(releaseOf(slot, 0));
    const Guard guard = {
        .measure = Guard::Measure::Done, .trips = loop->trips, .than = loop->first + lag - 1};
    after.push_back({.kind = ScheduleOpKind::If, .guard = guard, .body = {releaseOf(slot, lag)}});
  }

  /// Behind the loop: what was still being read in its last trips.
  static void finish(QueueId queue, const std::vector<SlotRelease> &slots, std::int32_t lag,
                     const ScheduleOp &loop, std::vector<ScheduleOp> &tail) {
    tail.push_back({.kind = ScheduleOpKind::Drain, .count = 0, .queue = queue});
    for (std::int32_t back = lag; back > 0; --back) {
      const Guard guard = {.measure = Guard::Measure::Count,
                           .trips = loop.trips,
                           .than = loop.first + loop.less + back - 1};
      std::vector<ScheduleOp> given;
      for (const SlotRelease &slot : slots) given.push_back(releaseOf(slot, back));
      tail.push_back({.kind = ScheduleOpKind::If, .guard = guard, .body = std::move(given)});
    }
  }

  Program program_;
  const std::vector<QueuePlan> &queues_;
  Diagnostics &diagnostics_;
  std::vector<Channel> channels_;
  std::map<RingId, ChannelBarriers> guarded_;
};

} // namespace

std::optional<Program> addBarriers(Program program, const std::vector<QueuePlan> &queues,
                                   Diagnostics &diagnostics) {
  return BarrierAdder(std::move(program), queues, diagnostics)();
}

} // namespace imbrex::schedule
