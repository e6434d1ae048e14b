#pragma once

#include "backend/emulate/model/clock.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace imbrex::emulate {

/// What runs beside a thread, in an order of its own, or is told of it.
enum class Queue : std::uint8_t {
  Copies,     ///< NVIDIA's cp.async, AMD's loads to LDS.
  Fences,     ///< What the thread has done and other proxies can see. As many as there are
  CopyFences, ///< numbers that act in the generic proxy: threads and copies.
  BulkReads,  ///< What bulk copies from shared memory take.
  BulkWrites, ///< And where they bring it.
};
inline constexpr std::uint32_t kQueues = 5;

/// The numbers, behind those of a block's threads, under which others touch memory or are known of.
///
/// A copy is ordered as if another thread made it: behind all that its issuer had done, and before
/// what comes after a wait for it. To clocks and shadow memory it is one: each queue of a thread
/// has a number of its own, and each copy in it is a tick. So nobody may touch what a copy writes,
/// or write what it reads, who has not seen its tick. Copies that end in no order have a number
/// each, for as long as they are under way.
class Agents {
public:
  Agents(std::uint32_t threads, std::uint32_t warpSize)
      : stride_((threads + warpSize - 1) / warpSize * warpSize) {}

  ThreadId of(ThreadId thread, Queue queue) const {
    return {thread.block, thread.thread + stride_ * (1 + static_cast<std::uint32_t>(queue))};
  }
  /// A new number for something that a thread has issued or made.
  ThreadId make(ThreadId issuer) {
    std::vector<std::uint32_t> &issuers = issuers_[issuer.block];
    issuers.push_back(issuer.thread);
    return {issuer.block, firstMade() + static_cast<std::uint32_t>(issuers.size()) - 1};
  }
  bool isThread(ThreadId id) const { return id.thread < stride_; }
  ThreadId issuer(ThreadId id) const {
    if (id.thread < firstMade()) return {id.block, id.thread % stride_};
    return {id.block, issuers_.at(id.block)[id.thread - firstMade()]};
  }

  /// Threads and their copies act in the generic proxy. What another proxy can see of them is
  /// under numbers as far behind theirs.
  std::uint32_t generic() const { return 2 * stride_; }
  ThreadId fenceOf(ThreadId id) const { return {id.block, id.thread + generic()}; }

private:
  std::uint32_t firstMade() const { return stride_ * (1 + kQueues); }

  /// A multiple of the warp's size, so that queues share entries of the shadow as lanes do.
  std::uint32_t stride_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> issuers_; ///< By block.
};

} // namespace imbrex::emulate
