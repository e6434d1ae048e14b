#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace imbrex::analysis {

/// The integers of a kernel that are certainly not negative, in any launch that keeps the
/// assumptions, and how large they can be: what the grid and the extents of views give, what loops
/// count up from one of them, and what follows from these. Unsigned ones are among them.
class NonNegative {
public:
  explicit NonNegative(const ir::Kernel &kernel, const Assumptions &assumptions = {});
  bool contains(ir::ValueId value) const { return most_[value.index()].has_value(); }
  /// The same, or a sum of one of them and a constant that may have wrapped around: which then is
  /// below -kFar. So the trip after the last would begin in front of all that there is.
  bool containsOrFar(const ir::Kernel &kernel, ir::ValueId value) const;
  static constexpr std::uint64_t kFar = std::uint64_t{1} << 30;

  /// Nothing of what may be negative.
  std::optional<std::uint64_t> most(ir::ValueId value) const { return most_[value.index()]; }
  /// The most that 31 bits hold.
  static constexpr std::uint64_t kMostSmall = (std::uint64_t{1} << 31) - 1;
  bool isSmall(ir::ValueId value) const { return contains(value) && *most(value) <= kMostSmall; }

private:
  using Most = std::optional<std::uint64_t>;
  Most follows(const ir::Kernel &kernel, const Assumptions &assumptions, const ir::Op &op) const;
  Most ofConversion(const ir::Kernel &kernel, const ir::Op &op) const;
  Most ofArithmetic(const ir::Kernel &kernel, const ir::Op &op) const;
  Most ofDifference(const ir::Kernel &kernel, const ir::Op &op) const;

  std::vector<Most> most_;                   // by value number
  std::map<ir::ValueId, ir::ValueId> endOf_; // of such loops, by their index
};

} // namespace imbrex::analysis
