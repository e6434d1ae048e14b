#include "backend/schedule/timeline/simulation.h"

#include <algorithm>

// What is written down of a run: its spans, who had which resource, and the sums of both.
namespace imbrex::schedule::timeline {

/// The number that it has, kept or not.
std::int32_t Simulation::add(const TimelineSpan &span) {
  if (span.kind == TimelineSpan::Kind::Wait) noteWait(span.role, span);
  const std::int32_t number = spansMade_++;
  const bool isKept = number >= keepFrom_ && number - keepFrom_ < limits_.spans;
  if (!isKept) return number;
  out_.spans.push_back(span);
  out_.spans.back().firstUse = static_cast<std::int32_t>(out_.accessUses.size());
  if (span.kind == TimelineSpan::Kind::Work || span.kind == TimelineSpan::Kind::Flight)
    for (const Access &access : span.op->accesses)
      out_.accessUses.push_back(access.index.cursor.valid() ? useOf(access.index) : kNoUse);
  return number;
}

/// Null: it is not kept.
TimelineSpan *Simulation::kept(std::int32_t number) {
  const auto place = static_cast<std::size_t>(number - keepFrom_);
  return number >= keepFrom_ && place < out_.spans.size() ? &out_.spans[place] : nullptr;
}

void Simulation::noteWait(RoleId role, const TimelineSpan &span) {
  const bool isForResource = span.resource != kNoResource;
  const std::size_t instruction = instructionAt(role.index(), roles_[role.index()].pc);
  const std::size_t place = waitPlace(instruction, isForResource);
  if (tally_[place + kTimes]++ == 0)
    waitsSeen_.push_back(static_cast<std::int32_t>(2 * instruction + isForResource));
  tally_[place + kCycles] += span.cycles();
  tally_[place + kHeld] += span.cycles() > 0;
}

TimelineSpan Simulation::spanOf(TimelineSpan::Kind kind, RoleId role, const ScheduleOp &op) const {
  return {.kind = kind,
          .role = role,
          .op = &op,
          .use = shownUseOf(op),
          .issued = now_,
          .start = now_,
          .end = now_,
          .cause = roles_[role.index()].last};
}

std::int64_t Simulation::freeFrom(std::int32_t resource) const {
  if (resource == kNoResource) return now_;
  return std::max(now_, resources_[static_cast<std::size_t>(resource)].freeAt);
}

void Simulation::take(std::int32_t resource, std::int64_t start, const Cost &cost,
                      std::int32_t span) {
  if (resource == kNoResource) return;
  const auto r = static_cast<std::size_t>(resource);
  resources_[r] = {.freeAt = start + cost.busy, .holder = span};
  tally_[busyPlace(r)] += cost.busy;
  const std::int64_t inside =
      std::min(limits_.windowEnd, start + cost.busy) - std::max(limits_.windowBegin, start);
  if (inside > 0) busyInWindow_[r] += inside;
}

std::int32_t Simulation::resourceOf(const ScheduleOp &op) {
  if (op.cost.resource.empty()) return kNoResource;
  const auto [at, isNew] = resourceOf_.try_emplace(&op, kNoResource);
  if (!isNew) return at->second;
  const auto found = std::ranges::find(out_.resources, op.cost.resource, &ResourceUse::name);
  at->second = static_cast<std::int32_t>(found - out_.resources.begin());
  if (found == out_.resources.end()) {
    out_.resources.push_back({.name = op.cost.resource});
    resources_.emplace_back();
  }
  return at->second;
}

std::int64_t Simulation::useOf(const Index &index) const {
  return index.cursor.valid() ? cursors_[index.cursor.index()] + index.offset : 0;
}

/// Of its barrier, else of the first ring that it touches.
std::int64_t Simulation::shownUseOf(const ScheduleOp &op) const {
  if (op.index.cursor.valid()) return useOf(op.index);
  for (const Access &access : op.accesses)
    if (access.index.cursor.valid()) return useOf(access.index);
  return kNoUse;
}

Timeline Simulation::takeTimeline() {
  out_.cycles = now_;
  out_.isWhole = keepFrom_ == 0 && std::ssize(out_.spans) == spansMade_ && skips_ == 0;
  for (std::size_t r = 0; r < out_.resources.size(); ++r)
    out_.resources[r].busy = tally_[busyPlace(r)];
  out_.roles = roleUses();
  out_.loops = loopUses();
  return std::move(out_);
}

std::vector<RoleUse> Simulation::roleUses() const {
  std::vector<RoleUse> uses(roles_.size());
  for (std::size_t role = 0; role < roles_.size(); ++role)
    uses[role].works = tally_[workPlace(role)];
  for (const std::int32_t seen : waitsSeen_) {
    const auto instruction = static_cast<std::size_t>(seen / 2);
    const auto role = static_cast<std::size_t>(
        std::ranges::upper_bound(firstInstruction_, instruction) - firstInstruction_.begin() - 1);
    const ScheduleOp *op = model_.code[role][instruction - firstInstruction_[role]].op;
    const std::size_t place = waitPlace(instruction, seen % 2 == 1);
    uses[role].waits.push_back({.op = op,
                                .resource = seen % 2 == 1 ? resourceOf_.lookup(op) : kNoResource,
                                .cycles = tally_[place + kCycles],
                                .held = tally_[place + kHeld],
                                .times = tally_[place + kTimes]});
  }
  return uses;
}

/// The role that is in a loop for longest says how long it runs.
std::vector<LoopUse> Simulation::loopUses() const {
  std::vector<LoopUse> uses(program_.trips.size());
  for (std::size_t role = 0; role < roles_.size(); ++role)
    for (std::size_t loop = 0; loop < uses.size(); ++loop)
      uses[loop].cycles = std::max(uses[loop].cycles, tally_[insidePlace(role, loop)]);
  return uses;
}

} // namespace imbrex::schedule::timeline
