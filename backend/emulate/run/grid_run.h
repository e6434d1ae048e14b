#pragma once

#include "backend/emulate/model/access_recorder.h"
#include "backend/emulate/model/agents.h"
#include "backend/emulate/model/copy_operands.h"
#include "backend/emulate/model/memory.h"
#include "backend/emulate/options.h"
#include "backend/emulate/run/amd_launch.h"
#include "backend/emulate/run/fiber.h"

#include <map>
#include <random>
#include <vector>

namespace imbrex::emulate {

/// What a run needs of a compiled program.
struct Code {
  using Entry = void (*)(const std::uint64_t *arguments);
  Entry entry = nullptr;
  std::size_t frameBytes = 0; ///< Of all functions: what a thread needs of a stack.
  SiteTable sites;
  std::uint32_t warpSize = 32;
  std::uint32_t threads = 1;
  std::uint64_t sharedBytes = 0;
  std::uint32_t banks = 32;
  bool lanesMeetAlways = false;   ///< AMD: every lane of a warp that has not exited takes part.
  bool warpsMeetAnywhere = false; ///< The kernel says so; see EmulatorOptions.
  std::vector<InstructionCounts> mixes; ///< Of each basic block.
};

struct EmulatedLaunch {
  ir::Grid grid;
  EmulatorOptions options;
  std::vector<std::uint64_t> arguments; ///< A word for each LLVM parameter.
  std::vector<GlobalRegion> regions;
  ImplicitArguments implicit; ///< AMD.
  DispatchPacket packet;      ///< AMD.
};

/// Every thread of the grid, each a fiber of this one thread of the host.
///
/// A thread runs until it waits for others, or has waited long enough for an atomic to change. Then
/// its warp's other lanes run, then some other warp, in an order that the seed makes. Blocks come
/// in the grid's order, several at a time as on a GPU, so that a block may wait for an earlier one.
class GridRun {
public:
  GridRun(const Code &code, const EmulatedLaunch &launch, Diagnostics &diagnostics);
  bool execute();

  const Code &code() const { return code_; }
  const EmulatedLaunch &launch() const { return launch_; }
  std::uint64_t *blockCounts() { return blockCounts_.data(); }

  // --- on a thread's fiber, called by compiled code ---

  std::byte *access(Thread &thread, std::uint64_t address, std::uint32_t site);
  std::byte *accessPrivate(Thread &thread, std::byte *variable, std::byte *address,
                           std::uint32_t site);
  void didCompareExchange(Thread &thread, std::uint64_t address, std::uint32_t site) {
    memory_.didCompareExchange(thread, address, site);
  }
  /// Bring what the lane's address leads to into its words, or the other way round.
  void loadWords(Thread &thread, std::uint32_t site, std::uint64_t address);
  void storeWords(Thread &thread, std::uint32_t site, std::uint64_t address);
  void fence(Thread &thread, std::uint32_t site);
  std::uint64_t meetWarp(Thread &thread, std::uint32_t site, const Operands &operands);
  /// `operands`: the meeting's number, how many threads it counts (0: all), what is reduced.
  void meetBlock(Thread &thread, std::uint32_t site, const Operands &operands);
  void startCopy(Thread &thread, std::uint32_t site, const CopyOperands &operands);
  void startBufferCopy(Thread &thread, std::uint32_t site, const BufferOperands &operands);
  /// Between the thread's words and what of the bytes is within the buffer.
  void accessBuffer(Thread &thread, std::uint32_t site, const BufferOperands &operands);
  /// What stands for a buffer in the thread's registers.
  std::uint64_t makeBuffer(const BufferResource &buffer);
  void awaitCopies(Thread &thread, std::uint32_t site, std::uint64_t groups);
  void makeBarrier(Thread &thread, std::uint32_t site, std::uint64_t address,
                   std::uint32_t arrivals);
  void unmakeBarrier(Thread &thread, std::uint32_t site, std::uint64_t address);
  /// The state of the phase that it arrives in, before that.
  std::uint64_t arriveAtPhase(Thread &thread, std::uint32_t site, const Arrival &arrival);
  /// Arrive when the copies that the thread has issued have landed; the phase wants `more`
  /// arrivals.
  void signalPhase(Thread &thread, std::uint32_t site, std::uint64_t address, std::uint32_t more);
  /// Whether a phase is over, which `what` names: a state, or a parity.
  bool awaitPhase(Thread &thread, std::uint32_t site, std::uint64_t address, std::uint64_t what);
  void fenceProxy(Thread &thread);
  /// The barriers that the thread has made can be seen by other proxies.
  void fenceMaking(Thread &thread);
  void loadBulk(Thread &thread, std::uint32_t site, const BulkOperands &operands);
  void loadBox(Thread &thread, std::uint32_t site, const BoxOperands &operands);
  void storeBulk(Thread &thread, std::uint32_t site, const CopyOperands &operands);
  void storeBox(Thread &thread, std::uint32_t site, const BoxOperands &operands);
  void awaitStores(Thread &thread, std::uint32_t site, std::uint64_t groups, bool onlyTaken);
  void countTurn(Thread &thread, std::uint32_t site);
  [[noreturn]] void trap(Thread &thread, std::uint32_t site);

private:
  static void runThread(void *thread);
  void admitBlocks();
  void tell(Counters &counters);
  std::unique_ptr<ThreadBlock> makeBlock(std::uint32_t number);
  bool step();
  void runWarp(ThreadBlock &block, std::uint32_t warp);
  bool hasRunnable(const ThreadBlock &block, std::uint32_t warp) const;

