#include "backend/schedule/program/well_formed.h"

#include "backend/schedule/program/attributes.h"
#include "backend/support/lexer.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace imbrex::schedule {
namespace {

std::string shown(std::string_view name) { return "'" + std::string(name) + "'"; }

std::string called(std::string_view noun, std::string_view name) {
  return std::string(noun) + " " + shown(name);
}

/// What messages call one of a kind, and several.
struct Noun {
  std::string_view one, several;
};

class ProgramVerifier {
public:
  ProgramVerifier(const Program &program, Diagnostics &diagnostics, Completeness form)
      : program_(program), diagnostics_(diagnostics), form_(form) {}

  bool run() {
    verifyDeclarations();
    if (!verifyReferences()) return false; // what follows looks up what they name
    for (const Buffer &buffer : program_.buffers) verifyBuffer(buffer);
    for (std::uint32_t i = 0; i < program_.roles.size(); ++i) {
      role_ = RoleId(i);
      verifyBody(program_[role_].body);
    }
    return isSound_;
  }

private:
  /// Leaves false.
  template <class... Args>
  bool report(Diag kind, Location where, const Args &...arguments) {
    diagnostics_.report(kind, where, arguments...);
    isSound_ = false;
    return false;
  }

  template <class T>
  void verifyNumber(const Attribute<T> &row, const T &of, Location where, std::string_view what) {
    const auto number = row.get(of);
    if (!number || row.range.contains(*number)) return;
    report(Diag::ScheduleNumber, where, row.word, what, "'" + std::to_string(*number) + "'",
           row.range.least, row.range.most);
  }

  // --- declarations ---

  template <class T>
  void verifyName(const T &named, Noun noun, std::set<std::string_view> &seen) {
    if (!isWord(named.name))
      report(Diag::ScheduleBadName, {}, noun.one, quoted(named.name));
    else if (!seen.insert(named.name).second)
      report(Diag::ScheduleNameTwice, {}, noun.several, shown(named.name), "");
  }

  template <class T>
  void verifyAll(const std::vector<T> &all, Noun noun,
                 std::span<const std::type_identity_t<Attribute<T>>> numbers = {}) {
    std::map<RoleId, std::set<std::string_view>>
        seen; // cursors and queues have names of their role
    for (const T &one : all) {
      RoleId role;
      if constexpr (requires { one.role; }) role = one.role;
      verifyName(one, noun, seen[role]);
      for (const Attribute<T> &row : numbers)
        verifyNumber(row, one, {}, called(noun.one, one.name));
    }
  }

  void verifyDeclarations() {
    verifyAll(program_.trips, {"count of trips", "counts of trips"}, kTripsAttributes);
    verifyAll(program_.rings, {"ring", "rings"}, kRingAttributes);
    verifyAll(program_.buffers, {"buffer", "buffers"}, kBufferAttributes);
    verifyAll(program_.barriers, {"barrier", "barriers"}, kBarrierAttributes);
    verifyAll(program_.meetings, {"meeting", "meetings"}, kMeetingAttributes);
    verifyAll(program_.roles, {"role", "roles"}, kRoleAttributes);
    verifyAll(program_.cursors, {"cursor", "cursors"});
    verifyAll(program_.queues, {"queue", "queues"}, kQueueAttributes);
  }

  template <class Tag, class T>
  bool exists(Id<Tag> id, const std::vector<T> &all, std::string_view noun, std::string_view what,
              Location where = {}) {
    return id.index() < all.size() || report(Diag::ScheduleLost, where, what, noun);
  }

  bool verifyReferences() {
    bool all = true;
    for (std::uint32_t i = 0; i < program_.trips.size(); ++i)
      all &= verifyWithin(program_.trips[i], TripsId(i));
    for (const Buffer &buffer : program_.buffers)
      all &= verifyRing(buffer.ring, called("buffer", buffer.name));
    for (const Barrier &barrier : program_.barriers)
      all &= verifyRing(barrier.ring, called("barrier", barrier.name));
    for (const Cursor &cursor : program_.cursors) {
      const std::string what = called("cursor", cursor.name);
      all &= exists(cursor.role, program_.roles, "role", what);
      all &= exists(cursor.ring, program_.rings, "ring", what);
    }
    for (const Queue &queue : program_.queues)
      all &= exists(queue.role, program_.roles, "role", called("queue", queue.name));
    return all;
  }

  bool verifyWithin(const Trips &trips, TripsId id) {
    if (!trips.within.valid()) return true;
    if (!exists(trips.within, program_.trips, "count of trips", called("trips", trips.name)))
      return false;
    return trips.within < id || report(Diag::ScheduleTripsOrder, trips.where, shown(trips.name),
                                       shown(program_[trips.within].name));
  }

