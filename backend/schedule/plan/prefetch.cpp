#include "backend/schedule/plan/prefetch.h"

#include "backend/schedule/program/channels.h"

#include <algorithm>
#include <set>

namespace imbrex::schedule {

namespace {

/// The loop over these trips, in a body or in the bodies of it; null where there is none.
ScheduleOp *findLoop(std::vector<ScheduleOp> &body, TripsId trips) {
  for (ScheduleOp &op : body) {
    if (op.kind == ScheduleOpKind::For && op.trips == trips) return &op;
    if (ScheduleOp *inner = findLoop(op.body, trips)) return inner;
  }
  return nullptr;
}

class Prefetcher {
public:
  Prefetcher(Program &program, QueueId queue, TripsId loop, std::int32_t slots)
      : program_(program), queue_(queue), loop_(loop), slots_(slots) {}

  bool operator()(Diagnostics &diagnostics) {
    std::vector<ScheduleOp> &body = program_.roles.front().body;
    ScheduleOp *loop = findLoop(body, loop_);
    if (!loop) return true;
    collect(*loop);
    if (buffers_.empty()) return true;
    if (!verify(*loop, body, diagnostics)) return false;
    makeRing();
    replace(body, loop);
    return true;
  }

private:
  bool isLoad(const ScheduleOp &op) const {
    return op.queue == queue_ &&
           (op.kind == ScheduleOpKind::Issue || op.kind == ScheduleOpKind::Commit);
  }

  void collect(const ScheduleOp &loop) {
    for (const ScheduleOp &op : loop.body)
      if (isLoad(op))
        for (const Access &access : op.accesses)
          if (access.writes) buffers_.insert(access.buffer);
  }

  bool touches(const ScheduleOp &op) const {
    return std::ranges::any_of(op.accesses,
                               [&](const Access &a) { return buffers_.contains(a.buffer); });
  }

  /// All that touches the buffers is in the loop, and all that writes them is a load at its top.
  bool verify(const ScheduleOp &loop, const std::vector<ScheduleOp> &body,
              Diagnostics &diagnostics) const {
    std::size_t inside = 0, everywhere = 0;
    const ScheduleOp *other = nullptr;
    forEachOp(body, [&](const ScheduleOp &op) { everywhere += touches(op); });
    forEachOp(loop.body, [&](const ScheduleOp &op) { inside += touches(op); });
    const auto firstOther =
        std::ranges::find_if_not(loop.body, [&](const ScheduleOp &op) { return isLoad(op); });
    for (auto op = firstOther; op != loop.body.end(); ++op)
      forEachOp(op->body, [&](const ScheduleOp &inner) { other = writes(inner) ? &inner : other; });
    for (auto op = firstOther; op != loop.body.end(); ++op)
      if (isLoad(*op) || writes(*op)) other = &*op;
    if (inside == everywhere && !other && loop.first == 0 && loop.less == 0) return true;
    diagnostics.report(Diag::ScheduleLoadPlace, other ? other->where : loop.where,
                       program_[loop_].name);
    return false;
  }

  bool writes(const ScheduleOp &op) const {
    return std::ranges::any_of(
        op.accesses, [&](const Access &a) { return a.writes && buffers_.contains(a.buffer); });
  }

  void makeRing() {
    const RingId ring(static_cast<std::uint32_t>(program_.rings.size()));
    std::string name;
    for (const BufferId buffer : buffers_) {
      name += (name.empty() ? "" : "_") + program_[buffer].name;
      program_.buffers[buffer.index()].ring = ring;
    }
    program_.rings.push_back({.name = name, .depth = slots_});
    const auto cursor = [&](std::string_view what) {
      program_.cursors.push_back(
          {.name = name + "_" + std::string(what), .role = RoleId(0), .ring = ring});
      return CursorId(static_cast<std::uint32_t>(program_.cursors.size()) - 1);
    };
    ahead_ = cursor("ahead");
    now_ = cursor("now");
  }

