#pragma once

#include "backend/emulate/clock.h"

namespace imbrex::emulate {

/// What a thread issues in order and does not wait for runs beside it.
enum class Queue : std::uint8_t {
  Copies, ///< NVIDIA's cp.async, AMD's loads to LDS.
};

inline constexpr std::uint32_t kQueues = 1;

/// The numbers, behind those of a block's threads, under which their queues touch memory.
///
/// A copy is ordered as if another thread made it: behind all that its issuer had done, and before
/// what comes after a wait for it. To clocks and shadow memory it is one: each queue of a thread
/// has a number of its own, and each copy in it is a tick. So nobody may touch what a copy writes,
/// or write what it reads, who has not seen its tick.
class Agents {
public:
  Agents(std::uint32_t threads, std::uint32_t warpSize)
      : stride_((threads + warpSize - 1) / warpSize * warpSize) {}

  ThreadId of(ThreadId thread, Queue queue) const {
    return {thread.block, thread.thread + stride_ * (1 + static_cast<std::uint32_t>(queue))};
  }
  /// What is of no thread: a number for each.
  ThreadId other(std::uint32_t block, std::uint32_t number) const {
    return {block, stride_ * (1 + kQueues) + number};
  }
  bool isThread(ThreadId id) const { return id.thread < stride_; }
  ThreadId issuer(ThreadId id) const { return {id.block, id.thread % stride_}; }

private:
  /// A multiple of the warp's size, so that queues share entries of the shadow as lanes do.
  std::uint32_t stride_;
};

} // namespace imbrex::emulate
