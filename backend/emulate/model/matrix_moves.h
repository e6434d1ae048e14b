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
  std::uint32_t from = 0;     ///< Bits of an element that a lane brings.
  std::uint32_t bits = 0;     ///< Of one that it gets, the higher ones of which may be zero.
  std::uint32_t lanes = 0;    ///< That get any.
  std::uint32_t elements = 0; ///< Of such a lane.
  MovedElement (*source)(std::uint32_t lane, std::uint32_t element) = nullptr;
};
MatrixExchange exchangeOf(const MatrixMove &move);

/// Where they come from; `lane` and `element` are those of the destination.
namespace moves {

// NVIDIA: PTX ISA 9.0, "ldmatrix" and "stmatrix". Lanes 8 i to 8 i + 7 have the rows of matrix i,
// and register i of each lane is of that matrix: two elements of row lane / 4, with `.trans` of
// column lane / 4.
MovedElement loadRows(std::uint32_t lane, std::uint32_t element);
MovedElement loadColumns(std::uint32_t lane, std::uint32_t element);
MovedElement storeRows(std::uint32_t lane, std::uint32_t element);
MovedElement storeColumns(std::uint32_t lane, std::uint32_t element);

// The same of bytes: rows of 16, of which each lane has four neighbours along rows or columns; of
// a matrix of 16 x 16 columns lane / 4 and lane / 4 + 8. Of stores, which are of what mma.sync
// leaves of 16 x 8 sums, two and two. CUTLASS, copy_traits_sm100.hpp, SM100_U8x8_LDSM_T (which then
// changes the order of bytes, copy_sm100.hpp), SM100_SU4_DU8x16_x1_LDSM_N and SM100_U8x4_STSM_T.
MovedElement loadByteRows(std::uint32_t lane, std::uint32_t element);
MovedElement loadByteColumns(std::uint32_t lane, std::uint32_t element);
MovedElement storeByteColumns(std::uint32_t lane, std::uint32_t element);

/// gfx950: 16 lanes bring a matrix with 16 columns, whose rows are side by side in as many lanes as
/// they need, and each lane gets the column of its number (Triton, MemoryOpToLLVM.cpp, with an
/// example). `elements`: of a lane.
template <std::uint32_t elements>
MovedElement readTransposed(std::uint32_t lane, std::uint32_t element) {
  const std::uint32_t column = lane % 16;
  return {lane - column + element * (16 / elements) + column / elements, column % elements};
}

// gfx12 and gfx1250: eight lanes transpose 8 x 8 elements; of bytes they are four neighbours, and
// the four that are 8 lanes further on; of half bytes eight neighbours transpose 8 x 16, of which a
// lane gets two, from groups 16 lanes apart. AMD, rocm-systems, rocjitsu, ds_transpose.h; of the
// former two also Triton, MemoryOpToLLVM.cpp. From global memory and from LDS alike.
MovedElement loadTransposedHalves(std::uint32_t lane, std::uint32_t element);
MovedElement loadTransposedBytes(std::uint32_t lane, std::uint32_t element);
MovedElement loadTransposedNibbles(std::uint32_t lane, std::uint32_t element);

} // namespace moves

} // namespace imbrex::emulate
