#include "tests/support/schedule_mutants.h"

#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace imbrex::testing {

using namespace schedule;

namespace {

using Body = std::vector<ScheduleOp>;

/// An operation, where it stands.
struct Place {
  const Role *role;
  Body *body;
  std::size_t at;
  Body *outer = nullptr;   ///< The list that has the loop or condition in which it stands,
  std::size_t outerAt = 0; ///< and the place of that.

  ScheduleOp &op() const { return (*body)[at]; }
};

void collect(const Role &role, Body &body, Body *outer, std::size_t outerAt,
             std::vector<Place> &places) {
  for (std::size_t at = 0; at < body.size(); ++at) {
    if (info(body[at].kind).fields & (kLoop | kGuard))
      collect(role, body[at].body, &body, at, places);
    else
      places.push_back({&role, &body, at, outer, outerAt});
  }
}

class Mutation {
public:
  Mutation(const Program &program, std::mt19937 &random)
      : program_(program), before_(print(program)), random_(random) {}

  std::optional<Mutant> run() {
    if (below(6) == 0) return finish(changeDeclaration());
    std::vector<Place> places;
    for (Role &role : program_.roles) collect(role, role.body, nullptr, 0, places);
    if (places.empty()) return std::nullopt;
    return finish(changeOperation(places[below(places.size())]));
  }

private:
  /// What was done; empty where there was nothing to do.
  using Text = std::string;

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  std::int32_t oneMoreOrLess() { return below(2) == 0 ? 1 : -1; }

  template <class Item>
  Item *pick(std::vector<Item> &items) {
    return items.empty() ? nullptr : &items[below(items.size())];
  }

  std::optional<Mutant> finish(const Text &what) {
    Diagnostics unread;
    if (what.empty() || print(program_) == before_ || !verify(program_, unread))
      return std::nullopt;
    return Mutant{std::move(program_), what};
  }

  Text change(std::int32_t &number, const std::string &what) {
    const std::int32_t by = oneMoreOrLess();
    number += by;
    return what + " is " + std::to_string(number) + " and not " + std::to_string(number - by);
  }

  Text changeDeclaration() {
    switch (below(3)) {
    case 0:
      if (Barrier *barrier = pick(program_.barriers))
        return change(barrier->arrivals, "the arrivals of '" + barrier->name + "'");
      return "";
    case 1:
      if (Meeting *meeting = pick(program_.meetings))
        return change(meeting->parties, "the parties of '" + meeting->name + "'");
      return "";
    default:
      if (Ring *ring = pick(program_.rings))
        return change(ring->depth, "the depth of '" + ring->name + "'");
      return "";
    }
  }

  Text changeOperation(const Place &place) {
    const Text what = changeOf(place);
    return what.empty() ? "" : "in '" + place.role->name + "': " + what;
  }

  Text changeOf(const Place &place) {
    const std::string name = nameOf(place.op());
    switch (below(9)) {
    case 0: return drop(place);
    case 1: return repeat(place);
    case 2: return moveUp(place);
    case 3: return moveDown(place);
    case 4: return moveOut(place);
    case 5: return flip(place.op());
    case 6: return changeCount(place.op(), name);
    case 7: return changeOffset(place.op(), name);
    default: return retarget(*place.role, place.op(), name);
    }
  }

  static Text drop(const Place &place) {
    if (place.op().kind == ScheduleOpKind::Access) return "";
    Text what = nameOf(place.op()) + " is left out";
    place.body->erase(place.body->begin() + std::ptrdiff_t(place.at));
    return what;
  }

  static Text repeat(const Place &place) {
    if (place.op().kind == ScheduleOpKind::Access) return "";
    Text what = nameOf(place.op()) + " is done twice";
    place.body->insert(place.body->begin() + std::ptrdiff_t(place.at), ScheduleOp(place.op()));
    return what;
  }

  static Text moveUp(const Place &place) {
    if (place.at == 0) return "";
    return nameOf(place.op()) + " goes " + moveBetween(*place.body, place.at, place.at - 1, true);
  }

  static Text moveDown(const Place &place) {
    if (place.at + 1 == place.body->size()) return "";
    return nameOf(place.op()) + " goes " + moveBetween(*place.body, place.at, place.at + 1, false);
  }