  // Where threads meet: run_meetings.cpp.
  std::uint64_t lanesWhere(const ThreadBlock &block, std::uint32_t warp, auto &&condition) const;
  std::uint64_t calledLanes(const Thread &thread) const;
  std::uint64_t meetingLanes(const Thread &thread, bool isAtRest) const;
  bool completeMeetings(ThreadBlock &block, std::uint32_t warp);
  bool operateTogether(const WarpSite &facts, llvm::ArrayRef<Thread *> threads,
                       std::uint64_t lanes);
  void completeMeeting(ThreadBlock &block, std::uint32_t warp, const Thread &first,
                       std::uint64_t lanes);
  void settleWarp(ThreadBlock &block, std::uint32_t warp);
  void reportDivergence(const ThreadBlock &block, std::uint32_t warp, const Thread &waiting);
  void orderMeeting(llvm::ArrayRef<Thread *> threads, MemoryScope fences);
  void arriveEarly(Thread &thread, BlockMeeting &meeting);
  void seeMeeting(Thread &thread, const BlockMeeting &meeting);
  void completeMeeting(BlockMeeting &meeting);
  void reportStuck(const ThreadBlock &block);

  // Copies that run beside the threads: run_copies.cpp.
  CopyOperands withinBuffer(const BufferOperands &operands, std::uint32_t wanted) const;
  Copy checkedCopy(Thread &thread, std::uint32_t site, const CopyOperands &operands);
  void checkLaneBase(const Thread &thread, std::uint32_t site, std::uint64_t base);
  void endCopies(Thread &thread);
  void landSome();

  // Barriers in shared memory: run_phases.cpp.
  void touchBarrier(Thread &thread, std::uint32_t site, std::uint64_t address);
  PhaseBarrier *findBarrier(Thread &thread, std::uint32_t site, std::uint64_t address);
  PhaseBarrier &knownBarrier(Thread &thread, std::uint32_t site, std::uint64_t address);
  void checkArrival(const Thread &thread, std::uint32_t site, const PhaseBarrier &barrier,
                    std::uint32_t known);
  void expectBytes(Thread &thread, std::uint32_t site, PhaseBarrier &barrier, std::int64_t bytes);
  void settlePhase(ThreadBlock &block, PhaseBarrier &barrier);
  std::int64_t askedPhase(const Thread &thread, const PhaseBarrier &barrier, const PhaseSite &facts,
                          std::uint64_t what) const;
  void waitForPhase(Thread &thread, PhaseBarrier &barrier);
  void answer(Thread &thread, std::uint32_t site, PhaseBarrier &barrier, std::int64_t asked);
  void complete(ThreadBlock &block, std::size_t completion);
  void reportUnanswered(const PhaseBarrier &barrier);
  void endBlock(ThreadBlock &block);
  bool unstick(ThreadBlock &block);
  bool reportStuckPhases(const ThreadBlock &block);

  // Bulk copies: run_bulk.cpp.
  IdleAgent idleAgent(Thread &thread);
  PhaseBarrier &bulkBarrier(Thread &thread, std::uint32_t site, std::uint64_t address);
  std::byte *touchInBulk(Thread &thread, std::uint32_t site, const IdleAgent &agent,
                         const AccessSite &facts, std::uint64_t address);
  void requireAligned(Thread &thread, std::uint32_t site, std::uint64_t address,
                      std::uint32_t alignment);
  void requireUnits(Thread &thread, std::uint32_t site, std::uint32_t bytes);
  bool readMap(Thread &thread, std::uint32_t site, std::uint64_t address, TensorMap &map);
  TensorMap tensorMap(Thread &thread, std::uint32_t site, std::uint64_t address);
  std::optional<std::vector<Copy>> loadedParts(Thread &thread, std::uint32_t site,
                                               const IdleAgent &agent, const TensorMap &map,
                                               const BoxOperands &operands);
  Completion bulkLoad(Thread &thread, std::uint32_t site, std::uint64_t barrier);
  void endAtBarrier(Thread &thread, Completion load, std::int64_t bytes, std::vector<Copy> copies);
  void requireBulk(Thread &thread, std::uint32_t site, const CopyOperands &operands);
  Copy storedPart(Thread &thread, std::uint32_t site, const CopyOperands &operands);
  std::optional<std::vector<Copy>> storedParts(Thread &thread, std::uint32_t site,
                                               const TensorMap &map, const BoxOperands &operands);
  void endStores(Thread &thread);

  void pause(Thread &thread);
  [[noreturn]] void abandon(Thread &thread);

  const Code &code_;
  const EmulatedLaunch &launch_;
  Agents agents_;
  RunReport report_;
  Memory memory_;
  AccessRecorder recorder_;
  std::vector<std::uint64_t> blockCounts_;
  std::shared_ptr<StackPool> stacks_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<ThreadBlock>> blocks_; ///< That run now.
  std::uint32_t nextBlock_ = 0;
  std::map<BufferResource, std::uint64_t> bufferNumbers_;
  std::vector<BufferResource> buffers_;
  bool copiesFly_ = false; ///< Some were issued, ever.
  bool isStopped_ = false;
};

/// The thread whose fiber runs on this thread of the host.
Thread &currentThread();

} // namespace imbrex::emulate
