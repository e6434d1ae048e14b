#pragma once

#include "backend/emulate/model/fragments.h"
#include "backend/emulate/model/matrix_exchange.h"

namespace imbrex::emulate {

/// That A, B and the sums have each, at most; scales have two.
inline constexpr std::size_t kWordsOfOperand = 16;

/// The first word of an operand; the results of a product are in the words of the sums.
constexpr std::size_t wordOf(machine::MmaOperand operand) {
  constexpr std::size_t kScales = 3 * kWordsOfOperand;
  constexpr std::size_t kWords[] = {0, kWordsOfOperand, 2 * kWordsOfOperand, kScales, kScales + 2};
  return kWords[static_cast<std::size_t>(operand)];
}
static_assert(wordOf(machine::MmaOperand::ScaleB) + 2 == kMatrixWords);

/// One matrix instruction of a machine.
class MatrixProduct {
public:
  MatrixProduct(const machine::Machine &machine, const machine::MmaInstruction &instruction,
                ScaleSelectors ofA, ScaleSelectors ofB);

  std::optional<LaneFault> operator()(WarpWords words, const SeededNumerics &numerics) const;

private:
  /// By row of A or column of B, then by block.
  using Scales = std::vector<ScalePlace>;

  Scales scalesOf(const machine::Machine &machine, machine::MmaOperand operand,
                  ScaleSelectors selectors) const;
  double scaleAt(WarpWords words, machine::MmaOperand operand, std::size_t outer,
                 std::size_t k) const;

  const machine::MmaInstruction &instruction_;
  Fragment a_, b_, sums_;
  Scales scalesOfA_, scalesOfB_;
};

} // namespace imbrex::emulate
