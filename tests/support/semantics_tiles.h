#pragma once

#include "tests/support/semantics.h"

#include <iterator>
#include <limits>
#include <vector>

/// Numbers and tiles as the tables of semantics.h write them.
namespace imbrex::semantics {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline Tile ints(const ir::Shape &shape, const std::vector<double> &numbers) {
  return tile(ir::ElementKind::I32, shape, numbers);
}
inline Tile f32s(const ir::Shape &shape, const std::vector<double> &numbers) {
  return tile(ir::ElementKind::F32, shape, numbers);
}

// Of one axis.
inline Tile ints(const std::vector<double> &numbers) {
  return ints({std::ssize(numbers)}, numbers);
}
inline Tile f32s(const std::vector<double> &numbers) {
  return f32s({std::ssize(numbers)}, numbers);
}

} // namespace imbrex::semantics
