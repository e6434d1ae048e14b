#include "backend/launching/array_span.h"

namespace imbrex::launching {

ArraySpan spanOf(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides) {
  std::int64_t product = 1, last = 0;
  bool isTooLarge = false, isEmpty = false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t extent = extents[axis], stride = strides[axis];
    if (extent < 0) return {.problem = SpanProblem::NegativeExtent, .axis = axis};
    if (stride < 0) return {.problem = SpanProblem::NegativeStride, .axis = axis};
    std::int64_t reach = 0;
    isEmpty |= extent == 0;
    isTooLarge |= __builtin_mul_overflow(product, extent, &product);
    isTooLarge |= __builtin_mul_overflow(extent - 1, stride, &reach);
    isTooLarge |= __builtin_add_overflow(last, reach, &last);
  }
  if (isEmpty) return {};
  if (isTooLarge || product > kMostElements || last >= kMostElements)
    return {.problem = SpanProblem::TooManyElements};
  return {.elements = last + 1};
}

void setPackedStrides(std::span<const std::int64_t> extents, std::span<std::int64_t> strides) {
  std::int64_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    if (extents[axis] < 0 || __builtin_mul_overflow(stride, extents[axis], &stride)) stride = 0;
  }
}

} // namespace imbrex::launching
