#include "backend/emulate/model/bulk_queue.h"

#include <algorithm>
#include <cstring>

namespace imbrex::emulate {

void BulkQueue::issue(BulkStore store) {
  flying_.push_back(std::move(store));
  ++issued_;
}

Tick BulkQueue::awaitTaken(std::size_t groups) {
  if (groups_.size() <= groups) return taken_;
  const Tick upTo = groups_[groups_.size() - groups - 1];
  for (Tick at = over_; at < upTo; ++at) take(flying_[at - over_]);
  return taken_ = std::max(taken_, upTo);
}

Tick BulkQueue::await(std::size_t groups) {
  const Tick upTo = awaitTaken(groups);
  if (groups_.size() <= groups) return over_;
  groups_.erase(groups_.begin(), groups_.end() - static_cast<std::ptrdiff_t>(groups));
  const auto landed = flying_.begin() + static_cast<std::ptrdiff_t>(upTo - over_);
  for (auto flying = flying_.begin(); flying != landed; ++flying) land(*flying);
  flying_.erase(flying_.begin(), landed);
  return over_ = upTo;
}

void BulkQueue::landSome(std::mt19937_64 &random) {
  for (BulkStore &store : flying_) {
    if ((random() & 3) == 0) take(store);
    if (store.hasTaken && (random() & 3) == 0) land(store);
  }
}

void BulkQueue::landAll() {
  for (BulkStore &store : flying_) land(store);
}

std::optional<std::uint32_t> BulkQueue::pending() const {
  if (issued_ == taken_) return std::nullopt;
  return flying_[std::max(taken_, over_) - over_].site;
}

void BulkQueue::take(BulkStore &store) {
  if (store.hasTaken) return;
  store.hasTaken = true;
  for (const Copy &part : store.parts)
    store.taken.insert(store.taken.end(), part.from, part.from + part.bytes);
}

void BulkQueue::land(BulkStore &store) {
  take(store);
  if (store.hasLanded) return;
  store.hasLanded = true;
  const std::byte *from = store.taken.data();
  for (const Copy &part : store.parts) {
    std::memcpy(part.to, from, part.bytes);
    from += part.bytes;
  }
}

} // namespace imbrex::emulate
