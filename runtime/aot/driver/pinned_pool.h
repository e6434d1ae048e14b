#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace imbrex::driver {

/// Pinned memory that a GPU keeps for copies of the host's plain memory, in pairs of pieces: the
/// engine copies one while the processor fills or reads the other (ADR 0027). Any number of threads
/// may use it at once.
class PinnedPool {
public:
  /// To start a copy and to wait for it takes the processor some microseconds, and to fill a piece
  /// of this size some 100: it is well above the one, and fits the caches of a core or two.
  static constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;
  static constexpr std::int64_t kPairBytes = 2 * kPieceBytes;
  /// As many threads at once copy through pinned memory; 8 MiB of it for each GPU.
  static constexpr std::size_t kMostPairs = 4;

  /// A pair that nobody has. Null where all are taken, or `allocate`, which makes new ones, gives
  /// an error.
  template <class Allocate>
  std::byte *take(Allocate allocate) {
    Pair *const pair = reserve();
    if (pair == nullptr) return nullptr;
    void *memory = pair->memory;
    if (memory == nullptr && allocate(memory) != 0) memory = nullptr;
    const std::scoped_lock lock(mutex_);
    pair->memory = static_cast<std::byte *>(memory);
    pair->isTaken = memory != nullptr;
    return pair->memory;
  }
  /// Nothing copies from or to it any longer. One that is not given back is used by nobody again.
  void giveBack(const std::byte *memory) {
    const std::scoped_lock lock(mutex_);
    for (Pair &pair : pairs_)
      if (pair.memory == memory) pair.isTaken = false;
  }
  /// All of them, at the end.
  template <class Release>
  void clear(Release release) {
    for (Pair &pair : pairs_)
      if (pair.memory != nullptr) release(pair.memory);
  }

private:
  struct Pair {
    std::byte *memory = nullptr;
    bool isTaken = false;
  };

  Pair *reserve() {
    const std::scoped_lock lock(mutex_);
    // Those that are there come first, in the order in which they were made.
    const auto found = std::ranges::find(pairs_, false, &Pair::isTaken);
    if (found == pairs_.end()) return nullptr;
    found->isTaken = true;
    return &*found;
  }

  std::mutex mutex_;
  std::array<Pair, kMostPairs> pairs_;
};

} // namespace imbrex::driver
