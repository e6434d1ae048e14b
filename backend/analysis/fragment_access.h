#pragma once

#include "backend/analysis/matrix_product.h"
#include "backend/layout/shared_conversion.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>

/// How the fragments of a matrix instruction are read from shared memory.
///
/// A lane may read what it wants by itself, as wide as neighbours lie in its registers. Or a warp
/// reads matrices (machine::MatrixLoads), of which each lane names a row or a part of one:
///
///   Rows16        8 rows of 16 bytes. A lane gets four bytes of each matrix, those of row lane / 4
///                 from byte 4 · (lane % 4) on; or, transposed, of elements of 16 bits those at
///                 places 2 · (lane % 4) and the next of a column lane / 4.
///   Transposed16  16 lanes name 8 bytes each, which make as many rows of 16 elements as an element
///                 goes into 8 bytes. A lane gets 8 bytes of a column lane % 16.
///   Transposed8   8 lanes name 8 elements each, a row. A lane gets the 8 of a column. Of 16 bits
///                 they are neighbours; of bytes four neighbours, and the four 8 lanes further on.
///
/// Which of these fits is a question to the layout of what is wanted: whether the bits of lanes and
/// registers that would be in a row are neighbours in memory.
namespace imbrex::analysis {

enum class FragmentWay : std::uint8_t { Vectors, Rows, Columns, WholeColumns };

/// One way to read an operand's fragments, of which nothing is known yet of memory.
struct FragmentAccess {
  FragmentWay way = FragmentWay::Vectors;
  /// What the lanes' accesses touch: from register, lane, warp to the operand's coordinates. Of
  /// matrices the register's low bits are in a row, and a lane has the row that it names.
  layout::LinearLayout places;
  std::int32_t elementBits = 0;
  /// Of FragmentReads::places' registers: how many bits count the elements that a lane gets of one
  /// matrix, and behind these, how many the matrices of one access.
  std::int32_t elementBitsOfLane = 0, matrixBits = 0;
  std::int32_t rowBytes = layout::kMaxAccessBytes; ///< That a lane names.
};

/// The ways that a machine has for these elements, the plain one first.
llvm::SmallVector<FragmentAccess, 3> fragmentAccesses(const FragmentReads &reads,
                                                      std::int32_t elementBits,
                                                      const machine::Machine &machine);

/// An instruction counts as much as two cycles of shared memory.
constexpr std::int64_t weightOf(const layout::AccessCost &cost) {
  return cost.cycles + 2 * cost.accesses;
}

/// What reading all of an operand's fragments costs: cycles of shared memory, and instructions.
struct FragmentCost {
  layout::AccessCost access;
  std::int64_t assembled = 0; ///< Elements that are put together to registers one by one.
  std::int64_t moved = 0;     ///< Registers that accesses leave elsewhere than beside their own.
  std::int64_t weight() const { return weightOf(access) + 2 * assembled + moved; }
};
/// Of a tile that lies so (from the offset, in elements, to coordinates); nothing where the way
/// does not fit it.
std::optional<FragmentCost> costOfAccess(const FragmentReads &reads, const FragmentAccess &access,
                                         const layout::LinearLayout &shared,
                                         const machine::Machine &machine);

/// How a tile can be laid out for a way of reading it, and what it takes to write it so.
struct PlacedTile {
  layout::LinearLayout shared; ///< From the offset, in elements, to coordinates.
  std::int64_t writeWeight = 0;
};
using PlacedTiles = llvm::SmallVector<PlacedTile, 4>;
/// Layouts that are planned for those who read in `places`, from register, lane, warp; one at
/// least.
using PlaceTile = llvm::function_ref<PlacedTiles(const layout::LinearLayout &places)>;

/// The way to read for which a tile can be laid out best.
struct FragmentPlan {
  FragmentAccess access;
  PlacedTile tile;
  std::int64_t weight = 0; ///< As FragmentCost's, with the writing.
};
FragmentPlan planFragments(const FragmentReads &reads, std::int32_t elementBits,
                           const machine::Machine &machine, PlaceTile place);

/// Whether vectors may fill the readers' registers in their order (layout::ReadOrder): never, where
/// more of a vector are side by side than in the elements' order, or anywhere.
enum class RegisterOrder : std::uint8_t { Never, WhereLonger, May };

/// Those that suit threads who hold the tile so, and store it.
PlacedTiles storedTiles(const layout::LinearLayout &held, const layout::LinearLayout &places,
                        std::int32_t elementBits, const machine::Machine &machine,
                        RegisterOrder order);
/// The best way through shared memory of a slab of an operand, from threads that hold it so.
FragmentPlan planSlab(const layout::LinearLayout &held, const FragmentReads &reads,
                      std::int32_t elementBits, const machine::Machine &machine);

/// What it takes to bring an operand from threads that hold it so to those that want it in
/// `places`, as FragmentReads::places, by exchanges of registers within warps, which pass through
/// no shared memory and need no meeting; as other weights. Nothing where warps lack elements, or
/// the machine has no such instructions.
std::optional<std::int64_t> exchangeWeight(const layout::LinearLayout &held,
                                           const layout::LinearLayout &places,
                                           std::int32_t elementBits,
                                           const machine::Machine &machine);

/// Whether the registers of a fragment, which an instruction takes side by side, come so from
/// vectors, as far as these reach.
bool areSideBySide(const FragmentReads &reads, const layout::RegisterVectors &vectors);

/// Whether each register of a fragment is a piece of one vector.
bool haveWholeRegisters(const FragmentReads &reads, const layout::RegisterVectors &vectors,
                        std::int32_t elementBits);

/// The cheapest way for a tile that lies so.
FragmentAccess bestAccess(const FragmentReads &reads, const layout::LinearLayout &shared,
                          std::int32_t elementBits, const machine::Machine &machine);

} // namespace imbrex::analysis
