#pragma once

#include "backend/ir/kernel.h"

#include <vector>

namespace imbrex::passes::layouts {

/// The tiles that are computed from scalars alone: constants, index ranges, broadcast scalars, and
/// what elementwise ops and changes of shape make of them. Every thread can compute any of their
/// elements, so that they need no layout of their own: each user gets them in the layout that it
/// wants, and nothing is converted.
class Recomputable {
public:
  /// Behind so many ops one above the other nothing is computed again.
  static constexpr std::int32_t kDeepest = 256;

  explicit Recomputable(const ir::Kernel &kernel);

  /// Not of values that are newer than this.
  bool contains(ir::ValueId value) const {
    return value.index() < depths_.size() && depths_[value.index()] != 0;
  }

private:
  std::vector<std::int32_t> depths_; // by value number: of the tree of ops behind it; 0: not
};

} // namespace imbrex::passes::layouts
