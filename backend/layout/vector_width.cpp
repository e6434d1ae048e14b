#include "backend/layout/vector_width.h"

#include "backend/layout/matrix.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace imbrex::layout {
namespace {

/// The registers' bits in another basis: some step through a vector, the others from one vector to
/// the next.
struct RegisterBasis {
  Vectors within; // apply(within[i]) = 2^(shift + i)
  Vectors across; // apply(across[i]) has none of those bits
};

/// No thread but by its registers may move inside a vector: which register comes first would depend
/// on the thread.
bool isMovedByThreads(const LinearLayout &layout, Bits mask) {
  return llvm::any_of(layout.inputs(), [&](const Side &side) {
    return side.dim != Dim::Register && (unionOf(layout.columns(side.dim)) & mask) != 0;
  });
}

RegisterBasis basisOf(const LinearLayout &layout, std::int32_t shift, std::int32_t maxBits) {
  const auto columns = layout.columns(Dim::Register);
  const Subspace image(columns);
  RegisterBasis basis;
  Bits mask = 0;
  for (std::int32_t bit = 0; bit < maxBits; ++bit) {
    const Bits unit = Bits{1} << (shift + bit);
    const auto registers = image.coordinates(unit);
    if (!registers || isMovedByThreads(layout, unit)) break;
    basis.within.push_back(*registers);
    mask |= unit;
  }
  // The other register bits, each corrected to stand at the beginning of a vector.
  for (const Bits unit :
       extension(basis.within, unitVectors(static_cast<std::int32_t>(columns.size())))) {
    const Bits inside = (multiply(columns, unit) & mask) >> shift;
    basis.across.push_back(unit ^ multiply(basis.within, inside));
  }
  return basis;
}

RegisterVectors vectorsAlong(const LinearLayout &layout, std::int32_t shift, std::int32_t bits,
                             std::int64_t maxElements) {
  IMBREX_CHECK(maxElements >= 1, "a vector of {0} elements", maxElements);
  const auto allowed =
      static_cast<std::int32_t>(llvm::Log2_64(static_cast<std::uint64_t>(maxElements)));
  const RegisterBasis basis = basisOf(layout, shift, std::min(bits, allowed));
  RegisterVectors vectors{.width = std::int64_t{1} << basis.within.size(), .registers = {}};
  for (Bits v = 0; v >> basis.across.size() == 0; ++v)
    for (Bits i = 0; i >> basis.within.size() == 0; ++i)
      vectors.registers.push_back(
          static_cast<std::int32_t>(multiply(basis.across, v) ^ multiply(basis.within, i)));
  return vectors;
}

} // namespace

RegisterVectors contiguousRegisters(const LinearLayout &layout, Dim axis,
                                    std::int64_t maxElements) {
  return vectorsAlong(layout, layout.outputShift(axis), layout.outputBits(axis), maxElements);
}

RegisterVectors contiguousRegisters(const LinearLayout &layout, std::int64_t maxElements) {
  return vectorsAlong(layout, 0, layout.outputBits(), maxElements);
}

std::int32_t axisOfNeighbours(const LinearLayout &layout, std::int32_t rank) {
  const auto registers = layout.columns(Dim::Register);
  std::int32_t axis = rank - 1;
  for (std::int32_t a = 0; a < rank && !registers.empty(); ++a)
    if (layout.outputPart(registers[0], axisDim(a)) == 1) axis = a;
  return axis;
}

} // namespace imbrex::layout
