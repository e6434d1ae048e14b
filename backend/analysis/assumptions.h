#pragma once

#include "backend/analysis/equal_extents.h"
#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/launching/parameter_assumptions.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>
#include <vector>

/// What code may take for granted of a launch's arguments. Whoever compiles under assumptions has
/// to see to it that each launch keeps them: assumptionsOf(launch).cover(compiled) says whether.
namespace imbrex::analysis {

using launching::ParameterAssumptions;

struct Assumptions {
  llvm::SmallVector<ParameterAssumptions, 32> parameters; ///< None behind the end.
  /// No two parameters' memory overlaps, unless both are const, and what is stored through a view
  /// goes to places of its own: no two elements of one that is not const are the same.
  bool areDisjoint = false;
  /// Extents of views that are equal.
  EqualExtentsList equalExtents = {};

  ParameterAssumptions of(size_t parameter) const {
    return parameter < parameters.size() ? parameters[parameter] : ParameterAssumptions{};
  }
  /// Of a parameter, or of the bytes of one.
  ParameterAssumptions of(const ir::Kernel &kernel, ir::ValueId value) const;
  /// Whether a view's neighbours along this axis adjoin in memory.
  bool haveNeighbours(const ir::Kernel &kernel, ir::ValueId view, std::int32_t axis) const {
    return axis + 1 == kernel.type(view).rank() && of(kernel, view).hasUnitStride;
  }
  /// Whether all that the others say is said here, too.
  bool cover(const Assumptions &others) const;
  /// How many things are said; who covers others says no fewer.
  std::int64_t count() const;
  friend bool operator==(const Assumptions &, const Assumptions &) = default;
};

/// What is left for code that asks no engine for boxes.
Assumptions withoutBoxes(Assumptions assumptions);

/// What a kernel requires of every launch, which is refused where it does not keep it.
struct Requirement {
  std::string condition, text, line;
};
std::vector<Requirement> launchRequirements(const ir::Kernel &kernel);

/// Buffers of their own, row-major, of sizes that divide well, as long as others that the kernel
/// walks alike: what most launches keep.
Assumptions usualAssumptions(const ir::Kernel &kernel);
/// All that holds of a launch; of equal extents, those that `usual` names.
Assumptions assumptionsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments,
                          const Assumptions &usual);

} // namespace imbrex::analysis
