#pragma once

#include "backend/ir/kernel.h"

#include <vector>

namespace imbrex::analysis {

/// The integers of a kernel that are certainly not negative, whatever the launch: what the grid and
/// the extents of views give, what loops count up from 0, and what follows from them. Unsigned ones
/// are among them.
class NotNegative {
public:
  explicit NotNegative(const ir::Kernel &kernel);
  bool contains(ir::ValueId value) const { return contains_[value.index()]; }

private:
  bool follows(const ir::Kernel &kernel, const ir::Op &op) const;

  std::vector<bool> contains_; // by value number
};

} // namespace imbrex::analysis
