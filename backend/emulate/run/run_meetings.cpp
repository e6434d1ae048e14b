#include "backend/emulate/run/grid_run.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bit>

namespace imbrex::emulate {
namespace {

std::uint64_t bit(std::uint32_t lane) { return std::uint64_t{1} << lane; }

Thread &laneOf(const ThreadBlock &block, std::uint32_t warpSize, std::uint32_t warp,
               std::uint32_t lane) {
  return *block.threads[std::size_t{warp} * warpSize + lane];
}

} // namespace

std::uint64_t GridRun::lanesWhere(const ThreadBlock &block, std::uint32_t warp,
                                  auto &&condition) const {
  std::uint64_t mask = 0;
  for (std::uint32_t lane = 0; lane < code_.warpSize; ++lane) {
    if (std::size_t{warp} * code_.warpSize + lane >= block.threads.size()) break;
    if (condition(laneOf(block, code_.warpSize, warp, lane))) mask |= bit(lane);
  }
  return mask;
}

// --- warps ---

/// The lanes that a thread's warp call names.
std::uint64_t GridRun::calledLanes(const Thread &thread) const {
  const auto &facts = std::get<WarpSite>(code_.sites[thread.site].facts);
  if (facts.maskOperand == kAllLanes) return code_.warpSize < 64 ? bit(code_.warpSize) - 1 : ~0ull;
  if (facts.maskOperand >= 0)
    return thread.operands[static_cast<std::size_t>(facts.maskOperand)] & 0xffffffff;
  return lanesWhere(*thread.block, thread.warp,
                    [](const Thread &t) { return t.state != ThreadState::Exited; });
}

std::uint64_t GridRun::meetWarp(Thread &thread, std::uint32_t site, const Operands &operands) {
  thread.site = site;
  thread.operands = operands;
  if ((calledLanes(thread) & bit(thread.lane)) == 0) {
    report_.errorOf(thread, Diag::EmulatedNotNamed, site, 0);
    abandon(thread);
  }
  thread.state = ThreadState::AtWarpCall;
  pause(thread);
  return thread.result.value;
}

/// The lanes that meet where a thread waits, none while some are missing.
std::uint64_t GridRun::meetingLanes(const Thread &thread, bool isAtRest) const {
  const auto &facts = std::get<WarpSite>(code_.sites[thread.site].facts);
  const std::uint64_t called = calledLanes(thread);
  const std::uint64_t here = lanesWhere(*thread.block, thread.warp, [&](const Thread &other) {
    return other.state == ThreadState::AtWarpCall && other.site == thread.site &&
           (facts.maskOperand < 0 || calledLanes(other) == called);
  });
  // Which lanes are active together is not said; the most that can be are those that come here.
  const bool isFreeToMiss = facts.operation == WarpOperation::ActiveMask;
  if (isFreeToMiss) return isAtRest ? here : 0;
  return (called & ~here) == 0 ? called : 0;
}

/// False, and an error reported, where lanes can't do together what they have met for.
bool GridRun::operateTogether(const WarpSite &facts, llvm::ArrayRef<Thread *> threads,
                              std::uint64_t lanes) {
  const auto complain = [&](Diag kind, const LaneFault &fault) {
    const auto *asking = llvm::find_if(threads, [&](Thread *t) { return t->lane == fault.lane; });
    const std::uint32_t site = (*asking)->site;
    report_.error(kind, site, 0, code_.sites[site].what, fault.source,
                  report_.text((*asking)->order.id()));
    isStopped_ = true;
  };
  if (facts.operation == WarpOperation::Exchange) {
    llvm::SmallVector<MatrixWords *, kMostLanes> words;
    for (Thread *thread : threads) words.push_back(&thread->words);
    const auto fault = facts.exchange(words, {launch_.options.numerics, launch_.options.seed});
    if (fault) complain(Diag::EmulatedDifferentCopies, *fault);
    return !fault;
  }
  std::array<Operands, kMostLanes> operands{};
  std::array<LaneResult, kMostLanes> results{};
  for (const Thread *thread : threads) operands[thread->lane] = thread->operands;
  const auto fault = evaluate({facts.operation, code_.warpSize, lanes, operands}, results);
  if (fault) complain(Diag::EmulatedMissingLane, *fault);
  for (Thread *thread : threads) thread->result = results[thread->lane];
  return !fault;
}

void GridRun::completeMeeting(ThreadBlock &block, std::uint32_t warp, const Thread &first,
                              std::uint64_t lanes) {
  const auto &facts = std::get<WarpSite>(code_.sites[first.site].facts);
  std::vector<Thread *> threads;
  for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1)
    threads.push_back(
        &laneOf(block, code_.warpSize, warp, static_cast<std::uint32_t>(std::countr_zero(rest))));
  if (!operateTogether(facts, threads, lanes)) return;
  if (facts.operation == WarpOperation::Meet)
    orderMeeting(threads, code_.lanesMeetAlways ? MemoryScope::Warp : MemoryScope::Thread);
  for (Thread *thread : threads) {
    ++thread->meetings;
    thread->state = ThreadState::Runnable;
  }
}

