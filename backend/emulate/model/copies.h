#pragma once

#include "backend/emulate/model/clock.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace imbrex::emulate {

/// What a copy moves: bytes, and zeros behind them.
struct Copy {
  std::byte *to = nullptr;
  const std::byte *from = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t zeros = 0;
  std::uint32_t site = 0;
};

/// The copies that a thread has issued and not waited for, oldest first. They land by themselves,
/// in any order; a group of them is waited for after all groups before it.
class CopyQueue {
public:
  /// Of the next copy.
  Tick nextTick() const { return issued_ + 1; }
  void issue(const Copy &copy);
  void commit() { groups_.push_back(issued_); }
  /// Wait until at most this many groups are under way; the tick of the last copy that is over.
  Tick await(std::size_t groups);
  /// Let each copy that is under way land, or not, by chance.
  void landSome(std::mt19937_64 &random);
  /// Something else is told when all that was issued has landed: the tick of the last.
  Tick track() { return tracked_ = issued_; }
  /// Let what was issued up to a tick land.
  void landUpTo(Tick tick);
  /// Whether what was issued up to a tick was waited for.
  bool isOver(Tick tick) const { return tick <= over_; }
  /// A copy that has not been waited for and of whose landing nothing is told.
  std::optional<Copy> pending() const;

  static void land(const Copy &copy);

private:
  struct PendingCopy {
    Copy copy;
    bool hasLanded = false;
  };
  static void land(PendingCopy &pending);

  std::vector<PendingCopy> pending_;
  std::vector<Tick> groups_; ///< The last tick of each that was not waited for.
  Tick issued_ = 0, over_ = 0, tracked_ = 0;
};

} // namespace imbrex::emulate
