#include "backend/emulate/model/clock.h"

#include <algorithm>

namespace imbrex::emulate {

Clock Clock::with(std::uint32_t block,
                  llvm::ArrayRef<std::pair<std::uint32_t, Tick>> threadTicks) const {
  auto state = state_ ? std::make_shared<std::vector<Entry>>(*state_)
                      : std::make_shared<std::vector<Entry>>();
  auto entry = std::ranges::find(*state, block, &Entry::block);
  auto ticks = entry != state->end() ? std::make_shared<std::vector<Tick>>(*entry->ticks)
                                     : std::make_shared<std::vector<Tick>>();
  for (const auto &[thread, tick] : threadTicks) {
    if (thread >= ticks->size()) ticks->resize(thread + 1);
    (*ticks)[thread] = std::max((*ticks)[thread], tick);
  }
  if (entry != state->end())
    entry->ticks = std::move(ticks);
  else
    state->push_back({block, std::move(ticks)});
  Clock result;
  result.state_ = std::move(state);
  return result;
}

Clock Clock::withShadowOf(std::uint32_t numbers) const {
  if (!state_) return {};
  auto state = std::make_shared<std::vector<Entry>>(*state_);
  for (Entry &entry : *state) {
    auto ticks = std::make_shared<std::vector<Tick>>(*entry.ticks);
    if (ticks->size() < 2 * numbers) ticks->resize(2 * numbers);
    for (std::uint32_t i = 0; i < numbers; ++i)
      (*ticks)[numbers + i] = std::max((*ticks)[numbers + i], (*ticks)[i]);
    entry.ticks = std::move(ticks);
  }
  Clock result;
  result.state_ = std::move(state);
  return result;
}

/// One of the two where it has seen all that the other has, so that clocks go on sharing memory.
Clock::Ticks Clock::joinTicks(const Ticks &a, const Ticks &b) {
  if (a == b) return a;
  if (a->size() < b->size()) return joinTicks(b, a);
  auto joined = std::make_shared<std::vector<Tick>>(*a);
  for (std::size_t i = 0; i < b->size(); ++i) (*joined)[i] = std::max((*joined)[i], (*b)[i]);
  if (*joined == *a) return a;
  if (*joined == *b) return b;
  return joined;
}

Clock Clock::join(const Clock &a, const Clock &b) {
  if (a.isEmpty() || a.isSameAs(b)) return b;
  if (b.isEmpty()) return a;
  auto state = std::make_shared<std::vector<Entry>>(*a.state_);
  for (const Entry &other : *b.state_) {
    auto entry = std::ranges::find(*state, other.block, &Entry::block);
    if (entry == state->end())
      state->push_back(other);
    else
      entry->ticks = joinTicks(entry->ticks, other.ticks);
  }
  Clock result;
  result.state_ = std::move(state);
  return result;
}

} // namespace imbrex::emulate
