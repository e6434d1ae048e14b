#include "backend/emulate/model/phase_barriers.h"

namespace imbrex::emulate {

std::optional<UnorderedWait> endPhase(PhaseBarrier &barrier) {
  std::optional<UnorderedWait> late;
  for (const auto &[thread, answer] : barrier.answers)
    if (barrier.gathered.seen({barrier.id.block, thread}) < answer.tick)
      late = UnorderedWait{thread, answer.site};
  barrier.answers.clear();
  const Tick over = barrier.phase + 2;
  barrier.ended = barrier.gathered.with(barrier.id.block, {{barrier.id.thread, over}});
  barrier.gathered = {};
  barrier.lacking = barrier.arrivals;
  ++barrier.phase;
  return late;
}

PhaseBarriers::value_type *barrierWithin(PhaseBarriers &barriers, std::uint64_t offset,
                                         std::uint64_t bytes) {
  const auto behind = barriers.lower_bound(offset + bytes);
  if (behind == barriers.begin()) return nullptr;
  const auto last = std::prev(behind);
  return last->first + kPhaseBarrierBytes > offset ? &*last : nullptr;
}

} // namespace imbrex::emulate
