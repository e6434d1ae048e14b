#pragma once

#include "backend/emulate/model/bulk_queue.h"
#include "backend/emulate/model/completions.h"
#include "backend/emulate/model/copies.h"
#include "backend/emulate/model/lane_bases.h"
#include "backend/emulate/model/matrix_exchange.h"
#include "backend/emulate/model/order.h"
#include "backend/emulate/model/phase_barriers.h"
#include "backend/emulate/model/shadow.h"
#include "backend/emulate/model/warp_operation.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

/// A block that runs: its threads, its shared memory, its meetings.
namespace imbrex::emulate {

enum class ThreadState : std::uint8_t {
  Runnable,
  AtWarpCall,
  AtMeeting,
  AtPhase, ///< Of a barrier in shared memory.
  Exited,
};

struct ThreadBlock;
class GridRun;

/// A barrier in shared memory, and one of its phases.
struct AwaitedPhase {
  std::uint64_t barrier = 0;
  std::int64_t phase = 0;
};

/// A number for copies that end by themselves, and the last of them.
struct IdleAgent {
  ThreadId id;
  Tick tick = 0;
};

struct Thread {
  Thread(GridRun &ofRun, ThreadBlock &ofBlock, ThreadId id, std::uint32_t warpSize)
      : run(&ofRun), block(&ofBlock), order(id), warp(id.thread / warpSize),
        lane(id.thread % warpSize) {}
  virtual ~Thread() = default; ///< Of one with what it runs on.
  Thread(const Thread &) = delete;
  Thread &operator=(const Thread &) = delete;

  /// Whether it has its own variables there.
  bool ownsStackAt(const std::byte *address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto low = reinterpret_cast<std::uintptr_t>(stack.data());
    return at >= low && at < low + stack.size();
  }

  GridRun *run;
  ThreadBlock *block;
  ThreadOrder order;
  std::uint32_t warp, lane;
  ThreadState state = ThreadState::Runnable;
  std::uint32_t site = 0; ///< Where it waits, or has last been.
  Operands operands{};    ///< Of the warp call or the meeting at which it waits.
  LaneResult result;
  MatrixWords words{};    ///< That it brings to an exchange of registers, and takes from it.
  std::int64_t turns = 0; ///< Of loops, and of waits.
  std::unordered_map<std::uint64_t, std::uint64_t> arrivals; ///< At meetings in two halves.
  CopyQueue copies;
  BulkQueue stores;
  std::vector<IdleAgent> bulkAgents;
  AwaitedPhase asked;         ///< Of the last wait for a phase.
  std::uint64_t toldAt = 0;   ///< How much had changed when it was last told that it has to wait.
  std::uint64_t meetings = 0; ///< With others of its block, that are over.
  std::span<const std::byte> stack; ///< Memory of the host.
};

/// Of threads of the block. Its number, and how many threads it counts, come with each call.
struct BlockMeeting {
  std::uint32_t arrived = 0;
  std::uint64_t phases = 0; ///< That are complete.
  Clock published;          ///< By those that have arrived in this phase.
  Clock complete;           ///< By those of the last complete phase.
  std::vector<Thread *> waiting;
};

struct ThreadBlock {
  std::uint32_t number = 0;
  std::array<std::int32_t, 3> index{};
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<std::byte> shared;
  std::vector<std::uint8_t> written; ///< For each byte of shared memory.
  Shadow sharedShadow;
  std::unordered_map<std::uint64_t, BlockMeeting> meetings;
  PhaseBarriers phaseBarriers;
  std::vector<Completion> completions; ///< That have not come.
  std::uint64_t changes = 1;           ///< To barriers in shared memory.
  LaneBases laneBases;
  std::uint32_t exited = 0;
};

} // namespace imbrex::emulate
