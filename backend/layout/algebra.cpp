#include "backend/layout/algebra.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::layout {
namespace {

Sides turnedRound(llvm::ArrayRef<Side> sides) { return Sides(llvm::reverse(sides)); }

} // namespace

bool isSurjective(const LinearLayout &layout) {
  return rank(layout.columns()) == layout.outputBits();
}

bool isBijective(const LinearLayout &layout) {
  return isSurjective(layout) && layout.inputBits() == layout.outputBits();
}

LinearLayout compose(const LinearLayout &outer, const LinearLayout &inner) {
  IMBREX_CHECK(outer.inputBits() == inner.outputBits(), "composition of {0} bits after {1}",
               outer.inputBits(), inner.outputBits());
  for (const Side &side : inner.outputs())
    IMBREX_CHECK(outer.inputBits(side.dim) == side.bits, "composition: {0} has {1} bits and {2}",
                 nameOf(side.dim), side.bits, outer.inputBits(side.dim));
  Vectors columns;
  for (const Bits column : inner.columns()) {
    Bits between = 0;
    for (const Side &side : inner.outputs())
      between |= inner.outputPart(column, side.dim) << outer.inputShift(side.dim);
    columns.push_back(outer.apply(between));
  }
  return LinearLayout(Sides(inner.inputs()), Sides(outer.outputs()), columns);
}

LinearLayout inverse(const LinearLayout &layout) {
  const Subspace image(layout.columns());
  IMBREX_CHECK(image.dimension() == layout.outputBits() && image.dimension() == layout.inputBits(),
               "only a bijection has an inverse");
  Vectors columns;
  for (const Bits unit : unitVectors(layout.outputBits()))
    columns.push_back(*image.coordinates(unit));
  return LinearLayout(turnedRound(layout.outputs()), turnedRound(layout.inputs()), columns);
}

} // namespace imbrex::layout
