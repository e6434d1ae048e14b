#include "backend/emulate/run/grid_run.h"

#include <algorithm>
#include <cstring>

namespace imbrex::emulate {
namespace {

/// For what the compiled code calls: the model itself. Pages that are not touched cost nothing.
constexpr std::size_t kStackOfCalls = std::size_t{192} << 10;

/// Threads and blocks that run at a time, as on a core of a GPU; at least one block does.
constexpr std::size_t kResidentThreads = 2048, kResidentBlocks = 16;

/// A wait for an atomic is this many turns of a loop.
constexpr std::int64_t kTurnsOfWait = 256;

/// Turns of a loop after which others get theirs: somebody may wait here without an atomic.
constexpr std::int64_t kTurnsBetweenPauses = 1024;

thread_local Thread *running = nullptr;

/// With the fiber that it runs on, as all threads of a run.
struct FiberThread final : Thread {
  FiberThread(GridRun &ofRun, ThreadBlock &ofBlock, ThreadId id, std::uint32_t warpSize,
              StackPool &stacks, void (*function)(void *))
      : Thread(ofRun, ofBlock, id, warpSize), fiber(stacks, function, static_cast<Thread *>(this)) {
    stack = fiber.stack();
  }

  Fiber fiber;
};

Fiber &fiberOf(Thread &thread) { return static_cast<FiberThread &>(thread).fiber; }

} // namespace

Thread &currentThread() { return *running; }

GridRun::GridRun(const Code &code, const EmulatedLaunch &launch, Diagnostics &diagnostics)
    : code_(code), launch_(launch), agents_(code.threads, code.warpSize),
      report_(code.sites, launch.grid, code.warpSize, diagnostics),
      memory_(launch.regions, code.warpSize, agents_, report_),
      recorder_(code.sites, code.warpSize, code.banks), blockCounts_(code.mixes.size()),
      stacks_(StackPool::ofThisThread(code.frameBytes + kStackOfCalls)),
      random_(launch.options.seed) {}

bool GridRun::execute() {
  Thread *const outer = running;
  admitBlocks();
  while (!blocks_.empty() && !isStopped_)
    if (!step()) break;
  running = outer;
  if (launch_.options.counters != nullptr) tell(*launch_.options.counters);
  return !report_.hasErrors();
}

// --- blocks ---

void GridRun::admitBlocks() {
  const std::size_t most =
      std::clamp<std::size_t>(kResidentThreads / code_.threads, 1, kResidentBlocks);
  while (blocks_.size() < most && nextBlock_ < launch_.grid.blocks())
    blocks_.push_back(makeBlock(nextBlock_++));
}

std::unique_ptr<ThreadBlock> GridRun::makeBlock(std::uint32_t number) {
  auto block = std::make_unique<ThreadBlock>();
  block->number = number;
  block->index = blockIndex(launch_.grid, number);
  // What nobody has written is a NaN, or -1: nothing that comes out right by chance.
  block->shared.resize(code_.sharedBytes, std::byte{0xff});
  block->written.resize(code_.sharedBytes);
  for (std::uint32_t i = 0; i < code_.threads; ++i)
    block->threads.push_back(std::make_unique<FiberThread>(
        *this, *block, ThreadId{number, i}, code_.warpSize, *stacks_, &GridRun::runThread));
  return block;
}

void GridRun::runThread(void *argument) {
  Thread &thread = *static_cast<Thread *>(argument);
  thread.run->code_.entry(thread.run->launch_.arguments.data());
  thread.run->endCopies(thread);
  thread.state = ThreadState::Exited;
  ++thread.block->exited;
}

void GridRun::tell(Counters &counters) {
  counters = {.blocks = static_cast<std::uint64_t>(launch_.grid.blocks()),
              .threads = code_.threads,
              .instructions = {},
              .accesses = recorder_.take()};
  for (std::size_t i = 0; i < blockCounts_.size(); ++i)
    for (std::size_t kind = 0; kind < counters.instructions.size(); ++kind)
      counters.instructions[kind] += blockCounts_[i] * code_.mixes[i][kind];
}

// --- warps ---

bool GridRun::hasRunnable(const ThreadBlock &block, std::uint32_t warp) const {
  const std::size_t first = std::size_t{warp} * code_.warpSize;
  const std::size_t last = std::min(block.threads.size(), first + code_.warpSize);
  for (std::size_t i = first; i < last; ++i)
    if (block.threads[i]->state == ThreadState::Runnable) return true;
  return false;
}

/// Run one warp of one block, both by chance. False: nobody can go on.
bool GridRun::step() {
  const std::uint32_t warps = (code_.threads + code_.warpSize - 1) / code_.warpSize;
  if (copiesFly_ && launch_.options.delivery == Delivery::Random) landSome();
  const std::size_t firstBlock = random_() % blocks_.size();
  const auto firstWarp = static_cast<std::uint32_t>(random_() % warps);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::size_t at = (firstBlock + i) % blocks_.size();
    ThreadBlock &block = *blocks_[at];
    for (std::uint32_t w = 0; w < warps; ++w) {
      const std::uint32_t warp = (firstWarp + w) % warps;
      if (!hasRunnable(block, warp)) continue;
      runWarp(block, warp);
      if (block.exited == code_.threads) {
        endBlock(block);
        recorder_.leave(block);
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
        admitBlocks();
      }
      return true;
    }
    if (unstick(block)) return true;
    // What a block of the same grid still does can't help threads that wait within this one.
    reportStuck(block);
    return false;
  }
  return false;
}

