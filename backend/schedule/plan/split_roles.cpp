#include "backend/schedule/plan/split_roles.h"

#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/channels.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace imbrex::schedule {

namespace {

/// The loops around an operation, outermost first.
using Loops = std::vector<const ScheduleOp *>;

/// An operation that touches a buffer.
struct BufferAccess {
  const ScheduleOp *op;
  std::uint32_t role;
  bool writes;
  Loops loops;
};

/// Who touches a buffer, and where, in order.
struct BufferAccesses {
  std::set<std::uint32_t> writers, readers;
  std::optional<Loops> around; ///< The loops around all of them.
  std::vector<BufferAccess> all;

  std::size_t roles() const {
    std::set<std::uint32_t> roles = writers;
    roles.insert(readers.begin(), readers.end());
    return roles.size();
  }
};

/// What buffers have in common that share a ring.
struct RingKey {
  std::set<std::uint32_t> writers, readers;
  const ScheduleOp *rate; ///< The loop whose trips are the uses; null: one use in all.
  bool isCarried;         ///< One use more comes before the loop, and is what its first trip reads.

  friend auto operator<=>(const RingKey &, const RingKey &) = default;
};

/// Whether one role writes what another has read before: in the same use there would be two
/// contents.
bool isWrittenAgain(const BufferAccesses &touches) {
  const auto isForeign = [&](const BufferAccess &touch) {
    return !touches.writers.contains(touch.role);
  };
  const auto read = llvm::find_if(touches.all, isForeign);
  const auto inner = [&](const BufferAccess &touch) {
    return touch.loops.size() > touches.around->size() ? touch.loops[touches.around->size()]
                                                       : nullptr;
  };
  return std::any_of(touches.all.begin(), touches.all.end(), [&](const BufferAccess &touch) {
    const bool isInLoopOfRead = llvm::any_of(touches.all, [&](const BufferAccess &other) {
      return isForeign(other) && inner(other) && inner(other) == inner(touch);
    });
    return touch.writes && (&touch >= &*read || isInLoopOfRead);
  });
}

/// What writes in two loops of which none stands in the other: the first two of them.
std::optional<std::pair<const ScheduleOp *, const ScheduleOp *>>
loadedInAnotherLoop(const BufferAccesses &touches) {
  const std::size_t around = touches.around->size();
  const BufferAccess *first = nullptr;
  for (const BufferAccess &touch : touches.all) {
    if (!touch.writes || touch.loops.size() <= around) continue;
    if (first && first->loops[around] != touch.loops[around]) return {{first->op, touch.op}};
    if (!first) first = &touch;
  }
  return std::nullopt;
}

/// The loop that hands a content from each trip to the next, where a role writes the first one
/// before it and another at the end of each trip, which others have read by then; null for all
/// else.
const ScheduleOp *carryingLoop(const BufferAccesses &touches) {
  const std::size_t around = touches.around->size();
  const ScheduleOp *loop = nullptr;
  bool hasFirst = false, isWritten = false, isBehind = false;
  for (const BufferAccess &touch : touches.all) {
    if (touch.writes == !touches.writers.contains(touch.role)) return nullptr;
    if (touch.loops.size() == around) {
      isBehind |= loop != nullptr;
      if (touch.writes == isBehind) return nullptr;
      hasFirst |= touch.writes;
      continue;
    }
    if (isBehind || (loop && touch.loops[around] != loop)) return nullptr;
    if (touch.writes && touch.loops.size() > around + 1) return nullptr;
    if (isWritten && !touch.writes) return nullptr;
    loop = touch.loops[around];
    isWritten |= touch.writes;
  }
  return hasFirst && isWritten ? loop : nullptr;
}

/// A use of a ring that ends outside of the loop whose trips are its uses.
struct LastRelease {
  RingId ring;
  std::vector<BufferId> buffers;
};

/// What a split hands to a role: not loops and conditions, which all roles keep.
bool isGiven(const ScheduleOp &op) { return !hasBody(op.kind); }

class RoleSplitter {
public:
  RoleSplitter(const Program &work, const RoleSplit &split, Diagnostics &diagnostics)
      : work_(work), split_(split), diagnostics_(diagnostics) {}