  void index(std::vector<ScheduleOp> &ops) const {
    forEachOp(ops, [&](ScheduleOp &op) {
      for (Access &access : op.accesses)
        if (buffers_.contains(access.buffer)) access.index = {access.writes ? ahead_ : now_};
    });
  }

  void replace(std::vector<ScheduleOp> &body, ScheduleOp *loop) {
    std::vector<ScheduleOp> loads, uses;
    for (const ScheduleOp &op : loop->body) (isLoad(op) ? loads : uses).push_back(op);
    index(loads);
    index(uses);
    uses.push_back({.kind = ScheduleOpKind::Advance, .cursor = now_});
    const std::int32_t ahead = slots_ - 1;
    std::vector<ScheduleOp> before, behind;
    for (std::int32_t trip = 0; trip < ahead; ++trip)
      append(before, loadsIf(Guard{Guard::Measure::Count, loop_, trip}, loads));
    const bool grouped = program_[queue_].grouped;
    if (grouped) {
      loop->body = loadsIf(Guard{Guard::Measure::Left, loop_, ahead}, loads);
    } else {
      loop->less = ahead;
      loop->body = loadsIf(std::nullopt, loads);
      for (std::int32_t left = ahead; left > 0; --left)
        behind.push_back({.kind = ScheduleOpKind::If,
                          .guard = {Guard::Measure::Count, loop_, left - 1},
                          .body = uses});
    }
    append(loop->body, uses);
    splice(body, loop, std::move(before), std::move(behind));
  }

  /// The loads where the guard holds, all that follow each other under one, the commits in any
  /// case.
  std::vector<ScheduleOp> loadsIf(std::optional<Guard> guard,
                                  const std::vector<ScheduleOp> &loads) const {
    std::vector<ScheduleOp> out;
    for (const ScheduleOp &op : loads) {
      if (op.kind == ScheduleOpKind::Commit || !guard) {
        out.push_back(op);
        continue;
      }
      if (out.empty() || out.back().kind != ScheduleOpKind::If)
        out.push_back({.kind = ScheduleOpKind::If, .guard = *guard});
      out.back().body.push_back(op);
    }
    const auto last =
        std::ranges::find(out.rbegin(), out.rend(), ScheduleOpKind::If, &ScheduleOp::kind);
    (last == out.rend() ? out : last->body)
        .push_back({.kind = ScheduleOpKind::Advance, .cursor = ahead_});
    return out;
  }

  static void append(std::vector<ScheduleOp> &to, std::vector<ScheduleOp> ops) {
    std::ranges::move(ops, std::back_inserter(to));
  }

  static bool splice(std::vector<ScheduleOp> &body, const ScheduleOp *loop,
                     std::vector<ScheduleOp> before, std::vector<ScheduleOp> behind) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (&body[i] != loop) {
        if (splice(body[i].body, loop, before, behind)) return true;
        continue;
      }
      const auto at = body.begin() + static_cast<std::ptrdiff_t>(i);
      const auto next = body.insert(at + 1, behind.begin(), behind.end());
      body.insert(next - 1, before.begin(), before.end());
      return true;
    }
    return false;
  }

  Program &program_;
  QueueId queue_;
  TripsId loop_;
  std::int32_t slots_;
  std::set<BufferId> buffers_;
  CursorId ahead_, now_;
};

} // namespace

std::optional<Program> prefetch(Program work, QueueId queue, TripsId loop, std::int32_t slots,
                                Diagnostics &diagnostics) {
  if (work.roles.size() != 1) {
    diagnostics.report(Diag::ScheduleNotSequential, work.where, work.name, work.roles.size(),
                       work.rings.size());
    return std::nullopt;
  }
  if (!Prefetcher(work, queue, loop, slots)(diagnostics)) return std::nullopt;
  return work;
}

} // namespace imbrex::schedule