bool GridRun::completeMeetings(ThreadBlock &block, std::uint32_t warp) {
  const bool isAtRest = !hasRunnable(block, warp);
  const std::uint64_t waiting =
      lanesWhere(block, warp, [](const Thread &t) { return t.state == ThreadState::AtWarpCall; });
  for (std::uint64_t rest = waiting; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    const Thread &thread = laneOf(block, code_.warpSize, warp, lane);
    const std::uint64_t lanes = meetingLanes(thread, isAtRest);
    if (lanes == 0) continue;
    completeMeeting(block, warp, thread, lanes);
    return true;
  }
  return false;
}

/// After the lanes of a warp have run as far as they could: let those go on that have met. Where
/// none has, and one waits for others of its warp, it waits in vain.
void GridRun::settleWarp(ThreadBlock &block, std::uint32_t warp) {
  while (!isStopped_ && completeMeetings(block, warp)) {
  }
  if (isStopped_ || hasRunnable(block, warp)) return;
  // Who waits for a phase goes on when it is over, or is found to be stuck there.
  if (lanesWhere(block, warp, [](const Thread &t) { return t.state == ThreadState::AtPhase; }) != 0)
    return;
  const std::uint64_t waiting =
      lanesWhere(block, warp, [](const Thread &t) { return t.state == ThreadState::AtWarpCall; });
  if (waiting == 0) return;
  reportDivergence(
      block, warp,
      laneOf(block, code_.warpSize, warp, static_cast<std::uint32_t>(std::countr_zero(waiting))));
}

void GridRun::reportDivergence(const ThreadBlock &block, std::uint32_t warp,
                               const Thread &waiting) {
  const std::uint64_t here = lanesWhere(block, warp, [&](const Thread &t) {
    return t.state == ThreadState::AtWarpCall && t.site == waiting.site &&
           calledLanes(t) == calledLanes(waiting);
  });
  const auto missing = static_cast<std::uint32_t>(std::countr_zero(calledLanes(waiting) & ~here));
  isStopped_ = true;
  if (std::size_t{warp} * code_.warpSize + missing >= block.threads.size()) {
    report_.error(Diag::EmulatedMissingLane, waiting.site, 0, code_.sites[waiting.site].what,
                  missing, report_.text(waiting.order.id()));
    return;
  }
  const Thread &other = laneOf(block, code_.warpSize, warp, missing);
  report_.errorOf(waiting, Diag::EmulatedDivergentCall, waiting.site, other.site,
                  report_.text(other.order.id()), report_.stateText(other));
}

// --- blocks ---

/// Everybody sees what everybody has published: by fences of this scope, or, where there is none
/// (MemoryScope::Thread), all that was done until now.
void GridRun::orderMeeting(llvm::ArrayRef<Thread *> threads, MemoryScope fences) {
  ClockJoiner &join = memory_.joiner();
  Clock all;
  std::vector<std::pair<std::uint32_t, Tick>> ticks;
  for (Thread *thread : threads) {
    const Publication published = fences == MemoryScope::Thread ? thread->order.publishNow()
                                                                : thread->order.published(fences);
    if (published.tick == 0) continue;
    all = join(all, published.seen);
    ticks.emplace_back(thread->order.id().thread, published.tick);
  }
  if (!ticks.empty()) all = all.with(threads.front()->block->number, ticks);
  for (Thread *thread : threads) {
    if (fences == MemoryScope::Thread)
      thread->order.see(all, join);
    else
      thread->order.seeAtFence(fences, all, join);
  }
}

