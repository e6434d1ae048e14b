#include "backend/emulate/model/shadow.h"

#include <algorithm>
#include <bit>

namespace imbrex::emulate {
namespace {

/// Whether two accesses to one place may not be left unordered. Atomics are ordered by the place
/// itself, as long as each reaches the other's thread.
bool collide(AccessMode a, MemoryScope scopeOfA, AccessMode b, MemoryScope scopeOfB,
             bool sameBlock) {
  if (!writes(a) && !writes(b)) return false;
  if (!isAtomic(a) || !isAtomic(b)) return true;
  const MemoryScope needed = sameBlock ? MemoryScope::Block : MemoryScope::Device;
  return scopeOfA < needed || scopeOfB < needed;
}

} // namespace

Shadow::Page &Shadow::pageOf(std::uint64_t word) {
  const std::uint64_t number = word / kPageWords;
  if (number != lastPageNumber_) {
    std::unique_ptr<Page> &page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    lastPage_ = page.get();
    lastPageNumber_ = number;
  }
  return *lastPage_;
}

Shadow::Cell &Shadow::cellOf(std::uint64_t word) { return pageOf(word)[word % kPageWords]; }

Shadow::Cell *Shadow::splitCells(Cell &word) {
  if (word.split == 0) {
    const auto index = static_cast<std::uint32_t>(bytes_.size());
    std::array<Cell, 4> &cells = bytes_.emplace_back();
    for (Cell &cell : cells) {
      cell.write = word.write;
      cell.first = word.first;
      if (word.more == 0) continue;
      cell.more = static_cast<std::uint32_t>(groups_.size());
      groups_.push_back(groups_[word.more]);
    }
    word.split = index;
  }
  return bytes_[word.split].data();
}

template <class Function>
void Shadow::forEachGroup(Cell &cell, Function &&function) {
  if (cell.first.lanes != 0) function(cell.first);
  if (cell.more == 0) return;
  for (Group &group : groups_[cell.more]) function(group);
}

std::optional<ThreadId> Shadow::firstUnordered(const AccessAgent &who, const Group &group) const {
  for (std::uint64_t lanes = group.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const ThreadId id{group.block, group.warp * who.warpSize + lane};
    if (!who.knows(id, group.tick)) return id;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::conflictOf(Cell &cell, const AccessAgent &who,
                                           const ShadowAccess &touch) {
  std::optional<Conflict> found; // all returns are of it: a copy would be a tenth of all run time
  const Write &write = cell.write;
  if (write.tick != 0 && !who.knows(write.id, write.tick)) {
    const bool isOneStore = touch.mode == AccessMode::Write && touch.statement != 0 &&
                            touch.statement == write.statement && write.id.block == who.id.block;
    if (!isOneStore) found = {write.id, write.site, touch.address, true};
  } else if (who.generic != 0 && write.tick != 0 && !who.canSee(write.id, write.tick)) {
    found = {write.id, write.site, touch.address, true, true};
  }
  forEachGroup(cell, [&](const Group &group) {
    if (found ||
        !collide(touch.mode, touch.scope, group.mode, group.scope, group.block == who.id.block))
      return;
    if (const auto other = firstUnordered(who, group))
      found = {*other, group.site, touch.address, writes(group.mode)};
  });
  return found;
}

void Shadow::forgetGroups(Cell &cell) {
  cell.first.lanes = 0;
  if (cell.more != 0) {
    groups_[cell.more].clear();
    freeGroups_.push_back(cell.more);
  }
  cell.more = 0;
}

void Shadow::remember(Cell &cell, const AccessAgent &who, const ShadowAccess &touch) {
  if (touch.mode == AccessMode::Write) {
    cell.write = {who.id, who.tick, touch.site, touch.statement};
    forgetGroups(cell);
    return;
  }
  const std::uint32_t warp = who.id.thread / who.warpSize;
  const std::uint64_t lane = std::uint64_t{1} << (who.id.thread % who.warpSize);
  bool isNoted = false;
  std::size_t foreign = 0;
  Group *empty = cell.first.lanes == 0 ? &cell.first : nullptr;
  forEachGroup(cell, [&](Group &group) {
    if (group.lanes == 0) {
      if (empty == nullptr) empty = &group;
      return;
    }
    foreign += group.block != who.id.block ? 1 : 0;
    if (group.block != who.id.block || group.warp != warp || group.mode != touch.mode ||
        group.scope != touch.scope)
      return;
    if (group.tick == who.tick) {
      group.lanes |= lane;
      isNoted = true;
    } else {
      group.lanes &= ~lane;
    }
  });
  if (isNoted) return;
  const Group group{lane, who.id.block, warp, who.tick, touch.site, touch.mode, touch.scope};
  if (empty != nullptr) {
    *empty = group;
    return;
  }
  if (cell.more == 0) {
    if (freeGroups_.empty()) {
      cell.more = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    } else {
      cell.more = freeGroups_.back();
      freeGroups_.pop_back();
    }
  }
  std::vector<Group> &more = groups_[cell.more];
  if (foreign > kForeignEntries) {
    const auto old =
        std::ranges::find_if(more, [&](const Group &other) { return other.block != who.id.block; });
    if (old != more.end()) {
      *old = group;
      return;
    }
  }
  more.push_back(group);
}

std::optional<Conflict> Shadow::visit(Cell &cell, const AccessAgent &who,
                                      const ShadowAccess &touch) {
  const std::optional<Conflict> other = conflictOf(cell, who, touch);
  remember(cell, who, touch);
  return other;
}

std::optional<Conflict> Shadow::touch(const AccessAgent &who, const ShadowAccess &touch) {
  std::optional<Conflict> conflict;
  const auto visitCell = [&](Cell &cell, std::uint64_t address) {
    const auto other = visit(cell, who, touch);
    if (!other || conflict) return;
    conflict = other;
    conflict->address = address;
  };
  const std::uint64_t end = touch.address + touch.bytes;
  for (std::uint64_t at = touch.address; at < end;) {
    const std::uint64_t word = at / 4;
    const std::uint64_t stop = std::min(end, word * 4 + 4);
    Cell &cell = cellOf(word);
    if (cell.split == 0 && stop - at == 4) {
      visitCell(cell, at);
    } else {
      Cell *bytes = splitCells(cell);
      for (std::uint64_t byte = at; byte < stop; ++byte) visitCell(bytes[byte % 4], byte);
    }
    at = stop;
  }
  return conflict;
}

} // namespace imbrex::emulate
