#include "backend/emulate/model/order.h"

namespace imbrex::emulate {

Clock clockOf(ThreadId by, const Publication &publication) {
  if (publication.tick == 0) return {};
  return publication.seen.with(by.block, {{by.thread, publication.tick}});
}

void ThreadOrder::acquireFence(MemoryScope scope, ClockJoiner &join) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) {
    seen_ = join(seen_, pending_[i]);
    pending_[i] = {};
  }
}

void ThreadOrder::releaseFence(MemoryScope scope) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) published_[i] = {seen_, tick_};
  ++tick_;
}

void ThreadOrder::seeAtFence(MemoryScope scope, const Clock &clock, ClockJoiner &join) {
  Clock &pending = pending_[static_cast<std::size_t>(scope)];
  pending = join(pending, clock);
}

void ThreadOrder::fenceProxy(std::uint32_t generic) {
  seen_ = seen_.with(id_.block, {{id_.thread, tick_++}}).withShadowOf(generic);
}

void ThreadOrder::seeLanded(ThreadId queue, Tick tick) {
  if (seen_.seen(queue) < tick) seen_ = seen_.with(queue.block, {{queue.thread, tick}});
}

void ThreadOrder::publishLanded(ThreadId queue, Tick tick) {
  seeLanded(queue, tick);
  for (Publication &published : published_)
    if (published.tick != 0 && published.seen.seen(queue) < tick)
      published.seen = published.seen.with(queue.block, {{queue.thread, tick}});
}

void AtomicOrder::read(ThreadOrder &thread, const Operation &operation, ClockJoiner &join) {
  const auto found = places_.find(operation.address);
  if (found == places_.end()) return;
  const auto learn = [&](MemoryScope scope, const Clock &clock) {
    if (clock.isEmpty() || operation.scope < scope) return;
    if (operation.acquires)
      thread.see(clock, join);
    else
      thread.seeAtFence(scope, clock, join);
  };
  learn(MemoryScope::Device, found->second.device);
  const auto own = found->second.byBlock.find(thread.id().block);
  if (own != found->second.byBlock.end()) learn(MemoryScope::Block, own->second);
}

void AtomicOrder::write(ThreadOrder &thread, const Operation &operation, ClockJoiner &join) {
  // A write that reads nothing ends what earlier writes have published here; an exchange, an
  // addition go on with it (C++'s release sequence).
  if (!operation.reads) places_.erase(operation.address);
  Publication block = thread.published(MemoryScope::Block);
  Publication device = thread.published(MemoryScope::Device);
  if (operation.releases) block = device = thread.publishNow();
  const auto publish = [&](MemoryScope scope, const Publication &publication, auto &&place) {
    if (publication.tick == 0 || operation.scope < scope) return;
    Clock &clock = place();
    clock = join(clock, clockOf(thread.id(), publication));
  };
  publish(MemoryScope::Block, block,
          [&]() -> Clock & { return places_[operation.address].byBlock[thread.id().block]; });
  publish(MemoryScope::Device, device,
          [&]() -> Clock & { return places_[operation.address].device; });
}

} // namespace imbrex::emulate