  bool verifyRing(RingId ring, std::string_view what) {
    return !ring.valid() || exists(ring, program_.rings, "ring", what);
  }

  void verifyBuffer(const Buffer &buffer) {
    verifyNumber(kBufferBytes, buffer, {}, called("buffer", buffer.name));
    if (buffer.parts > 0 && buffer.bytes % buffer.parts != 0)
      report(Diag::ScheduleUnevenParts, buffer.where, shown(buffer.name), buffer.parts,
             buffer.bytes);
  }

  // --- operations ---

  void verifyBody(const std::vector<ScheduleOp> &body) {
    ++depth_;
    for (const ScheduleOp &op : body) verifyOp(op);
    --depth_;
  }

  void verifyOp(const ScheduleOp &op) {
    if (depth_ > kDeepestBody) {
      report(Diag::TextTooDeep, op.where, kDeepestBody);
      return;
    }
    verifyUnused(op);
    for (const Attribute<ScheduleOp> &row : attributesOf(op.kind))
      verifyNumber(row, op, op.where, mnemonic(op));
    verifyCost(op);
    for (const Access &access : op.accesses) verifyAccess(op, access);
    if (!namesWhatExists(op)) return;
    if (hasIndex(op.kind) && op.barrier.valid()) verifySlot(op, program_[op.barrier], op.index);
    if (has(op.kind, kCursor)) verifyOwn(op, program_[op.cursor], "cursor");
    if (has(op.kind, kQueue)) verifyQueue(op, program_[op.queue]);
    if (has(op.kind, kLoop)) verifyLoop(op);
    if (has(op.kind, kGuard)) verifyGuard(op);
  }

  static std::string mnemonic(const ScheduleOp &op) {
    return "'" + std::string(info(op.kind).mnemonic) + "'";
  }

  /// What the text would not say is not there.
  void verifyUnused(const ScheduleOp &op) {
    const ScheduleOp none = blank(op.kind);
    const auto check = [&](bool isUsed, bool isThere, std::string_view what) {
      if (isThere && !isUsed) report(Diag::ScheduleUnused, op.where, info(op.kind).mnemonic, what);
    };
    check(has(op.kind, kAccesses), !op.accesses.empty(), "accesses");
    check(has(op.kind, kBarrier), op.barrier.valid(), "a barrier");
    check(hasIndex(op.kind) && op.barrier.valid(), op.index != none.index, "an index");
    check(op.kind == ScheduleOpKind::Wait, op.flipped, "'flipped'");
    check(has(op.kind, kCount), op.count != none.count, "a count");
    check(has(op.kind, kBytes), op.bytes != none.bytes, "bytes");
    check(has(op.kind, kQueue), op.queue.valid(), "a queue");
    check(has(op.kind, kMeeting), op.meeting.valid(), "a meeting");
    check(has(op.kind, kCursor), op.cursor.valid(), "a cursor");
    check(has(op.kind, kLoop), op.trips.valid() || op.first != 0 || op.less != 0, "trips");
    check(has(op.kind, kGuard), op.guard != none.guard, "a condition");
    check(hasBody(op.kind), !op.body.empty(), "a body");
    for (const Access &access : op.accesses)
      check(access.part == Part::Numbered, access.number != 0, "a part's number");
  }

  void verifyCost(const ScheduleOp &op) {
    verifyNumber(kCostCycles, op.cost, op.where, mnemonic(op));
    verifyNumber(kCostBusy, op.cost, op.where, mnemonic(op));
    const std::string_view name = info(op.kind).mnemonic;
    if (op.cost.busy > op.cost.cycles)
      report(Diag::ScheduleBusy, op.where, name, op.cost.busy, op.cost.cycles);
    if (op.cost.busy > 0 && op.cost.resource.empty())
      report(Diag::ScheduleNoResource, op.where, name, op.cost.busy);
  }

  /// A copy may, until barriers are added.
  bool lacksBarrier(const ScheduleOp &op) {
    if (op.kind != ScheduleOpKind::Copy || op.barrier.valid()) return false;
    if (form_ == Completeness::Complete) report(Diag::ScheduleNoBarrier, op.where);
    return true;
  }

  bool namesWhatExists(const ScheduleOp &op) {
    const auto check = [&](Fields field, auto id, const auto &all, std::string_view noun) {
      return !has(op.kind, field) || exists(id, all, noun, mnemonic(op), op.where);
    };
    return (lacksBarrier(op) || check(kBarrier, op.barrier, program_.barriers, "barrier")) &&
           check(kQueue, op.queue, program_.queues, "queue") &&
           check(kMeeting, op.meeting, program_.meetings, "meeting") &&
           check(kCursor, op.cursor, program_.cursors, "cursor") &&
           check(kLoop, op.trips, program_.trips, "count of trips") &&
           check(kGuard, op.guard.trips, program_.trips, "count of trips");
  }

