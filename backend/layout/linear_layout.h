#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>

/// Which thread holds which element: linear maps over F2.
///
/// Number the registers of a thread, the lanes of a warp, the warps of a block, and the elements of
/// a tile in binary. Then nearly every arrangement that hardware likes sends bits to exclusive ors
/// of bits: it is a matrix over F2, the field of two elements. A matrix is small, it can be
/// printed, compared, multiplied and inverted, and questions that otherwise need a case for each
/// arrangement (how wide may this access be? who has the element that I want? which banks collide?)
/// become linear algebra.
///
/// Worked example: a 4 x 8 tile on 8 lanes and one warp, each lane holding 4 neighbours of a row.
///
///           column 0 1 2 3   4 5 6 7            input bit     goes to
///   row 0         lane 0     lane 1             register 0    axis1 bit 0   (column + 1)
///   row 1         lane 2     lane 3             register 1    axis1 bit 1   (column + 2)
///   row 2         lane 4     lane 5             lane 0        axis1 bit 2   (column + 4)
///   row 3         lane 6     lane 7             lane 1        axis0 bit 0   (row + 1)
///                                               lane 2        axis0 bit 1   (row + 2)
///
/// Element (2, 5) is at axis0 = 10, axis1 = 101: bits that lanes 2 and 0 and register 0 reach, so
/// it is register 1 of lane 5. A column of zeros means that the input bit does not matter: both its
/// values hold the same element (a broadcast). Swizzled shared memory has columns with several
/// ones.
///
/// Extents that are no powers of two are rounded up; what lies beyond the extent is padding that
/// the code of an op masks.
namespace imbrex::layout {

/// A dimension of the hardware, or of a tile.
enum class Dim : std::uint8_t { Register, Lane, Warp, Offset, Axis0, Axis1, Axis2, Axis3, Axis4 };
std::string_view nameOf(Dim dim);
constexpr Dim axisDim(std::int32_t axis) {
  return static_cast<Dim>(static_cast<std::int32_t>(Dim::Axis0) + axis);
}

/// One side of a map: a dimension and how many bits count it.
struct Side {
  Dim dim;
  std::int32_t bits;
  friend bool operator==(const Side &, const Side &) = default;
};
using Sides = llvm::SmallVector<Side, 5>;
std::int32_t totalBits(llvm::ArrayRef<Side> sides);

/// A vector over F2: all dimensions of one side, packed into one number.
///
/// Of the inputs the first dimension has the lowest bits; of the outputs the last one, so that the
/// packed output of a tile is its row-major index, and a reshape changes no column.
using Bits = std::uint64_t;

/// A matrix over F2 from input dimensions to output dimensions: one column per input bit.
class LinearLayout {
public:
  LinearLayout() = default;
  /// `columns`: what each input bit goes to, inputs in order, lowest bit first.
  LinearLayout(Sides inputs, Sides outputs, llvm::ArrayRef<Bits> columns);

  llvm::ArrayRef<Side> inputs() const { return inputs_; }
  llvm::ArrayRef<Side> outputs() const { return outputs_; }
  llvm::ArrayRef<Bits> columns() const { return columns_; }
  std::int32_t inputBits() const { return static_cast<std::int32_t>(columns_.size()); }
  std::int32_t outputBits() const;

  /// Bits of a dimension; 0 if the layout does not have it.
  std::int32_t inputBits(Dim dim) const;
  std::int32_t outputBits(Dim dim) const;
  /// Where a dimension's lowest bit lies in the packed input or output.
  std::int32_t inputShift(Dim dim) const;
  std::int32_t outputShift(Dim dim) const;
  /// What the bits of an input dimension go to.
  llvm::ArrayRef<Bits> columns(Dim input) const;
  /// The part of a packed output that belongs to a dimension, shifted down.
  Bits outputPart(Bits output, Dim dim) const;

  /// The product with a vector: apply(a ^ b) = apply(a) ^ apply(b).
  Bits apply(Bits input) const;
  /// The same for one dimension, the others at 0.
  Bits apply(Dim input, Bits index) const;

  /// Whether its inputs are registers, lanes and warps.
  bool isOnThreads() const;

  friend bool operator==(const LinearLayout &, const LinearLayout &) = default;

private:
  Sides inputs_, outputs_;
  llvm::SmallVector<Bits, 16> columns_;
};

} // namespace imbrex::layout
