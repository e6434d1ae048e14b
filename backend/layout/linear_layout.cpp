#include "backend/layout/linear_layout.h"

#include "backend/layout/matrix.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <array>

namespace imbrex::layout {
namespace {

constexpr std::array<std::string_view, 9> kDimNames{"register", "lane",  "warp",  "offset", "axis0",
                                                    "axis1",    "axis2", "axis3", "axis4"};

std::int32_t bitsOf(llvm::ArrayRef<Side> sides, Dim dim) {
  for (const Side &side : sides)
    if (side.dim == dim) return side.bits;
  return 0;
}

} // namespace

std::int32_t totalBits(llvm::ArrayRef<Side> sides) {
  return llvm::sum_of(llvm::map_range(sides, [](const Side &side) { return side.bits; }));
}

std::string_view nameOf(Dim dim) { return kDimNames[static_cast<std::size_t>(dim)]; }

LinearLayout::LinearLayout(Sides inputs, Sides outputs, llvm::ArrayRef<Bits> columns)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)),
      columns_(columns.begin(), columns.end()) {
  IMBREX_CHECK(totalBits(inputs_) == inputBits(), "a layout has {0} input bits and {1} columns",
               totalBits(inputs_), inputBits());
  for (const Bits column : columns_)
    IMBREX_CHECK(outputBits() >= 64 || column >> outputBits() == 0,
                 "a layout's column {0} has more than {1} bits", column, outputBits());
}

std::int32_t LinearLayout::outputBits() const { return totalBits(outputs_); }
std::int32_t LinearLayout::inputBits(Dim dim) const { return bitsOf(inputs_, dim); }
std::int32_t LinearLayout::outputBits(Dim dim) const { return bitsOf(outputs_, dim); }

std::int32_t LinearLayout::inputShift(Dim dim) const {
  std::int32_t shift = 0;
  for (const Side &side : inputs_) {
    if (side.dim == dim) return shift;
    shift += side.bits;
  }
  return shift;
}

std::int32_t LinearLayout::outputShift(Dim dim) const {
  std::int32_t shift = outputBits();
  for (const Side &side : outputs_) {
    shift -= side.bits;
    if (side.dim == dim) return shift;
  }
  return 0;
}

llvm::ArrayRef<Bits> LinearLayout::columns(Dim input) const {
  return columns().slice(static_cast<std::size_t>(inputShift(input)),
                         static_cast<std::size_t>(inputBits(input)));
}

Bits LinearLayout::outputPart(Bits output, Dim dim) const {
  const Bits mask = (Bits{1} << outputBits(dim)) - 1;
  return output >> outputShift(dim) & mask;
}

Bits LinearLayout::apply(Bits input) const { return multiply(columns_, input); }

Bits LinearLayout::apply(Dim input, Bits index) const { return apply(index << inputShift(input)); }

bool LinearLayout::isOnThreads() const {
  return llvm::equal(inputs_, std::array{Dim::Register, Dim::Lane, Dim::Warp},
                     [](const Side &side, Dim dim) { return side.dim == dim; });
}

} // namespace imbrex::layout
