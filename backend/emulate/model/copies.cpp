#include "backend/emulate/model/copies.h"

#include <algorithm>
#include <cstring>

namespace imbrex::emulate {

void CopyQueue::issue(const Copy &copy) {
  pending_.push_back({copy});
  ++issued_;
}

Tick CopyQueue::await(std::size_t groups) {
  if (groups_.size() <= groups) return over_;
  const auto last = groups_.end() - static_cast<std::ptrdiff_t>(groups);
  const Tick upTo = *(last - 1);
  groups_.erase(groups_.begin(), last);
  const auto landed = pending_.begin() + static_cast<std::ptrdiff_t>(upTo - over_);
  for (auto pending = pending_.begin(); pending != landed; ++pending) land(*pending);
  pending_.erase(pending_.begin(), landed);
  return over_ = upTo;
}

void CopyQueue::landSome(std::mt19937_64 &random) {
  for (PendingCopy &pending : pending_)
    if ((random() & 3) == 0) land(pending);
}

void CopyQueue::landUpTo(Tick tick) {
  for (Tick at = over_; at < tick; ++at) land(pending_[at - over_]);
}

std::optional<Copy> CopyQueue::pending() const {
  const Tick known = std::max(over_, tracked_);
  if (issued_ == known) return std::nullopt;
  return pending_[known - over_].copy;
}

void CopyQueue::land(PendingCopy &pending) {
  if (pending.hasLanded) return;
  pending.hasLanded = true;
  land(pending.copy);
}

void CopyQueue::land(const Copy &copy) {
  if (copy.bytes != 0) std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(copy.to + copy.bytes, 0, copy.zeros);
}

} // namespace imbrex::emulate
