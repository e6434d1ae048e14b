#include "backend/emulate/run/grid_run.h"

#include <algorithm>

/// Barriers in shared memory.
namespace imbrex::emulate {
namespace {

// PTX ISA 9.0, 9.7.13.15.2, "Contents of the mbarrier object".
constexpr std::int64_t kMostArrivals = (std::int64_t{1} << 20) - 1;
constexpr std::int64_t kMostBytes = (std::int64_t{1} << 20) - 1;

std::string range(std::int64_t least, std::int64_t most) {
  return "it may be from " + std::to_string(least) + " to " + std::to_string(most);
}

/// The opaque state of a phase: its number, and the arrivals that it lacked.
std::uint64_t stateOf(const PhaseBarrier &barrier) {
  return std::uint64_t{barrier.lacking} << 32 | barrier.phase;
}

} // namespace

/// The bytes of a barrier, which are neither anybody's data nor another barrier.
void GridRun::touchBarrier(Thread &thread, std::uint32_t site, std::uint64_t address) {
  AccessSite facts;
  facts.mode = AccessMode::Write;
  facts.space = Space::Shared;
  facts.bytes = facts.alignment = kPhaseBarrierBytes;
  if (memory_.access({thread, site, facts, thread.order.id(), thread.order.tick()}, address) ==
      nullptr)
    abandon(thread);
}

void GridRun::makeBarrier(Thread &thread, std::uint32_t site, std::uint64_t address,
                          std::uint32_t arrivals) {
  ThreadBlock &block = *thread.block;
  thread.site = site;
  touchBarrier(thread, site, address);
  if (arrivals < 1 || arrivals > kMostArrivals) {
    report_.errorOf(thread, Diag::EmulatedOperand, site, 0,
                    "a count of " + std::to_string(arrivals), range(1, kMostArrivals));
    abandon(thread);
  }
  const ThreadId id = agents_.make(thread.order.id());
  PhaseBarrier &barrier = block.phaseBarriers[offsetOf(address)];
  barrier.madeAt = site;
  barrier.id = id;
  barrier.maker = thread.order.id();
  barrier.madeTick = thread.order.tick();
  barrier.fence = agents_.make(thread.order.id());
  barrier.arrivals = barrier.lacking = arrivals;
  thread.order.seeLanded(id, 1);
}

void GridRun::unmakeBarrier(Thread &thread, std::uint32_t site, std::uint64_t address) {
  ThreadBlock &block = *thread.block;
  PhaseBarrier &barrier = knownBarrier(thread, site, address);
  reportUnanswered(barrier);
  // Who still waits will find that there is none.
  for (Thread *waiting : barrier.waiting) waiting->state = ThreadState::Runnable;
  block.phaseBarriers.erase(offsetOf(address));
  touchBarrier(thread, site, address);
  const auto first = block.written.begin() + static_cast<std::ptrdiff_t>(offsetOf(address));
  std::fill(first, first + kPhaseBarrierBytes, std::uint8_t{0});
}

/// The barrier at an address, of which the thread knows; null after an error that ends the run.
PhaseBarrier *GridRun::findBarrier(Thread &thread, std::uint32_t site, std::uint64_t address) {
  thread.site = site;
  PhaseBarriers &barriers = thread.block->phaseBarriers;
  const auto found = barriers.find(offsetOf(address));
  const bool isThere = found != barriers.end();
  if (isThere && found->second.knownPhases(thread.order.seen())) return &found->second;
  const std::string why = isThere ? "may not be initialised yet: nothing keeps it behind '" +
                                        code_.sites[found->second.madeAt].what + "' at " +
                                        toText(code_.sites[found->second.madeAt].where)
                                  : "is not initialised";
  report_.errorOf(thread, Diag::EmulatedBarrierMissing, site, isThere ? found->second.madeAt : 0,
                  static_cast<std::int64_t>(offsetOf(address)), why);
  return nullptr;
}

PhaseBarrier &GridRun::knownBarrier(Thread &thread, std::uint32_t site, std::uint64_t address) {
  PhaseBarrier *barrier = findBarrier(thread, site, address);
  if (barrier == nullptr) abandon(thread);
  return *barrier;
}

/// An arrival counts in the phase that runs when it comes.
void GridRun::checkArrival(const Thread &thread, std::uint32_t site, const PhaseBarrier &barrier,
                           std::uint32_t known) {
  if (known >= barrier.phase) return;
  report_.errorOf(thread, Diag::EmulatedEarlyArrival, site, barrier.madeAt,
                  std::int64_t{barrier.phase}, toText(code_.sites[barrier.madeAt].where),
                  std::int64_t{barrier.phase} - 1);
}

void GridRun::expectBytes(Thread &thread, std::uint32_t site, PhaseBarrier &barrier,
                          std::int64_t bytes) {
  barrier.bytes += bytes;
  if (std::abs(barrier.bytes) <= kMostBytes) return;
  report_.errorOf(thread, Diag::EmulatedOperand, site, 0,
                  "bytes that make " + std::to_string(barrier.bytes) + " expected ones",
                  range(-kMostBytes, kMostBytes));
  abandon(thread);
}

std::uint64_t GridRun::arriveAtPhase(Thread &thread, std::uint32_t site, const Arrival &arrival) {
  const auto &facts = std::get<PhaseSite>(code_.sites[site].facts);
  PhaseBarrier &barrier = knownBarrier(thread, site, arrival.address);
  checkArrival(thread, site, barrier, *barrier.knownPhases(thread.order.seen()));
  const std::uint64_t state = stateOf(barrier);
  expectBytes(thread, site, barrier, arrival.bytes);
  const bool endsPhase = arrival.count == barrier.lacking;
  if (arrival.count > barrier.lacking || (facts.mayNotEnd && endsPhase)) {
    report_.errorOf(thread, Diag::EmulatedArrivals, site, barrier.madeAt,
                    std::int64_t{arrival.count}, std::int64_t{barrier.phase},
                    toText(code_.sites[barrier.madeAt].where), std::int64_t{barrier.lacking});
    abandon(thread);
  }
  barrier.lacking -= arrival.count;
  if (facts.drops) barrier.arrivals -= arrival.count;
  if (arrival.count != 0) {
    const Publication published =
        facts.ordersMemory ? thread.order.publishNow() : thread.order.published(MemoryScope::Block);
    barrier.gathered = memory_.joiner()(barrier.gathered, clockOf(thread.order.id(), published));
  }
  settlePhase(*thread.block, barrier);
  return state;
}

/// The phase ends when all have come; who waits for it goes on.
void GridRun::settlePhase(ThreadBlock &block, PhaseBarrier &barrier) {
  ++block.changes;
  if (!barrier.isComplete()) return;
  const std::uint32_t ended = barrier.phase;
  if (const auto late = endPhase(barrier))
    report_.error(Diag::EmulatedParity, late->site, barrier.madeAt, std::int64_t{ended},
                  toText(code_.sites[barrier.madeAt].where), code_.sites[late->site].what,
                  report_.text({block.number, late->thread}), std::int64_t{ended} - 1);
  for (Thread *thread : barrier.waiting) thread->state = ThreadState::Runnable;
  barrier.waiting.clear();
}

/// The phase that a thread asks for. A parity is that of the last phase that the thread knows to be
/// over, which may be the one before the first, or of the next one.
std::int64_t GridRun::askedPhase(const Thread &thread, const PhaseBarrier &barrier,
                                 const PhaseSite &facts, std::uint64_t what) const {
  if (!facts.asksByParity) return static_cast<std::int64_t>(what & 0xffffffff);
  const std::int64_t next = *barrier.knownPhases(thread.order.seen());
  return (next & 1) == static_cast<std::int64_t>(what & 1) ? next : next - 1;
}

/// Until something changes. A thread is told "not yet" now and then: by chance, and where nobody of
/// its block can go on.
void GridRun::waitForPhase(Thread &thread, PhaseBarrier &barrier) {
  const std::uint64_t changes = thread.block->changes;
  if (thread.toldAt != changes && (random_() & 1) != 0) {
    thread.toldAt = changes;
  } else {
    barrier.waiting.push_back(&thread);
    thread.state = ThreadState::AtPhase;
  }
  pause(thread);
}

bool GridRun::awaitPhase(Thread &thread, std::uint32_t site, std::uint64_t address,
                         std::uint64_t what) {
  const auto &facts = std::get<PhaseSite>(code_.sites[site].facts);
  PhaseBarrier &before = knownBarrier(thread, site, address);
  const std::int64_t asked = askedPhase(thread, before, facts, what);
  thread.asked = {offsetOf(address), asked};
  if (asked == before.phase) waitForPhase(thread, before);
  PhaseBarrier &barrier = knownBarrier(thread, site, address);
  if (asked == barrier.phase) return false;
  if (asked + 1 < barrier.phase) {
    report_.error(Diag::EmulatedParity, site, barrier.madeAt, asked + 1,
                  toText(code_.sites[barrier.madeAt].where), code_.sites[site].what,
                  report_.text(thread.order.id()), asked);
    abandon(thread);
  }
  answer(thread, site, barrier, asked);
  return true;
}

void GridRun::answer(Thread &thread, std::uint32_t site, PhaseBarrier &barrier,
                     std::int64_t asked) {
  const auto &facts = std::get<PhaseSite>(code_.sites[site].facts);
  if (facts.ordersMemory) {
    thread.order.see(barrier.ended, memory_.joiner());
  } else {
    thread.order.seeAtFence(MemoryScope::Block, barrier.ended, memory_.joiner());
    thread.order.seeLanded(barrier.id, barrier.phase + 1);
  }
  barrier.answers[thread.order.id().thread] = {thread.order.tick(), site};
  std::erase_if(barrier.unanswered,
                [&](const PhaseBarrier::UnobservedArrival &u) { return u.phase <= asked; });
}

// --- what comes by itself ---

void GridRun::signalPhase(Thread &thread, std::uint32_t site, std::uint64_t address,
                          std::uint32_t more) {
  PhaseBarrier &barrier = knownBarrier(thread, site, address);
  checkArrival(thread, site, barrier, *barrier.knownPhases(thread.order.seen()));
  barrier.lacking += more;
  thread.block->completions.push_back({.issuer = &thread,
                                       .site = site,
                                       .barrier = offsetOf(address),
                                       .phase = barrier.phase,
                                       .by = agents_.of(thread.order.id(), Queue::Copies),
                                       .tick = thread.copies.track(),
                                       .arrivals = 1});
  copiesFly_ = true;
}

void GridRun::complete(ThreadBlock &block, std::size_t completion) {
  const Completion done = std::move(block.completions[completion]);
  block.completions.erase(block.completions.begin() + static_cast<std::ptrdiff_t>(completion));
  if (done.copies.empty()) done.issuer->copies.landUpTo(done.tick);
  for (const Copy &copy : done.copies) CopyQueue::land(copy);
  const auto found = block.phaseBarriers.find(done.barrier);
  const bool isThere = found != block.phaseBarriers.end();
  if (!isThere || done.arrivals > found->second.lacking) {
    isStopped_ = true;
    if (isThere)
      report_.errorOf(*done.issuer, Diag::EmulatedArrivals, done.site, found->second.madeAt,
                      std::int64_t{done.arrivals}, std::int64_t{found->second.phase},
                      toText(code_.sites[found->second.madeAt].where),
                      std::int64_t{found->second.lacking});
    else
      report_.errorOf(*done.issuer, Diag::EmulatedBarrierMissing, done.site, 0,
                      static_cast<std::int64_t>(done.barrier), "is not initialised any more");
    return;
  }
  PhaseBarrier &barrier = found->second;
  checkArrival(*done.issuer, done.site, barrier, done.phase);
  barrier.lacking -= done.arrivals;
  barrier.bytes -= done.bytes;
  barrier.gathered = barrier.gathered.with(block.number, {{done.by.thread, done.tick}});
  barrier.unanswered.push_back(
      {done.issuer, done.site, barrier.phase, done.copies.empty() ? done.tick : 0});
  settlePhase(block, barrier);
}

/// Copies whose landing nobody has asked for.
void GridRun::reportUnanswered(const PhaseBarrier &barrier) {
  for (const PhaseBarrier::UnobservedArrival &one : barrier.unanswered) {
    if (one.tick != 0 && one.issuer->copies.isOver(one.tick)) continue;
    report_.errorOf(*one.issuer, Diag::EmulatedNeverAwaited, one.site, one.issuer->site,
                    toText(code_.sites[one.issuer->site].where));
  }
}

void GridRun::endBlock(ThreadBlock &block) {
  while (!block.completions.empty() && !isStopped_) complete(block, 0);
  for (const auto &[offset, barrier] : block.phaseBarriers) reportUnanswered(barrier);
}

/// Nobody of the block can go on. True: somebody can now.
bool GridRun::unstick(ThreadBlock &block) {
  if (!block.completions.empty()) {
    complete(block, random_() % block.completions.size());
    return true;
  }
  bool isTold = false;
  for (const std::unique_ptr<Thread> &thread : block.threads) {
    if (thread->state != ThreadState::AtPhase || thread->toldAt == block.changes) continue;
    std::erase(block.phaseBarriers.at(thread->asked.barrier).waiting, thread.get());
    thread->toldAt = block.changes;
    thread->state = ThreadState::Runnable;
    isTold = true;
  }
  return isTold;
}

/// Who waits where for which phase. False: nobody waits for one.
bool GridRun::reportStuckPhases(const ThreadBlock &block) {
  bool isAny = false;
  for (const std::unique_ptr<Thread> &thread : block.threads) {
    if (thread->state != ThreadState::AtPhase) continue;
    const PhaseBarrier &barrier = block.phaseBarriers.at(thread->asked.barrier);
    report_.errorOf(*thread, Diag::EmulatedStuck, thread->site, barrier.madeAt, thread->asked.phase,
                    toText(code_.sites[barrier.madeAt].where), std::int64_t{barrier.lacking},
                    barrier.bytes);
    isAny = true;
  }
  return isAny;
}

} // namespace imbrex::emulate