  std::optional<Program> operator()() {
    program_ = work_;
    program_.roles.clear();
    program_.queues.clear();
    for (const RoleChoice &role : split_.roles)
      program_.roles.push_back(
          {.name = role.name, .warps = role.warps, .registers = role.registers});
    touches_.resize(work_.buffers.size());
    Loops loops;
    std::size_t next = 0;
    study(work_.roles.front().body, loops, next);
    makeRings();
    if (diagnostics_.hasErrors()) return std::nullopt;
    for (std::uint32_t role = 0; role < split_.roles.size(); ++role) {
      next = 0;
      program_.roles[role].body = bodyOf(role, work_.roles.front().body, nullptr, next);
    }
    return std::move(program_);
  }

private:
  void study(const std::vector<ScheduleOp> &body, Loops &loops, std::size_t &next) {
    for (const ScheduleOp &op : body) {
      if (op.kind == ScheduleOpKind::For) loops.push_back(&op);
      if (isGiven(op)) note(op, split_.roleOf[next++], loops);
      study(op.body, loops, next);
      if (op.kind == ScheduleOpKind::For) loops.pop_back();
    }
  }

  void note(const ScheduleOp &op, std::uint32_t role, const Loops &loops) {
    for (const Access &access : op.accesses) {
      BufferAccesses &touches = touches_[access.buffer.index()];
      touches.all.push_back({.op = &op, .role = role, .writes = access.writes, .loops = loops});
      (access.writes ? touches.writers : touches.readers).insert(role);
      if (!touches.around) touches.around = loops;
      const auto [end, other] = std::ranges::mismatch(*touches.around, loops);
      touches.around->erase(end, touches.around->end());
    }
  }

  void makeRings() {
    std::map<RingKey, std::vector<BufferId>> kinds;
    std::vector<RingKey> order;
    for (std::uint32_t b = 0; b < touches_.size(); ++b) {
      const BufferAccesses &touches = touches_[b];
      if (touches.roles() < 2) continue;
      RingKey kind = {.writers = touches.writers,
                      .readers = touches.readers,
                      .rate = touches.around->empty() ? nullptr : touches.around->back(),
                      .isCarried = false};
      if (touches.writers.size() == 1 && isWrittenAgain(touches)) {
        kind.isCarried = true;
        kind.rate = carryingLoop(touches);
        if (!kind.rate) reportWrittenAgain(touches, work_.buffers[b].name);
      }
      if (kinds[kind].empty()) order.push_back(kind);
      kinds[kind].push_back(BufferId(b));
    }
    for (const RingKey &kind : order) makeRing(kind, kinds[kind]);
  }

  void reportWrittenAgain(const BufferAccesses &touches, const std::string &name) {
    if (const auto again = loadedInAnotherLoop(touches))
      diagnostics_.report(Diag::ScheduleLoadedTwice, again->second->where, name,
                          toText(again->first->where));
    else
      diagnostics_.report(Diag::ScheduleCarriedBetweenRoles, touches.all.front().op->where, name);
  }

  void makeRing(const RingKey &kind, const std::vector<BufferId> &buffers) {
    Ring ring = {.name = "", .depth = 1};
    const RingId id(static_cast<std::uint32_t>(program_.rings.size()));
    for (const BufferId buffer : buffers) {
      const std::string &name = work_[buffer].name;
      ring.name += (ring.name.empty() ? "" : "_") + name;
      Buffer &shared = program_.buffers[buffer.index()];
      shared.ring = id;
      if (shared.space == Space::Registers) shared.space = Space::Shared;
    }
    program_.rings.push_back(ring);
    rates_.push_back(kind.rate);
    if (kind.isCarried && kind.rate) studyEnds(id, kind, buffers);
  }

  /// Where the uses before and behind the loop end: behind the last operation there.
  void studyEnds(RingId ring, const RingKey &kind, const std::vector<BufferId> &buffers) {
    std::map<std::uint32_t, const ScheduleOp *> last; // by role
    for (const std::uint32_t reader : kind.readers) last[reader] = kind.rate;
    for (const BufferId buffer : buffers)
      for (const BufferAccess &touch : touches_[buffer.index()].all) {
        const bool isOutside = touch.loops.size() == touches_[buffer.index()].around->size();
        if (isOutside) last[touch.role] = touch.op;
      }
    for (const auto &[role, op] : last) ends_[{role, op}].push_back({ring, buffers});
  }

