#include "backend/launching/parameter_assumptions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace imbrex::launching {
namespace {

constexpr std::int64_t kDivisor = ParameterAssumptions::kDivisor;

bool rowsDivide(const GivenView &view, std::int64_t bytes) {
  // Powers of two divide what wraps around as what does not.
  const auto divides = [&](std::int64_t elements) {
    const auto bits =
        static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(view.storageBits);
    return bits % (8 * static_cast<std::uint64_t>(bytes)) == 0;
  };
  return divides(view.extents.back()) &&
         std::all_of(view.strides.begin(), view.strides.end() - 1, divides);
}

std::int64_t sharedRowBytes(const GivenView &view) {
  std::int64_t bytes = view.storageBits < 8 ? kDivisor : 0;
  while (bytes > 0 && !rowsDivide(view, bytes)) bytes /= 2;
  return bytes;
}

/// The engine's rules; machine/targets.def says where they come from.
bool canLoadBoxes(const GivenView &view) {
  constexpr std::int64_t kMostBytes = (std::int64_t{1} << 40) - 1;
  const std::int32_t bits = view.storageBits;
  if (bits < 8 || view.strides.back() != 1 || view.address % kDivisor != 0) return false;
  for (const std::int64_t extent : view.extents)
    if (extent < 1 || extent > ParameterAssumptions::kMostBoxExtent) return false;
  for (std::size_t axis = view.strides.size() - 1; axis-- > 0;) {
    const std::int64_t stride = view.strides[axis];
    if (stride < 1 || stride > kMostBytes * 8 / bits || stride % view.strides[axis + 1] != 0 ||
        stride * bits % (8 * kDivisor) != 0)
      return false;
  }
  return true;
}

bool isSmall(std::int64_t extent) { return extent <= std::numeric_limits<std::int32_t>::max(); }

bool hasSmallSpan(const GivenView &view) {
  constexpr std::int64_t kMost = ParameterAssumptions::kSmallSpan;
  std::int64_t last = 0; // element
  for (std::size_t axis = 0; axis < view.extents.size(); ++axis) {
    const std::int64_t stride = view.strides[axis], extent = view.extents[axis];
    if (extent < 2) continue;
    if (stride < 0 || stride > kMost || extent > kMost) return false;
    last += (extent - 1) * stride;
    if (last > kMost) return false;
  }
  return (last + 1) * view.storageBits <= kMost * 8;
}

} // namespace

bool ParameterAssumptions::cover(const ParameterAssumptions &others) const {
  return std::ranges::equal(facts(), others.facts(), std::greater_equal()) &&
         sharedRowBytes >= others.sharedRowBytes;
}

std::int64_t ParameterAssumptions::count() const {
  return std::ranges::count(facts(), true) + sharedRowBytes;
}

ParameterAssumptions assumptionsOf(const GivenView &view) {
  return {.isDivisible = view.address % kDivisor == 0,
          .hasUnitStride = view.strides.back() == 1,
          .hasDivisibleRows = rowsDivide(view, kDivisor),
          .hasSmallExtents = std::ranges::all_of(view.extents, isSmall),
          .hasSmallSpan = hasSmallSpan(view),
          .hasBoxes = canLoadBoxes(view),
          .sharedRowBytes = sharedRowBytes(view)};
}

bool areElementsApart(const GivenView &view) {
  constexpr std::size_t kMostAxes = 8;
  std::array<std::pair<std::int64_t, std::int64_t>, kMostAxes> axes;
  std::size_t count = 0;
  if (std::ranges::find(view.extents, 0) != view.extents.end()) return true;
  for (std::size_t axis = 0; axis < view.extents.size(); ++axis)
    if (view.extents[axis] != 1) axes[count++] = {view.strides[axis], view.extents[axis]};
  std::sort(axes.begin(), axes.begin() + count);
  std::int64_t reach = 0;
  for (const auto &[stride, extent] : std::span(axes.data(), count)) {
    if (stride <= reach) return false;
    reach += (extent - 1) * stride;
  }
  return true;
}

} // namespace imbrex::launching
