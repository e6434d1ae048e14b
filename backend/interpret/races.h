#pragma once

#include "backend/ir/op.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace imbrex::interpret {

/// Finds two blocks that touch the same byte when nothing orders them, at least one writes, and not
/// both are atomic.
///
/// The blocks run one after the other here, but a kernel must not depend on it. What orders two
/// accesses of different blocks is a chain of atomics: the first block's release after its access,
/// seen by the second block's acquire at the same address before its own.
///
///   block 0: store x; atomic_rmw flag [order = release]
///   block 1: atomic_rmw flag [order = acquire]; load x        no race
class RaceWatch {
public:
  enum class AccessMode : std::uint8_t { Read, Write, Atomic };
  struct RecordedAccess {
    std::int64_t block;
    const ir::Op *op;
  };

  void enterBlock(std::int64_t block);
  /// The access of another block that races with this one, if there is any.
  std::optional<RecordedAccess> touch(const ir::Op &op, AccessMode mode, std::uint64_t address);
  /// In front of an atomic's own access, which the releases that it sees come before, and behind
  /// it, which its release comes after.
  void acquire(std::uint64_t address, ir::MemoryOrder order);
  void release(std::uint64_t address, ir::MemoryOrder order);

private:
  /// Numbers touches in order; 0 is none. A block's touches by one op between two releases share
  /// one.
  using Stamp = std::uint32_t;

  /// The last accesses by up to two blocks: whoever comes, one of the two is another block's. Of
  /// plain writers one is enough, as a second would race with it.
  struct Byte {
    std::array<Stamp, 2> readers{}, atomics{};
    Stamp writer = 0;
  };
  static constexpr std::uint64_t kPageBytes = 1024;
  using Page = std::array<Byte, kPageBytes>;

  Byte &byteAt(std::uint64_t address);
  Stamp stampFor(const ir::Op &op);
  bool isOrdered(Stamp stamp) const;
  std::optional<RecordedAccess> firstUnordered(const std::array<Stamp, 2> &stamps) const;
  void note(std::array<Stamp, 2> &stamps, Stamp stamp) const;

  using Clock = std::unordered_map<std::int64_t, Stamp>; // block -> its touches up to here
  static void join(Clock &into, const Clock &from);

  std::int64_t block_ = 0;
  std::vector<RecordedAccess> touches_{RecordedAccess{-1, nullptr}};
  std::unordered_map<const ir::Op *, Stamp> stamps_;
  Clock seen_;
  std::unordered_map<std::uint64_t, Clock> released_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

} // namespace imbrex::interpret
