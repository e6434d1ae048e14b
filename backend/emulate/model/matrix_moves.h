#pragma once

#include "backend/emulate/model/matrix_exchange.h"

/// How loads and stores deal matrices to the lanes of a warp: what a lane reads or writes is not
/// what it has in its registers.
namespace imbrex::emulate {

/// An element of what a lane brings.
struct MovedElement {
  std::uint32_t lane = 0, element = 0;
};

/// Gives each lane its elements, each from some lane.
struct MatrixMove {
  std::uint32_t bits = 0;     ///< Of an element.
  std::uint32_t lanes = 0;    ///< That get any.
  std::uint32_t elements = 0; ///< Of such a lane.
  MovedElement (*source)(std::uint32_t lane, std::uint32_t element) = nullptr;
};
MatrixExchange exchangeOf(const MatrixMove &move);

/// Where they come from; `lane` and `element` are those of the destination.
///
/// NVIDIA: PTX ISA 9.0, 9.7.14.5.15, "ldmatrix", and "stmatrix": lanes 8 i to 8 i + 7 have the rows
/// of matrix i, and a lane's register i is of it: two elements of row lane / 4, with `.trans` of
/// column lane / 4.
namespace moves {
MovedElement loadRows(std::uint32_t lane, std::uint32_t element);
MovedElement loadColumns(std::uint32_t lane, std::uint32_t element);
MovedElement storeRows(std::uint32_t lane, std::uint32_t element);
MovedElement storeColumns(std::uint32_t lane, std::uint32_t element);
} // namespace moves

} // namespace imbrex::emulate
