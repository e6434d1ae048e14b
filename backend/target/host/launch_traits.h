#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

/// What code may assume about the arguments of a launch. A program is compiled for the usual traits
/// at once, and for others when a launch has them.
namespace imbrex::host {

/// How the memory of two parameters lies.
enum class AliasRelation : std::uint8_t {
  Disjoint,
  Same,    // equal pointers, and strides if they are views: equal indices are the same element
  Unknown, // anything else
};

/// Made at every launch, so that it allocates only for more parameters than are usual.
struct LaunchTraits {
  llvm::SmallVector<std::uint32_t, 32> ordinals; // per parameter: which of those with memory it is
  llvm::SmallVector<bool, 8> unitStrides; // of those: neighbours on a view's last axis adjoin
  llvm::SmallVector<bool, 8> overlapping; // of those: a view to write, in which two indices may be
                                          // the same element
  llvm::SmallVector<AliasRelation, 64> relations; // per pair of those, row-major

  bool hasUnitStride(size_t parameter) const { return unitStrides[ordinals[parameter]]; }
  bool overlaps(size_t parameter) const { return overlapping[ordinals[parameter]]; }
  AliasRelation relation(size_t a, size_t b) const {
    return a == b ? AliasRelation::Same : relations[ordinals[a] * unitStrides.size() + ordinals[b]];
  }
  friend bool operator==(const LaunchTraits &, const LaunchTraits &) = default;
};

/// Row-major views in memory of their own.
LaunchTraits usualTraits(const ir::Kernel &kernel);
LaunchTraits traitsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments);

} // namespace imbrex::host