  /// A role's own operations and what is around them, and an advance at the end of each use.
  std::vector<ScheduleOp> bodyOf(std::uint32_t role, const std::vector<ScheduleOp> &body,
                                 const ScheduleOp *loop, std::size_t &next) {
    std::vector<ScheduleOp> out;

    for (const ScheduleOp &op : body) {
      const bool isMine = !isGiven(op) || split_.roleOf[next++] == role;
      if (!isMine) continue;
      ScheduleOp own = op;
      const ScheduleOp *inner = op.kind == ScheduleOpKind::For ? &op : loop;
      own.body = bodyOf(role, op.body, inner, next);
      if (!isGiven(op) && own.body.empty()) continue;
      assign(own, RoleId(role));
      out.push_back(std::move(own));
      for (const LastRelease &end : ends_[{role, &op}]) endUse(RoleId(role), end, op, out);
    }
    addAdvances(RoleId(role), loop, body, out);
    return out;
  }

  /// What nobody wants behind the loop is read all the same: the ring moves on for all.
  void endUse(RoleId role, const LastRelease &end, const ScheduleOp &op,
              std::vector<ScheduleOp> &out) {
    const CursorId cursor = cursorOf(role, end.ring);
    if (op.kind == ScheduleOpKind::For) {
      ScheduleOp read = {.kind = ScheduleOpKind::Access, .where = op.where};
      for (const BufferId buffer : end.buffers)
        read.accesses.push_back({.buffer = buffer, .index = {cursor}});
      out.push_back(std::move(read));
    }
    out.push_back({.kind = ScheduleOpKind::Advance, .cursor = cursor});
  }

  void assign(ScheduleOp &op, RoleId role) {
    for (Access &access : op.accesses)
      if (const RingId ring = program_[access.buffer].ring; ring.valid())
        access.index = {cursorOf(role, ring)};
    if (info(op.kind).fields & kQueue) op.queue = queueOf(role, op.queue);
  }

  CursorId cursorOf(RoleId role, RingId ring) {
    const auto [at, isNew] = cursors_.try_emplace(
        {role, ring}, CursorId(static_cast<std::uint32_t>(program_.cursors.size())));
    if (isNew)
      program_.cursors.push_back(
          {.name = program_[role].name + "_" + program_[ring].name, .role = role, .ring = ring});
    return at->second;
  }

  QueueId queueOf(RoleId role, QueueId given) {
    const auto [at, isNew] = queues_.try_emplace(
        {role, given}, QueueId(static_cast<std::uint32_t>(program_.queues.size())));
    if (isNew) {
      program_.queues.push_back(work_[given]);
      program_.queues.back().role = role;
    }
    return at->second;
  }

  /// At the end of the body of the ring's rate, for the rings that the role touches there.
  void addAdvances(RoleId role, const ScheduleOp *loop, const std::vector<ScheduleOp> &given,
                   std::vector<ScheduleOp> &body) {
    const bool isWhole = loop ? &loop->body == &given : &work_.roles.front().body == &given;
    if (!isWhole) return;
    for (std::uint32_t r = 0; r < rates_.size(); ++r) {
      const auto cursor = cursors_.find({role, RingId(r)});
      if (rates_[r] != loop || cursor == cursors_.end()) continue;
      body.push_back({.kind = ScheduleOpKind::Advance, .cursor = cursor->second});
    }
  }

  const Program &work_;
  const RoleSplit &split_;
  Diagnostics &diagnostics_;
  Program program_;
  std::vector<BufferAccesses> touches_;   // by buffer
  std::vector<const ScheduleOp *> rates_; // by ring
  std::map<std::pair<std::uint32_t, const ScheduleOp *>, std::vector<LastRelease>>
      ends_; // by role and operation
  std::map<std::pair<RoleId, RingId>, CursorId> cursors_;
  std::map<std::pair<RoleId, QueueId>, QueueId> queues_;
};

} // namespace

std::optional<Program> splitRoles(const Program &work, const RoleSplit &split,
                                  Diagnostics &diagnostics) {
  if (work.roles.size() != 1 || !work.rings.empty()) {
    diagnostics.report(Diag::ScheduleNotSequential, work.where, work.name, work.roles.size(),
                       work.rings.size());
    return std::nullopt;
  }
  std::size_t operations = 0;
  forEachOp(work.roles.front().body, [&](const ScheduleOp &op) { operations += isGiven(op); });
  IMBREX_CHECK(operations == split.roleOf.size(), "a split of {0} operations for work of {1}",
               split.roleOf.size(), operations);
  return RoleSplitter(work, split, diagnostics)();
}

} // namespace imbrex::schedule
