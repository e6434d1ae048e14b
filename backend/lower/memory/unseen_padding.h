#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"

#include <vector>

namespace imbrex::lower {

/// Which loads may leave anything at all in the elements that they do not read. In
///
///   c[box<64>(i)] = exp(a[box<64>(i)])
///
/// elements beyond the end of a are zeros, but if c is as long as a, nobody ever sees what becomes
/// of them: the store leaves out the same elements. Then no register need be set to zero first.
///
/// For each value it finds the stores at which its elements end, through ops that work element by
/// element. If all of these leave out the elements that a load does, its padding is unseen.
class UnseenPadding {
public:
  UnseenPadding(const ir::Kernel &kernel, const analysis::Assumptions &assumptions);

  /// Of a load, or a load from a view.
  bool contains(const ir::Op &load) const;

private:
  /// Who sees the elements of a value.
  struct Observers {
    bool areOthers = false;        // anybody but stores that leave out the same elements
    const ir::Op *store = nullptr; // one of those; null: nobody yet
  };
  void visit(const ir::Op &op);
  void add(ir::ValueId value, Observers more);
  bool leaveOutTheSame(const ir::Op &a, const ir::Op &b) const;
  analysis::ExtentOf firstLike(ir::ValueId view, std::int32_t axis) const;

  const ir::Kernel &kernel_;
  const analysis::Assumptions &assumptions_;
  std::vector<Observers> observers_; // by value number
};

} // namespace imbrex::lower
