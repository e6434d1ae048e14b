#include "runtime/layout.h"

namespace imbrex::runtime {

namespace {

// With 64 bits to an element, every offset in bits then fits in 63 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

} // namespace

std::string toText(Subject subject) {
  if (subject.argument.empty()) return "the array";
  return "the argument '" + std::string(subject.argument) + "'";
}

std::int64_t elementsSpanned(const detail::layout &layout) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(layout.rank); ++axis) {
    if (layout.extents[axis] == 0) return 0;
    last += (layout.extents[axis] - 1) * layout.strides[axis];
  }
  return last + 1;
}

std::int64_t bytesSpanned(const detail::layout &layout, std::int64_t bitsOfOne) {
  return (elementsSpanned(layout) * bitsOfOne + 7) / 8;
}

std::optional<Diagnostic> checkLayout(const detail::layout &layout, Subject what, Location where) {
  std::int64_t product = 1, last = 0;
  bool tooLarge = false, empty = false;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(layout.rank); ++axis) {
    const std::int64_t extent = layout.extents[axis], stride = layout.strides[axis];
    if (extent < 0) return diagnostic(Diag::NegativeExtent, where, what, axis, extent);
    if (stride < 0) return diagnostic(Diag::NegativeStride, where, what, axis, stride);
    std::int64_t reach = 0;
    empty |= extent == 0;
    tooLarge |= __builtin_mul_overflow(product, extent, &product);
    tooLarge |= __builtin_mul_overflow(extent - 1, stride, &reach);
    tooLarge |= __builtin_add_overflow(last, reach, &last);
  }
  if (empty) return std::nullopt; // however long the other axes are
  if (tooLarge || product > kMostElements || last > kMostElements)
    return diagnostic(Diag::TooManyElements, where, what);
  return std::nullopt;
}

std::optional<Diagnostic> checkReach(const detail::layout &layout, std::int64_t bitsOfOne,
                                     std::int64_t bytes, Subject what, Location where) {
  const std::int64_t wanted = bytesSpanned(layout, bitsOfOne);
  if (wanted <= bytes) return std::nullopt;
  return diagnostic(Diag::BeyondMemory, where, what, wanted, bytes);
}

} // namespace imbrex::runtime
