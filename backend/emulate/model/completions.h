#pragma once

#include "backend/emulate/model/copies.h"

#include <cstdint>
#include <vector>

namespace imbrex::emulate {

struct Thread;

/// What comes to a barrier in shared memory at some time after a thread has asked for it: when a
/// copy has landed, or when the thread's queue has.
struct Completion {
  Thread *issuer = nullptr;
  std::uint32_t site = 0;
  std::uint64_t barrier = 0; ///< Where it is in shared memory.
  std::uint32_t phase = 0;   ///< Of the barrier, when it was asked for.
  ThreadId by;               ///< Whose touches are over with it, up to a tick.
  Tick tick = 0;
  std::uint32_t arrivals = 0;
  std::int64_t bytes = 0;
  std::vector<Copy> copies = {}; ///< Of its own; none: those of the thread's queue.
};

} // namespace imbrex::emulate
