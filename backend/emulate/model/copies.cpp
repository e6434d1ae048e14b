#include "backend/emulate/model/copies.h"

#include <algorithm>
#include <cstring>

namespace imbrex::emulate {

void CopyQueue::issue(const Copy &copy) {
  flying_.push_back({copy});
  ++issued_;
}

Tick CopyQueue::await(std::size_t groups) {
  if (groups_.size() <= groups) return over_;
  const auto last = groups_.end() - static_cast<std::ptrdiff_t>(groups);
  const Tick upTo = *(last - 1);
  groups_.erase(groups_.begin(), last);
  const auto landed = flying_.begin() + static_cast<std::ptrdiff_t>(upTo - over_);
  for (auto flying = flying_.begin(); flying != landed; ++flying) land(*flying);
  flying_.erase(flying_.begin(), landed);
  return over_ = upTo;
}

void CopyQueue::landSome(std::mt19937_64 &random) {
  for (Flying &flying : flying_)
    if ((random() & 3) == 0) land(flying);
}

void CopyQueue::landUpTo(Tick tick) {
  for (Tick at = over_; at < tick; ++at) land(flying_[at - over_]);
}

std::optional<Copy> CopyQueue::pending() const {
  const Tick known = std::max(over_, tracked_);
  if (issued_ == known) return std::nullopt;
  return flying_[known - over_].copy;
}

void CopyQueue::land(Flying &flying) {
  if (flying.hasLanded) return;
  flying.hasLanded = true;
  land(flying.copy);
}

void CopyQueue::land(const Copy &copy) {
  if (copy.bytes != 0) std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(copy.to + copy.bytes, 0, copy.zeros);
}

} // namespace imbrex::emulate
