#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "llvm/ADT/ArrayRef.h"

#include <compare>
#include <cstdint>
#include <vector>

/// What code may assume about the arguments of a launch. A program is compiled for the usual traits
/// at once, and for others when a launch has them.
namespace imbrex::host {

/// How the memory of two parameters lies.
enum class Relation : std::uint8_t {
  Disjoint,
  Same,    // equal pointers, and strides if they are views: equal indices are the same element
  Unknown, // anything else
};

struct LaunchTraits {
  std::size_t parameters = 0;
  std::vector<bool> unitStride;    // per parameter: of a view, neighbours on its last axis adjoin
  std::vector<Relation> relations; // per pair, row-major

  Relation relation(size_t a, size_t b) const {
    return a == b ? Relation::Same : relations[a * parameters + b];
  }
  friend auto operator<=>(const LaunchTraits &, const LaunchTraits &) = default;
};

/// Row-major views in memory of their own.
LaunchTraits usualTraits(const ir::Kernel &kernel);
LaunchTraits traitsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments);

} // namespace imbrex::host
