#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <optional>
#include <vector>

namespace imbrex::lower {

/// Where the block's threads must wait for each other, so that accesses to global memory happen as
/// if each op touched its whole tile before the next began.
///
///   store %p, %x          thread 5 writes an element that
///   %y = load %q          thread 9 reads: they meet in between,
///
/// unless the two cannot touch the same memory (different parameters that are assumed not
/// to overlap), or every thread touches only its own (the same boxes, or tiles of the same view, in
/// the same layout), or there was a meeting in between anyway.
class MemoryOrder {
public:
  MemoryOrder(const ir::Kernel &kernel, const analysis::Assumptions &assumptions);

  /// Whether threads must meet before an op.
  bool needsMeetingBefore(const ir::Op &op) const;
  /// From here on later ops may have to wait for this one, if it accesses global memory.
  void add(const ir::Op &op);
  void onMeeting() { pending_.clear(); }

  /// A body that runs again: its accesses come before those of its next round.
  void enterLoop(const ir::Block &body);

  /// What is pending, for code that is reached on several ways: each access once, and whether it is
  /// one of an earlier round of a loop, where equal values need not be equal addresses.
  using Pending = llvm::MapVector<const ir::Op *, bool>;
  const Pending &pending() const { return pending_; }
  void setPending(Pending pending) { pending_ = std::move(pending); }
  void addPending(const Pending &pending);

private:
  bool conflict(const ir::Op &first, bool isEarlierRound, const ir::Op &later) const;
  bool areOfOwnElements(const ir::Op &a, const ir::Op &b, bool isEarlierRound) const;
  void followCarried();
  std::optional<size_t> parameterOf(ir::ValueId accessed) const;

  const ir::Kernel &kernel_;
  const analysis::Assumptions &assumptions_;
  Pending pending_;
  /// What pointers that loops carry on were made from at first, and still are in each trip.
  std::map<ir::ValueId, ir::ValueId> carried_;
};

} // namespace imbrex::lower
