#include "backend/layout/coordinate_map.h"

#include "backend/layout/matrix.h"
#include "backend/layout/tile_layout.h"
#include "backend/support/check.h"

namespace imbrex::layout {
namespace {

LinearLayout zeros(llvm::ArrayRef<Side> sides) { return LinearLayout({}, Sides(sides), {}); }

/// The map of which only the result's axis i goes to `axisOf(i)`, bit by bit, as far as that has
/// bits. Inputs in reversed order: packed numbers are then the result's row-major numbers.
template <class AxisOf>
LinearLayout axisMap(llvm::ArrayRef<Side> result, llvm::ArrayRef<Side> operand, AxisOf axisOf) {
  const LinearLayout shape = zeros(operand);
  Sides inputs;
  Vectors columns;
  for (std::size_t i = result.size(); i-- > 0;) {
    inputs.push_back(result[i]);
    const Dim to = axisDim(axisOf(static_cast<std::int32_t>(i)));
    for (std::int32_t bit = 0; bit < result[i].bits; ++bit)
      columns.push_back(bit < shape.outputBits(to) ? Bits{1} << (shape.outputShift(to) + bit) : 0);
  }
  return LinearLayout(inputs, Sides(operand), columns);
}

} // namespace

LinearLayout permuteMap(llvm::ArrayRef<Side> result, llvm::ArrayRef<std::int32_t> permutation) {
  IMBREX_CHECK(result.size() == permutation.size(), "a permutation of {0} axes for a tile of {1}",
               permutation.size(), result.size());
  Sides operand(result);
  for (std::size_t i = 0; i < result.size(); ++i)
    operand[static_cast<std::size_t>(permutation[i])] = {axisDim(permutation[i]), result[i].bits};
  return axisMap(result, operand,
                 [&](std::int32_t i) { return permutation[static_cast<std::size_t>(i)]; });
}

LinearLayout reshapeMap(llvm::ArrayRef<Side> result, llvm::ArrayRef<Side> operand) {
  const LinearLayout shape = zeros(operand);
  IMBREX_CHECK(zeros(result).outputBits() == shape.outputBits(), "a reshape of {0} bits to {1}",
               shape.outputBits(), zeros(result).outputBits());
  return LinearLayout(Sides(llvm::reverse(result)), Sides(operand),
                      unitVectors(shape.outputBits()));
}

LinearLayout broadcastMap(llvm::ArrayRef<Side> result, llvm::ArrayRef<Side> operand) {
  return axisMap(result, operand, [](std::int32_t i) { return i; });
}

} // namespace imbrex::layout
