#pragma once

#include "backend/analysis/equal_extents.h"
#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>
#include <vector>

/// What code may take for granted of a launch's arguments. Whoever compiles under assumptions has
/// to see to it that each launch keeps them: assumptionsOf(launch).cover(compiled) says whether.
namespace imbrex::analysis {

/// What is assumed of one parameter; what does not apply to its type is false.
struct ParameterAssumptions {
  /// The bytes, or for integers the number, that "divisible" is about: the widest access there is.
  static constexpr std::int64_t kDivisor = 16;

  /// An integer, or the address of a pointer's or view's data; all addresses of a table.
  bool isDivisible = false;
  bool hasUnitStride = false; ///< Neighbours on a view's last axis adjoin.
  /// The extent of a view's last axis, and its strides along the others, are divisible, in bytes.
  bool hasDivisibleRows = false;
  bool hasSmallExtents = false; ///< Each of a view's extents is less than 2^31.
  /// A view's elements begin where its data does, and end before kSmallSpan bytes behind that; no
  /// stride is negative.
  bool hasSmallSpan = false;
  /// An engine of the machine can load boxes of the view: it has unit stride and a divisible
  /// address; its other strides are divisible, in bytes, positive, less than 2^40, and each a
  /// multiple of the next; no extent is 0 or more than kMostBoxExtent.
  bool hasBoxes = false;

  /// Of elements that share a byte: the whole bytes, a power of two and kDivisor at most, that
  /// divide the same as hasDivisibleRows is about; 0 where they are none. Others ask for kDivisor
  /// or nothing, so that few launches want code of their own.
  std::int64_t sharedRowBytes = 0;

  /// So far a buffer may reach (lower/vocabulary.h).
  static constexpr std::int64_t kSmallSpan = (std::int64_t{1} << 31) - 1;

  /// A box that begins behind it ends before 2^31.
  static constexpr std::int64_t kMostBoxExtent = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);

  friend bool operator==(const ParameterAssumptions &, const ParameterAssumptions &) = default;
};

struct Assumptions {
  llvm::SmallVector<ParameterAssumptions, 32> parameters; ///< None behind the end.
  /// No two parameters' memory overlaps, and what is stored through a view goes to places of its
  /// own: no two elements of one that is not const are the same.
  bool areDisjoint = false;
  /// Extents of views that are equal.
  EqualExtentsList equalExtents = {};

  ParameterAssumptions of(size_t parameter) const {
    return parameter < parameters.size() ? parameters[parameter] : ParameterAssumptions{};
  }
  /// Of a parameter, or of the bytes of one.
  ParameterAssumptions of(const ir::Kernel &kernel, ir::ValueId value) const;
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
