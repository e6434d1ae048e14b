#include "backend/schedule/plan/prefetch.h"

#include "backend/schedule/program/channels.h"

#include <algorithm>
#include <set>

namespace imbrex::schedule {

namespace {

/// The loop over these trips, in a body or in the bodies of it; null where there is none.
Op *findLoop(std::vector<Op> &body, TripsId trips) {
  for (Op &op : body) {
    if (op.kind == OpKind::For && op.trips == trips) return &op;
    if (Op *inner = findLoop(op.body, trips)) return inner;
  }
  return nullptr;
}

class Prefetcher {
public:
  Prefetcher(Program &program, QueueId queue, TripsId loop, std::int32_t slots)
      : program_(program), queue_(queue), loop_(loop), slots_(slots) {}

  bool operator()(Diagnostics &diagnostics) {
    std::vector<Op> &body = program_.roles.front().body;
    Op *loop = findLoop(body, loop_);
    if (!loop) return true;
    collect(*loop);
    if (buffers_.empty()) return true;
    if (!verify(*loop, body, diagnostics)) return false;
    makeRing();
    replace(body, loop);
    return true;
  }

private:
  bool isLoad(const Op &op) const {
    return op.queue == queue_ && (op.kind == OpKind::Issue || op.kind == OpKind::Commit);
  }

  void collect(const Op &loop) {
    for (const Op &op : loop.body)
      if (isLoad(op))
        for (const Access &access : op.accesses)
          if (access.writes) buffers_.insert(access.buffer);
  }

  bool touches(const Op &op) const {
    return std::ranges::any_of(op.accesses,
                               [&](const Access &a) { return buffers_.contains(a.buffer); });
  }

  /// All that touches the buffers is in the loop, and all that writes them is a load at its top.
  bool verify(const Op &loop, const std::vector<Op> &body, Diagnostics &diagnostics) const {
    std::size_t inside = 0, everywhere = 0;
    const Op *other = nullptr;
    forEachOp(body, [&](const Op &op) { everywhere += touches(op); });
    forEachOp(loop.body, [&](const Op &op) { inside += touches(op); });
    const auto firstOther =
        std::ranges::find_if_not(loop.body, [&](const Op &op) { return isLoad(op); });
    for (auto op = firstOther; op != loop.body.end(); ++op)
      forEachOp(op->body, [&](const Op &inner) { other = writes(inner) ? &inner : other; });
    for (auto op = firstOther; op != loop.body.end(); ++op)
      if (isLoad(*op) || writes(*op)) other = &*op;
    if (inside == everywhere && !other && loop.first == 0 && loop.less == 0) return true;
    diagnostics.report(Diag::ScheduleLoadPlace, other ? other->where : loop.where,
                       program_[loop_].name);
    return false;
  }

  bool writes(const Op &op) const {
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

  void index(std::vector<Op> &ops) const {
    forEachOp(ops, [&](Op &op) {
      for (Access &access : op.accesses)
        if (buffers_.contains(access.buffer)) access.index = {access.writes ? ahead_ : now_};
    });
  }

  void replace(std::vector<Op> &body, Op *loop) {
    std::vector<Op> loads, uses;
    for (const Op &op : loop->body) (isLoad(op) ? loads : uses).push_back(op);
    index(loads);
    index(uses);
    uses.push_back({.kind = OpKind::Advance, .cursor = now_});
    const std::int32_t ahead = slots_ - 1;
    std::vector<Op> before, behind;
    for (std::int32_t trip = 0; trip < ahead; ++trip)
      append(before, loadsIf(Guard{Guard::Measure::Count, loop_, trip}, loads));
    const bool grouped = program_[queue_].grouped;
    if (grouped) {
      loop->body = loadsIf(Guard{Guard::Measure::Left, loop_, ahead}, loads);
    } else {
      loop->less = ahead;
      loop->body = loadsIf(std::nullopt, loads);
      for (std::int32_t left = ahead; left > 0; --left)
        behind.push_back(
            {.kind = OpKind::If, .guard = {Guard::Measure::Count, loop_, left - 1}, .body = uses});
    }
    append(loop->body, uses);
    splice(body, loop, std::move(before), std::move(behind));
  }

  /// The loads where the guard holds, all that follow each other under one, the commits in any
  /// case.
  std::vector<Op> loadsIf(std::optional<Guard> guard, const std::vector<Op> &loads) const {
    std::vector<Op> out;
    for (const Op &op : loads) {
      if (op.kind == OpKind::Commit || !guard) {
        out.push_back(op);
        continue;
      }
      if (out.empty() || out.back().kind != OpKind::If)
        out.push_back({.kind = OpKind::If, .guard = *guard});
      out.back().body.push_back(op);
    }
    const auto last = std::ranges::find(out.rbegin(), out.rend(), OpKind::If, &Op::kind);
    (last == out.rend() ? out : last->body).push_back({.kind = OpKind::Advance, .cursor = ahead_});
    return out;
  }

  static void append(std::vector<Op> &to, std::vector<Op> ops) {
    std::ranges::move(ops, std::back_inserter(to));
  }

  static bool splice(std::vector<Op> &body, const Op *loop, std::vector<Op> before,
                     std::vector<Op> behind) {
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