void GridRun::runWarp(ThreadBlock &block, std::uint32_t warp) {
  const std::uint32_t first = warp * code_.warpSize;
  const std::uint32_t lanes = std::min(code_.warpSize, code_.threads - first);
  // Any rotation, in either direction: a lane may run before or after any other.
  const auto start = static_cast<std::uint32_t>(random_() % lanes);
  const bool isReversed = (random_() & 1) != 0;
  for (std::uint32_t i = 0; i < lanes && !isStopped_; ++i) {
    const std::uint32_t lane = (start + (isReversed ? lanes - i : i)) % lanes;
    Thread &thread = *block.threads[first + lane];
    if (thread.state != ThreadState::Runnable) continue;
    running = &thread;
    fiberOf(thread).resume();
  }
  if (!isStopped_) settleWarp(block, warp);
}

// --- called by compiled code ---

void GridRun::pause(Thread &thread) { fiberOf(thread).stop(); }

void GridRun::abandon(Thread &thread) {
  isStopped_ = true;
  while (true) fiberOf(thread).stop();
}

std::byte *GridRun::access(Thread &thread, std::uint64_t address, std::uint32_t site) {
  if (std::get<AccessSite>(code_.sites[site].facts).waits) {
    thread.turns += kTurnsOfWait - 1;
    countTurn(thread, site);
    pause(thread);
  }
  std::byte *pointer = memory_.access(thread, address, site);
  if (pointer == nullptr) abandon(thread);
  if (launch_.options.counters != nullptr && !thread.ownsStackAt(pointer))
    recorder_.touch(thread, site, address, memory_.isShared(thread, address));
  return pointer;
}

std::byte *GridRun::accessPrivate(Thread &thread, std::byte *variable, std::byte *address,
                                  std::uint32_t site) {
  std::byte *pointer = memory_.accessPrivate(thread, variable, address, site);
  if (pointer == nullptr) abandon(thread);
  return pointer;
}

void GridRun::loadWords(Thread &thread, std::uint32_t site, std::uint64_t address) {
  const std::byte *from = access(thread, address, site);
  std::memcpy(thread.words.data(), from, std::get<AccessSite>(code_.sites[site].facts).bytes);
}

void GridRun::storeWords(Thread &thread, std::uint32_t site, std::uint64_t address) {
  std::byte *to = access(thread, address, site);
  std::memcpy(to, thread.words.data(), std::get<AccessSite>(code_.sites[site].facts).bytes);
}

void GridRun::fence(Thread &thread, std::uint32_t site) {
  const auto &facts = std::get<FenceSite>(code_.sites[site].facts);
  if (facts.acquires) thread.order.acquireFence(facts.scope, memory_.joiner());
  if (facts.releases) thread.order.releaseFence(facts.scope);
}

void GridRun::countTurn(Thread &thread, std::uint32_t site) {
  ++thread.turns;
  if (thread.turns % kTurnsBetweenPauses == 0) pause(thread);
  if (thread.turns <= launch_.options.mostTurns) return;
  report_.error(Diag::EmulatedEndless, site, 0, report_.text(thread.order.id()),
                code_.sites[site].what);
  abandon(thread);
}

void GridRun::trap(Thread &thread, std::uint32_t site) {
  report_.error(Diag::EmulatedTrap, site, 0, report_.text(thread.order.id()),
                code_.sites[site].what);
  abandon(thread);
}

} // namespace imbrex::emulate
