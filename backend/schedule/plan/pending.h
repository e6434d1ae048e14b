#pragma once

#include "backend/schedule/program/program.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <compare>
#include <limits>
#include <optional>
#include <vector>

/// The operations of a role that may still be under way, at one point of its body.
namespace imbrex::schedule {

inline constexpr std::int32_t kOpen = -1; ///< The age of what is in a group that is not closed.
inline constexpr std::int32_t kEnded = std::numeric_limits<std::int32_t>::max();

/// An operation by its place in the role's body, so that nothing depends on where in memory it
/// lies.
using OpNumber = std::uint32_t;

/// An operation that is not over for every warp: the youngest of all that do the same to a slot.
struct PendingOp {
  OpNumber number; ///< The first operation that does the same.
  const ScheduleOp *op;
  /// By cursor of the role: since it was issued, modulo the slots of the cursor's ring.
  llvm::SmallVector<std::int32_t, 3> advances = {};
  llvm::ArrayRef<CursorId> follows = {}; ///< The cursors whose advances tell its uses apart.
  std::int32_t within = 0;               ///< How many conditions around it are not left.
  std::int32_t age = kEnded;             ///< Entries of its queue issued since.
  const ScheduleOp *meeting = nullptr;   ///< Before this the warps have met since it was issued.
  std::int32_t ageThere = kEnded;

  bool isLike(const PendingOp &other) const {
    return number == other.number && advances == other.advances;
  }
  friend bool operator==(const PendingOp &a, const PendingOp &b) {
    return a.isLike(b) && a.within == b.within && a.age == b.age && a.meeting == b.meeting &&
           a.ageThere == b.ageThere;
  }
};

/// What a role knows at one point. Of the operations that are alike by number and use, the younger
/// one stands for both.
class PendingOps {
public:
  PendingOps(const Program &program, RoleId role);

  llvm::ArrayRef<PendingOp> pending() const { return pending_; }
  std::size_t places() const { return cursors_.size(); }
  /// A cursor's place among those of the role, which `PendingOp::advances` goes by.
  std::size_t placeOf(CursorId cursor) const;
  /// How far a cursor is ahead of its ring's first; nothing where paths differ.
  std::optional<std::int64_t> ahead(CursorId cursor) const { return ahead_[placeOf(cursor)]; }

  /// What holds on both of two paths.
  void join(const PendingOps &other);
  void add(PendingOp issued);
  /// At most `count` entries of the queue are left.
  void retire(QueueId queue, std::int32_t count);
  /// So many entries are issued behind what there is of the queue.
  void age(QueueId queue, std::int32_t entries);
  /// All warps meet before this operation.
  void meet(const ScheduleOp &before);
  void advance(const Program &program, CursorId cursor);
  /// What is within more conditions than these is it no longer.
  void leave(std::int32_t conditions);

  friend bool operator==(const PendingOps &, const PendingOps &) = default;

private:
  void sort();

  std::vector<CursorId> cursors_;  // of the role
  std::vector<PendingOp> pending_; // by number and uses, each once
  std::vector<std::optional<std::int64_t>> ahead_;
};

} // namespace imbrex::schedule
