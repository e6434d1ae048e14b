#pragma once

#include "backend/passes/units/unit_instructions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

/// How the warps of a block share products on matrix units.
namespace imbrex::passes::units {

/// Products that share tiles in registers.
enum class Sharing : std::uint8_t { None, Rows, Columns };

struct Product {
  ir::Op *op;
  Candidates candidates; ///< All that were looked at.
  std::size_t taken = 0; ///< Of these.
  ir::Shape result;
  ProductShape shape;
  std::array<std::int64_t, 2> weights = {1, 1}; ///< Of an element of either operand.
  Sharing sharing = Sharing::None;
  bool givesSums = false; ///< Of those that share, to another as an operand.

  const Candidate &choice() const { return candidates[taken]; }
  void takeBest();
};

using Grid = llvm::SmallVector<std::int64_t, 5>;
/// The warps along each axis of a product's result, were it made by this instruction: as many at
/// work as can be, and then with the smallest operands.
Grid gridFor(const Product &product, const machine::MmaInstruction &unit, std::int32_t warps);
/// As the choice lets the warps share the product.
ir::UnitAttrs attrsFor(const Product &product, const machine::MmaInstruction &unit,
                       std::int32_t warps);

/// The pieces of an instruction that a product's result has: of all its batches, along rows and
/// columns.
struct Pieces {
  std::int64_t batches, rows, columns;
  std::int64_t all() const { return batches * rows * columns; }
};
Pieces piecesOf(const ProductShape &shape, const machine::MmaInstruction &unit);

/// Finds products of which one's sums are made to another's operand: these have all warps along the
/// axis that they share, and instructions with pieces enough for that; others are refused.
void findSharing(const ir::Kernel &kernel, std::vector<Product> &products);

/// The registers of a thread that so many warps want for a kernel's products, and that they have.
struct WarpTrial {
  std::int32_t warps;
  std::int64_t wanted, had;
  std::int64_t missing() const { return std::max<std::int64_t>(wanted - had, 0); }
};
WarpTrial trialOf(const ir::Kernel &kernel, llvm::ArrayRef<Product> products,
                  const machine::Machine &machine, std::int32_t warps);
struct WarpChoice {
  std::int32_t warps;
  std::optional<WarpTrial> fewer = {}; ///< Which lack registers that these do not.
  std::optional<WarpTrial> more = {};  ///< Which lack no fewer than these.
};
/// As many warps as have sums enough, and registers for these; or as the author asks.
WarpChoice warpsFor(const ir::Kernel &kernel, llvm::ArrayRef<Product> products,
                    const machine::Machine &machine);
/// Has so many warps share a product. Warps without a piece of their own would make that of another
/// once more: where smaller pieces take a warp less time, these are taken.
void shareAmong(Product &product, const ir::Kernel &kernel, std::int32_t warps);

} // namespace imbrex::passes::units