  /// Past the neighbour, or into it where it is a condition.
  static Text moveBetween(Body &body, std::size_t from, std::size_t to, bool up) {
    if (body[to].kind != ScheduleOpKind::If) {
      std::swap(body[from], body[to]);
      return std::string(up ? "before " : "behind ") + nameOf(body[from]);
    }
    Body &into = body[to].body;
    into.insert(up ? into.end() : into.begin(), body[from]);
    body.erase(body.begin() + std::ptrdiff_t(from));
    return "into a condition";
  }

  /// Out of a condition or a loop, in front of it where it is the first there, else behind it.
  static Text moveOut(const Place &place) {
    if (!place.outer) return "";
    ScheduleOp op = std::move(place.op());
    const std::size_t to = place.outerAt + (place.at == 0 ? 0 : 1);
    place.body->erase(place.body->begin() + std::ptrdiff_t(place.at));
    Text what = nameOf(op) + " goes out of its " + std::string(place.at == 0 ? "beginning" : "end");
    place.outer->insert(place.outer->begin() + std::ptrdiff_t(to), std::move(op));
    return what;
  }

  static Text flip(ScheduleOp &op) {
    if (op.kind != ScheduleOpKind::Wait) return "";
    op.flipped = !op.flipped;
    return nameOf(op) + " waits for the other parity";
  }

  Text changeCount(ScheduleOp &op, const std::string &name) {
    const std::uint32_t fields = info(op.kind).fields;
    if ((fields & kBytes) && below(2) == 0) {
      op.bytes += oneMoreOrLess();
      return "the bytes of " + name + " are " + std::to_string(op.bytes);
    }
    if (!(fields & kCount)) return "";
    return change(op.count, "the count of " + name);
  }

  Text changeOffset(ScheduleOp &op, const std::string &name) {
    std::vector<Index *> indices;
    if ((info(op.kind).fields & kBarrier) && op.index.cursor.valid()) indices.push_back(&op.index);
    for (Access &access : op.accesses)
      if (access.index.cursor.valid()) indices.push_back(&access.index);
    Index **index = pick(indices);
    if (!index) return "";
    (*index)->offset += oneMoreOrLess();
    return "an index of " + name + " is further by " + std::to_string((*index)->offset);
  }

  /// To another barrier of the same ring, or another of the role's cursors in it.
  Text retarget(const Role &role, ScheduleOp &op, const std::string &name) {
    if (info(op.kind).fields & kBarrier) {
      std::vector<BarrierId> others;
      for (std::uint32_t b = 0; b < program_.barriers.size(); ++b)
        if (BarrierId(b) != op.barrier && program_.barriers[b].ring == program_[op.barrier].ring)
          others.push_back(BarrierId(b));
      if (below(3) != 0)
        if (const BarrierId *other = pick(others)) {
          op.barrier = *other;
          return name + " means '" + program_[*other].name + "'";
        }
    }
    CursorId *cursor = cursorOf(op);
    std::vector<CursorId> others;
    if (!cursor) return "";
    for (std::uint32_t c = 0; c < program_.cursors.size(); ++c)
      if (CursorId(c) != *cursor && &program_[program_.cursors[c].role] == &role &&
          (op.kind == ScheduleOpKind::Advance ||
           program_.cursors[c].ring == program_[*cursor].ring))
        others.push_back(CursorId(c));
    const CursorId *other = pick(others);
    if (!other) return "";
    *cursor = *other;
    return name + " goes by '" + program_[*other].name + "'";
  }

  static CursorId *cursorOf(ScheduleOp &op) {
    if (info(op.kind).fields & kCursor) return &op.cursor;
    if ((info(op.kind).fields & kBarrier) && op.index.cursor.valid()) return &op.index.cursor;
    for (Access &access : op.accesses)
      if (access.index.cursor.valid()) return &access.index.cursor;
    return nullptr;
  }

  static std::string nameOf(const ScheduleOp &op) { return std::string(info(op.kind).mnemonic); }

  Program program_;
  std::string before_; ///< Its text.
  std::mt19937 &random_;
};

} // namespace

std::optional<Mutant> mutate(const Program &program, std::mt19937 &random) {
  return Mutation(program, random).run();
}

} // namespace imbrex::testing