void GridRun::meetBlock(Thread &thread, std::uint32_t site, const Operands &operands) {
  const auto &facts = std::get<MeetingSite>(code_.sites[site].facts);
  BlockMeeting &meeting = thread.block->meetings[operands[0]];
  const bool isAnywhere = launch_.options.warpsMeetAnywhere || code_.warpsMeetAnywhere;
  const auto elsewhere = std::ranges::find_if(meeting.waiting, [&](const Thread *other) {
    return other->site != site && (!isAnywhere || other->warp == thread.warp);
  });
  if (facts.wholeBlock && facts.action == MeetingAction::Meet &&
      elsewhere != meeting.waiting.end()) {
    thread.site = site;
    const Thread &other = **elsewhere;
    report_.errorOf(thread, Diag::EmulatedDivergentBarrier, site, other.site,
                    report_.text(other.order.id()), report_.stateText(other));
    abandon(thread);
  }
  thread.site = site;
  thread.operands = operands;
  if (facts.action != MeetingAction::Await) ++meeting.arrived;
  if (facts.action == MeetingAction::Arrive)
    arriveEarly(thread, meeting);
  else if (facts.action == MeetingAction::Meet || thread.arrivals[operands[0]] > meeting.phases)
    meeting.waiting.push_back(&thread);
  else
    seeMeeting(thread, meeting);
  const std::uint64_t count = operands[1] != 0 ? operands[1] : code_.threads;
  if (meeting.arrived == count) completeMeeting(meeting);
  // It was the last, or it need not wait.
  const auto &waiting = meeting.waiting;
  if (std::ranges::find(waiting, &thread) == waiting.end()) return;
  thread.state = ThreadState::AtMeeting;
  pause(thread);
}

void GridRun::arriveEarly(Thread &thread, BlockMeeting &meeting) {
  const auto &facts = std::get<MeetingSite>(code_.sites[thread.site].facts);
  ++thread.arrivals[thread.operands[0]];
  const Publication published =
      facts.ordersMemory ? thread.order.publishNow() : thread.order.published(MemoryScope::Block);
  meeting.published = memory_.joiner()(meeting.published, clockOf(thread.order.id(), published));
}

void GridRun::seeMeeting(Thread &thread, const BlockMeeting &meeting) {
  const auto &facts = std::get<MeetingSite>(code_.sites[thread.site].facts);
  if (facts.ordersMemory)
    thread.order.see(meeting.complete, memory_.joiner());
  else
    thread.order.seeAtFence(MemoryScope::Block, meeting.complete, memory_.joiner());
}

void GridRun::completeMeeting(BlockMeeting &meeting) {
  std::vector<Thread *> met;
  for (Thread *thread : meeting.waiting)
    if (std::get<MeetingSite>(code_.sites[thread->site].facts).action == MeetingAction::Meet)
      met.push_back(thread);
  if (!met.empty()) {
    const auto &facts = std::get<MeetingSite>(code_.sites[met.front()->site].facts);
    orderMeeting(met, facts.ordersMemory ? MemoryScope::Thread : MemoryScope::Block);
  }
  meeting.complete = meeting.published;
  for (Thread *thread : meeting.waiting) {
    seeMeeting(*thread, meeting);
    ++thread->meetings;
    thread->state = ThreadState::Runnable;
  }
  meeting.waiting.clear();
  meeting.arrived = 0;
  ++meeting.phases;
}

/// Nobody of the block can go on: somebody waits where others never arrive.
void GridRun::reportStuck(const ThreadBlock &block) {
  isStopped_ = true;
  if (reportStuckPhases(block)) return;
  const auto waits = [](const auto &t) { return t->state == ThreadState::AtMeeting; };
  const auto first = std::ranges::find_if(block.threads, waits);
  const auto elsewhere = [&](const auto &t) { return t->site != (*first)->site; };
  const auto other = std::ranges::find_if(block.threads, elsewhere);
  const Thread &waiting = **first;
  const Thread &missing = other != block.threads.end() ? **other : waiting;
  report_.errorOf(waiting, Diag::EmulatedDivergentBarrier, waiting.site, missing.site,
                  report_.text(missing.order.id()), report_.stateText(missing));
}

} // namespace imbrex::emulate