  /// A cursor or a queue is the role's own.
  template <class T>
  bool verifyOwn(const ScheduleOp &op, const T &used, std::string_view noun) {
    return used.role == role_ || report(Diag::ScheduleForeign, op.where, info(op.kind).mnemonic,
                                        shown(program_[role_].name), noun, shown(used.name),
                                        shown(program_[used.role].name));
  }

  /// `indexed` is a buffer or a barrier: it has an index where it lies in a ring.
  template <class T>
  void verifySlot(const ScheduleOp &op, const T &indexed, Index index) {
    const std::string_view name = info(op.kind).mnemonic;
    if (!indexed.ring.valid()) {
      if (index != Index()) report(Diag::ScheduleNoSlots, op.where, name, shown(indexed.name));
      return;
    }
    const std::string ring = shown(program_[indexed.ring].name);
    if (!index.cursor.valid()) {
      report(Diag::ScheduleWhichSlot, op.where, name, shown(indexed.name), ring, indexed.name);
      return;
    }
    if (!exists(index.cursor, program_.cursors, "cursor", mnemonic(op), op.where)) return;
    const Cursor &cursor = program_[index.cursor];
    if (verifyOwn(op, cursor, "cursor") && cursor.ring != indexed.ring)
      report(Diag::ScheduleOtherRing, op.where, name, shown(indexed.name), shown(cursor.name),
             shown(program_[cursor.ring].name), ring);
  }

  void verifyAccess(const ScheduleOp &op, const Access &access) {
    if (!exists(access.buffer, program_.buffers, "buffer", mnemonic(op), op.where)) return;
    const Buffer &buffer = program_[access.buffer];
    const std::string_view name = info(op.kind).mnemonic;
    verifySlot(op, buffer, access.index);
    if (access.part == Part::Numbered && (access.number < 0 || access.number >= buffer.parts))
      report(Diag::ScheduleNoPart, op.where, name, access.number, shown(buffer.name),
             buffer.parts - 1);
    if (access.part == Part::Own && program_[role_].warps > buffer.parts)
      report(Diag::ScheduleNoOwnPart, op.where, name, shown(buffer.name),
             shown(program_[role_].name), program_[role_].warps, buffer.parts);
  }

  void verifyQueue(const ScheduleOp &op, const Queue &queue) {
    verifyOwn(op, queue, "queue");
    const std::string name = shown(queue.name);
    if (op.kind == ScheduleOpKind::Commit && !queue.grouped)
      report(Diag::ScheduleNotGrouped, op.where, name, queue.name);
    if (op.kind == ScheduleOpKind::Issue && queue.grouped && op.count != 1)
      report(Diag::ScheduleGroupCount, op.where, op.count, name);
    if (op.kind == ScheduleOpKind::Drain && op.count > queue.capacity)
      report(Diag::ScheduleDrainBeyond, op.where, op.count, name, queue.capacity);
  }

  // --- loops and conditions ---

  bool isInLoopOver(TripsId trips) const {
    return std::ranges::find(loops_, trips) != loops_.end();
  }

  /// Trips within those of another loop are a number only there.
  void verifyKnown(const ScheduleOp &op, const Trips &trips) {
    if (trips.within.valid() && !isInLoopOver(trips.within))
      report(Diag::ScheduleTripsOutside, op.where, info(op.kind).mnemonic, shown(trips.name),
             shown(program_[trips.within].name), program_[trips.within].name);
  }

  void verifyLoop(const ScheduleOp &op) {
    const Trips &trips = program_[op.trips];
    verifyKnown(op, trips);
    if (isInLoopOver(op.trips)) report(Diag::ScheduleLoopTwice, op.where, shown(trips.name));
    loops_.push_back(op.trips);
    verifyBody(op.body);
    loops_.pop_back();
  }

  void verifyGuard(const ScheduleOp &op) {
    const Guard &guard = op.guard;
    const Trips &trips = program_[guard.trips];
    if (guard.measure == Guard::Measure::Count)
      verifyKnown(op, trips);
    else if (!isInLoopOver(guard.trips))
      report(Diag::ScheduleNoTrip, op.where, wordOf(guard.measure), trips.name);
    verifyBody(op.body);
  }

  const Program &program_;
  Diagnostics &diagnostics_;
  Completeness form_;
  bool isSound_ = true;
  RoleId role_;                ///< The one whose operations are looked at,
  std::vector<TripsId> loops_; ///< inside loops over these,
  std::int32_t depth_ = 0;     ///< so many bodies deep.
};

} // namespace

bool verify(const Program &program, Diagnostics &diagnostics, Completeness form) {
  return ProgramVerifier(program, diagnostics, form).run();
}

} // namespace imbrex::schedule
