#pragma once

#include "backend/emulate/model/copies.h"

#include <random>
#include <vector>

namespace imbrex::emulate {

/// A copy from shared to global memory: its parts, and the bytes that it has taken already.
struct BulkStore {
  std::vector<Copy> parts;
  std::uint32_t site = 0;
  std::vector<std::byte> taken = {};
  bool hasTaken = false, hasLanded = false;
};

/// The copies from shared memory that a thread has issued, in groups that end in order. That all
/// their bytes have been taken can be waited for before they are where they go.
class BulkQueue {
public:
  Tick nextTick() const { return issued_ + 1; }
  void issue(BulkStore store);
  void commit() { groups_.push_back(issued_); }
  /// Until at most this many groups are under way; the tick of the last copy that is over.
  Tick await(std::size_t groups);
  /// Until at most this many have bytes to take.
  Tick awaitTaken(std::size_t groups);
  void landSome(std::mt19937_64 &random);
  /// Let all land, as at the end of the kernel.
  void landAll();
  /// The place of a copy of which nobody knows that its bytes have been taken.
  std::optional<std::uint32_t> pending() const;

private:
  static void take(BulkStore &store);
  static void land(BulkStore &store);

  std::vector<BulkStore> flying_;
  std::vector<Tick> groups_;
  Tick issued_ = 0, over_ = 0, taken_ = 0;
};

} // namespace imbrex::emulate
