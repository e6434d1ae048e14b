#pragma once

#include "backend/layout/linear_layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cstdint>
#include <vector>

/// How wide an access may be: which registers of a thread hold neighbours in memory.
namespace imbrex::layout {

/// The registers of a thread, cut into vectors of equal length.
struct RegisterVectors {
  std::int64_t width = 1; ///< Elements of a vector; a power of two.
  /// registers[v · width + i] holds the element i places behind vector v's first one, in every
  /// thread. Every register is there once.
  std::vector<std::int32_t> registers;

  /// Of each vector, as a range.
  auto each() const {
    const auto size = static_cast<std::size_t>(width);
    return llvm::map_range(llvm::seq(registers.size() / size), [this, size](std::size_t v) {
      return llvm::ArrayRef(registers).slice(v * size, size);
    });
  }
};

/// The longest vectors along one axis of a tile, such as the one that lies contiguous in memory. A
/// vector begins at a multiple of its width.
///
/// `maxElements` is what memory and machine allow: no more than the elements that 16 bytes hold,
/// that the alignment of the first one promises, and that are known to be contiguous.
RegisterVectors contiguousRegisters(const LinearLayout &layout, Dim axis, std::int64_t maxElements);

/// The same along the packed output: the row-major index of a tile without gaps, or an offset.
RegisterVectors contiguousRegisters(const LinearLayout &layout, std::int64_t maxElements);

/// The axis of a tile along which a thread holds neighbours; the last where it holds none.
std::int32_t axisOfNeighbours(const LinearLayout &layout, std::int32_t rank);

} // namespace imbrex::layout
