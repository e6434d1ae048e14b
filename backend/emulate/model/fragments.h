#pragma once

#include "backend/machine/mma.h"

#include <cstdint>
#include <vector>

/// Where the vendors say that the elements of matrices lie in the registers of a warp.
///
/// This is a second statement of what machine::fragmentOf says, made from the vendors' own formulas
/// and of nothing that the first is made of, so that a mistake in either shows.
namespace imbrex::emulate {

struct MatrixPlace {
  std::int32_t row = 0, column = 0;
  friend bool operator==(const MatrixPlace &, const MatrixPlace &) = default;
};

/// What lanes hold of A, of B or of the sums. Element 0 has the lowest bits of the first register.
struct Fragment {
  std::int32_t elements = 0;       ///< Of a lane.
  std::int32_t stride = 0;         ///< Bits from one element to the next.
  std::int32_t firstBit = 0;       ///< Of an element in its stride.
  std::vector<MatrixPlace> places; ///< By lane, then by element.

  std::int32_t registers() const { return (elements * stride + 31) / 32; }
  const MatrixPlace &at(std::int32_t lane, std::int32_t element) const {
    return places[static_cast<std::size_t>(lane * elements + element)];
  }
};
/// `operand` is A, B or the sums of an instruction that the machine has.
Fragment vendorFragment(const machine::Machine &machine, const machine::MmaInstruction &instruction,
                        machine::MmaOperand operand);

/// Which bytes and lanes an instruction takes the scales of one operand from: PTX's byte-id and
/// thread-id, AMD's op_sel and matrix_a_scale.
struct ScaleSelectors {
  std::int32_t byte = 0, lane = 0;
};
/// Where a scale is: a byte of a lane's registers.
struct ScalePlace {
  std::int32_t lane = 0, byte = 0;
};
/// The scale of block `block` (along k) of row `outer` of A or of column `outer` of B.
ScalePlace vendorScale(const machine::Machine &machine, const machine::MmaInstruction &instruction,
                       machine::MmaOperand operand, ScaleSelectors selectors, std::int32_t outer,
                       std::int32_t block);
/// Whether the instruction has such selectors.
bool hasSelectors(const machine::Machine &machine, const machine::MmaInstruction &instruction,
                  machine::MmaOperand operand, ScaleSelectors selectors);

} // namespace imbrex::emulate
