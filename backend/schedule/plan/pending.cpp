#include "backend/schedule/plan/pending.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::schedule {

namespace {

bool comesBefore(const PendingOp &a, const PendingOp &b) {
  if (a.number != b.number) return a.number < b.number;
  return std::ranges::lexicographical_compare(a.advances, b.advances);
}

/// On one of two paths it is this, and on the other that.
void mix(PendingOp &into, const PendingOp &other) {
  into.age = std::min(into.age, other.age);
  into.ageThere = std::min(into.ageThere, other.ageThere);
  into.within = std::max(into.within, other.within);
  if (into.meeting != other.meeting) into.meeting = nullptr;
}

} // namespace

PendingOps::PendingOps(const Program &program, RoleId role) {
  for (std::uint32_t c = 0; c < program.cursors.size(); ++c)
    if (program.cursors[c].role == role) cursors_.emplace_back(c);
  ahead_.assign(cursors_.size(), 0);
}

std::size_t PendingOps::placeOf(CursorId cursor) const {
  return static_cast<std::size_t>(llvm::find(cursors_, cursor) - cursors_.begin());
}

void PendingOps::join(const PendingOps &other) {
  std::vector<PendingOp> both;
  both.reserve(std::max(pending_.size(), other.pending_.size()));
  auto mine = pending_.begin();
  auto theirs = other.pending_.begin();
  while (mine != pending_.end() || theirs != other.pending_.end()) {
    if (theirs == other.pending_.end() || (mine != pending_.end() && comesBefore(*mine, *theirs))) {
      both.push_back(std::move(*mine++));
    } else if (mine == pending_.end() || comesBefore(*theirs, *mine)) {
      both.push_back(*theirs++);
    } else {
      both.push_back(std::move(*mine++));
      mix(both.back(), *theirs++);
    }
  }
  pending_ = std::move(both);
  for (std::size_t c = 0; c < ahead_.size(); ++c)
    if (ahead_[c] != other.ahead_[c]) ahead_[c].reset();
}

void PendingOps::add(PendingOp issued) {
  issued.advances.assign(places(), 0);
  const auto at = std::ranges::lower_bound(pending_, issued, comesBefore);
  if (at != pending_.end() && at->isLike(issued))
    *at = std::move(issued);
  else
    pending_.insert(at, std::move(issued));
}

void PendingOps::retire(QueueId queue, std::int32_t count) {
  for (PendingOp &pending : pending_)
    if (pending.op->queue == queue && pending.age >= count) pending.age = kEnded;
}

void PendingOps::age(QueueId queue, std::int32_t entries) {
  for (PendingOp &pending : pending_)
    if (pending.op->queue == queue && pending.age != kEnded)
      pending.age = pending.age == kOpen ? entries - 1 : pending.age + entries;
}

void PendingOps::meet(const ScheduleOp &before) {
  llvm::erase_if(pending_, [](const PendingOp &pending) { return pending.age == kEnded; });
  for (PendingOp &pending : pending_) {
    pending.meeting = &before;
    pending.ageThere = pending.age;
  }
}

/// The first of a ring's cursors is what the others are measured by.
void PendingOps::advance(const Program &program, CursorId moved) {
  const RingId ring = program[moved].ring;
  const std::int32_t depth = program.depthOf(ring);
  const std::size_t place = placeOf(moved);
  bool isFollowed = false;
  for (PendingOp &pending : pending_) {
    if (!llvm::is_contained(pending.follows, moved)) continue;
    pending.advances[place] = (pending.advances[place] + 1) % depth;
    isFollowed = true;
  }
  if (isFollowed) sort();
  std::optional<std::size_t> first;
  for (std::size_t c = 0; c < cursors_.size(); ++c) {
    if (program[cursors_[c]].ring != ring) continue;
    if (first && ahead_[c]) *ahead_[c] += *first == place ? -1 : (c == place ? 1 : 0);
    if (!first) first = c;
  }
}

void PendingOps::leave(std::int32_t conditions) {
  for (PendingOp &pending : pending_) pending.within = std::min(pending.within, conditions);
}

void PendingOps::sort() {
  for (auto at = pending_.begin(); at != pending_.end(); ++at)
    std::rotate(std::upper_bound(pending_.begin(), at, *at, comesBefore), at, std::next(at));
}

} // namespace imbrex::schedule
