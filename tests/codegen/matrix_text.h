#pragma once

#include "backend/machine/mma.h"

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

/// What the texts of kernels that multiply on matrix units have in common.
namespace imbrex::testing {

/// Of every kind of unit.
inline constexpr const char *kMachinesWithUnits[] = {"sm_75",   "sm_80",   "sm_89",  "sm_90a",
                                                     "sm_120a", "gfx90a",  "gfx942", "gfx950",
                                                     "gfx1100", "gfx1201", "gfx1250"};

inline std::int64_t oneOf(std::mt19937 &rng, std::initializer_list<std::int64_t> numbers) {
  return numbers.begin()[std::uniform_int_distribution<std::size_t>(0, numbers.size() - 1)(rng)];
}

/// Whether an instruction keeps fewer bits of its sums than f32 has. What that may be off by,
/// unit_emulate knows.
inline bool sumsInFewBits(const machine::MmaInstruction &row) {
  return row.sumRules.summation == machine::Summation::Aligned &&
         machine::keepsF32(row.sumRules) == machine::KeepsF32::No;
}

/// Matrices, or stacks of so many.
class MatrixText {
public:
  struct Extents {
    std::int64_t rows, columns;
  };

  /// 0: no stacks.
  explicit MatrixText(std::int64_t batches) : batches_(batches) {}

  std::string array(std::int64_t rows, std::int64_t columns) const {
    const std::string batches = batches_ > 0 ? std::to_string(batches_) + "x" : "";
    return batches + std::to_string(rows) + "x" + std::to_string(columns);
  }
  std::string extents(std::int64_t rows, std::int64_t columns) const {
    return "[" + array(rows, columns) + "]";
  }
  /// An argument.
  std::string random(bool isTransposed, std::int64_t rows, std::int64_t columns) const {
    return "random:" + (isTransposed ? array(columns, rows) : array(rows, columns));
  }

  /// `%ta` of the view `%a`, whose tiles lie one behind the other along k.
  std::string loaded(const std::string &name, const std::string &element, bool isTransposed,
                     Extents tile) const {
    const bool isRowDepth = name == "b";
    const std::string first = isRowDepth != isTransposed ? "%k, %0" : "%0, %k";
    const std::string in =
        isTransposed ? extents(tile.columns, tile.rows) : extents(tile.rows, tile.columns);
    const std::string to = isTransposed ? "%l" + name : "%t" + name;
    std::string text = to + " = view.load %" + name + (batches_ > 0 ? ", %0" : "") + ", " + first +
                       " : " + element + in + "\n";
    if (isTransposed)
      text += "%t" + name + " = permute %l" + name +
              " [order = " + (batches_ > 0 ? "[0, 2, 1]" : "[1, 0]") + "] : " + element +
              extents(tile.rows, tile.columns) + "\n";
    return text;
  }

private:
  std::int64_t batches_;
};

} // namespace imbrex::testing
