#pragma once

#include "backend/ir/kernel.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace imbrex::analysis {

/// The extent of a view parameter along an axis.
struct ExtentOf {
  std::int32_t parameter = 0, axis = 0;
  friend bool operator==(const ExtentOf &, const ExtentOf &) = default;
};

/// Two extents that are one number; `first` is of a parameter before the other's.
struct EqualExtents {
  ExtentOf extent, first;
  friend bool operator==(const EqualExtents &, const EqualExtents &) = default;
};

/// Each launch makes one, which is mostly short.
using EqualExtentsList = llvm::SmallVector<EqualExtents, 16>;

/// Extents that the kernel treats as if they were equal: it cuts both axes into the same boxes. So
/// are those of a and c in
///
///   c[box<64>(i)] = exp(a[box<64>(i)])
///
/// Nothing says that they are equal, but in most launches they are, and then one comparison with
/// the end serves both. Of those that the kernel requires to be equal, each launch keeps that.
/// Every extent stands for itself or names the first of its kind.
EqualExtentsList likelyEqualExtents(const ir::Kernel &kernel);

} // namespace imbrex::analysis
