#pragma once

#include "backend/ir/argument.h"

#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

/// Arguments from plain vectors.
namespace imbrex::testing {

template <class T, class Allocator>
ir::Argument pointerTo(std::vector<T, Allocator> &data) {
  return {.data = reinterpret_cast<std::byte *>(data.data()),
          .bytes = static_cast<std::int64_t>(data.size() * sizeof(T))};
}

ir::Argument viewOf(auto &data, std::vector<std::int64_t> extents) {
  ir::Argument argument = pointerTo(data);
  std::int64_t stride = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    argument.extents[axis] = extents[axis];
    argument.strides[axis] = stride;
    stride *= extents[axis];
  }
  return argument;
}

inline ir::Argument number(std::int64_t value) {
  return {.scalar = static_cast<std::uint64_t>(value)};
}

/// Few and small, so that their sums are exact.
template <class T>
std::vector<T> wholeNumbers(std::mt19937 &rng, std::int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values) {
    const int drawn = static_cast<int>(rng() % 7) - 3;
    if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(drawn); // of bytes without a sign large ones, too
    else
      value = static_cast<T>(static_cast<float>(drawn));
  }
  return values;
}

} // namespace imbrex::testing
