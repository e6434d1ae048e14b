#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// How far arrays of a launch reach.
namespace imbrex::launching {

enum class SpanProblem : std::uint8_t { None, NegativeExtent, NegativeStride, TooManyElements };

/// From an array's first element to its last.
struct ArraySpan {
  SpanProblem problem = SpanProblem::None;
  std::size_t axis = 0;      ///< Of a problem with one.
  std::int64_t elements = 0; ///< 0 where the array has none, however long its other axes are.

  /// Whole bytes, of elements of so many bits.
  std::int64_t bytes(std::int64_t bitsOfOne) const { return (elements * bitsOfOne + 7) / 8; }
};

/// With 64 bits to an element, every offset in bits of what has no more of them fits in 63 bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

/// Extents and strides in elements.
ArraySpan spanOf(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides);

/// The strides of rows one behind the other. Where the product of extents is not to be had, for one
/// is negative or it is too large, they are 0: who looks at the span refuses the extents.
void setPackedStrides(std::span<const std::int64_t> extents, std::span<std::int64_t> strides);

} // namespace imbrex::launching
