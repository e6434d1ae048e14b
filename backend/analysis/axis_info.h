#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

/// How the values of integers, bools and pointers run along the axes of their tiles: what decides
/// how wide an access to memory may be, and which threads had better make it.
namespace imbrex::analysis {

/// Along one axis, cut into aligned groups of so many neighbours (powers of two; the last group may
/// be cut short by the end of the axis):
///
///   constancy     groups of so many hold the same value
///   contiguity    in groups of so many, values go up by one (pointers: by an element)
///   divisibility  the first value of each group of `contiguity` is a multiple of so much
///                 (pointers: of so many bytes), whatever the indices along the other axes
///
/// Arithmetic wraps. That a group goes up by one is certain for groups of at most the values'
/// divisibility, for no number in between wraps; beyond that it holds unless it wraps.
struct AxisFacts {
  std::int64_t contiguity = 1;
  std::int64_t divisibility = 1;
  std::int64_t constancy = 1;
  friend bool operator==(const AxisFacts &, const AxisFacts &) = default;
};

/// One entry for each axis; a scalar has one axis, with one element.
using AxisInfo = llvm::SmallVector<AxisFacts, 2>;

/// The facts about every value of a kernel that has any, under assumptions.
class AxisAnalysis {
public:
  /// No fact claims more: no access is wider, and nobody asks further.
  static constexpr std::int64_t kMost = std::int64_t{1} << 20;

  AxisAnalysis(const ir::Kernel &kernel, const Assumptions &assumptions);

  const AxisInfo &of(ir::ValueId value) const { return info_[value.index()]; }

private:
  std::vector<AxisInfo> info_; // by value number
};

/// What keeps an access from being wider.
enum class WidthLimit : std::uint8_t {
  Contiguity, // only so many neighbours adjoin in memory, or are known to
  Alignment,  // the first of so many is aligned to them all
  Mask,       // so many are masked alike
  Extent,     // the tile's extent is a multiple of so many: none would end in padding
};

struct WidthBound {
  WidthLimit limit;
  std::int64_t elements;
};

/// The neighbours along an axis of a load, a store, or an access to a view that may be accessed at
/// once: they adjoin in memory, the first is aligned to them all, they are masked alike, and all of
/// them are the tile's. They begin at a multiple of their number. The tightest bound; what a
/// machine can do is another.
WidthBound accessBound(const ir::Kernel &kernel, const ir::Op &access, std::int32_t axis,
                       const AxisAnalysis &facts, const Assumptions &assumptions);
inline std::int64_t accessWidth(const ir::Kernel &kernel, const ir::Op &access, std::int32_t axis,
                                const AxisAnalysis &facts, const Assumptions &assumptions) {
  return accessBound(kernel, access, axis, facts, assumptions).elements;
}

} // namespace imbrex::analysis
