#include "backend/interpret/races.h"

#include <algorithm>

namespace imbrex::interpret {

void RaceWatch::enterBlock(std::int64_t block) {
  block_ = block;
  stamps_.clear();
  seen_.clear();
}

RaceWatch::Byte &RaceWatch::byteAt(std::uint64_t address) {
  std::unique_ptr<Page> &page = pages_[address / kPageBytes];
  if (!page) page = std::make_unique<Page>();
  return (*page)[address % kPageBytes];
}

RaceWatch::Stamp RaceWatch::stampFor(const ir::Op &op) {
  Stamp &stamp = stamps_[&op];
  if (stamp == 0) {
    stamp = static_cast<Stamp>(touches_.size());
    touches_.push_back({block_, &op});
  }
  return stamp;
}

bool RaceWatch::isOrdered(Stamp stamp) const {
  const std::int64_t block = touches_[stamp].block;
  if (stamp == 0 || block == block_) return true;
  const auto known = seen_.find(block);
  return known != seen_.end() && stamp <= known->second;
}

std::optional<RaceWatch::RecordedAccess>
RaceWatch::firstUnordered(const std::array<Stamp, 2> &stamps) const {
  for (const Stamp stamp : stamps)
    if (!isOrdered(stamp)) return touches_[stamp];
  return std::nullopt;
}

void RaceWatch::note(std::array<Stamp, 2> &stamps, Stamp stamp) const {
  if (touches_[stamps[0]].block != touches_[stamp].block) stamps[1] = stamps[0];
  stamps[0] = stamp;
}

std::optional<RaceWatch::RecordedAccess> RaceWatch::touch(const ir::Op &op, AccessMode mode,
                                                          std::uint64_t address) {
  Byte &byte = byteAt(address);
  const Stamp stamp = stampFor(op);
  std::optional<RecordedAccess> other = firstUnordered({byte.writer, 0});
  if (!other && mode != AccessMode::Read) other = firstUnordered(byte.readers);
  if (!other && mode != AccessMode::Atomic) other = firstUnordered(byte.atomics);
  if (mode == AccessMode::Read) note(byte.readers, stamp);
  if (mode == AccessMode::Atomic) note(byte.atomics, stamp);
  if (mode == AccessMode::Write) byte.writer = stamp;
  return other;
}

void RaceWatch::join(Clock &into, const Clock &from) {
  for (const auto &[block, stamp] : from) into[block] = std::max(into[block], stamp);
}

void RaceWatch::acquire(std::uint64_t address, ir::MemoryOrder order) {
  if (order == ir::MemoryOrder::Acquire || order == ir::MemoryOrder::AcquireRelease)
    join(seen_, released_[address]);
}

void RaceWatch::release(std::uint64_t address, ir::MemoryOrder order) {
  if (order != ir::MemoryOrder::Release && order != ir::MemoryOrder::AcquireRelease) return;
  Clock &clock = released_[address];
  join(clock, seen_);
  clock[block_] = static_cast<Stamp>(touches_.size() - 1);
  stamps_.clear(); // what this block touches from here on is not part of the release
}

} // namespace imbrex::interpret
