#pragma once

#include "backend/passes/units/unit_instructions.h"

#include <array>
#include <vector>

/// How the warps of a block share products on matrix units.
namespace imbrex::passes::units {

/// Products that share tiles in registers.
enum class Sharing : std::uint8_t { None, Rows, Columns };

struct Product {
  ir::Op *op;
  Instructions units;                  ///< That may make it.
  const machine::MmaInstruction *unit; ///< That does.
  ir::Shape result;
  ProductShape shape;
  Elements elements;                            ///< As the unit takes them.
  std::array<std::int64_t, 2> weights = {1, 1}; ///< Of an element of either operand.
  Sharing sharing = Sharing::None;
};

using Grid = llvm::SmallVector<std::int64_t, 5>;
/// The warps along each axis of a product's result: as many at work as can be, and then with the
/// smallest operands.
Grid gridFor(const Product &product, std::int32_t warps);

/// Finds products of which one's sums are made to another's operand: these have all warps along the
/// axis that they share, and instructions with pieces enough for that.
void findSharing(const ir::Kernel &kernel, std::vector<Product> &products);
/// As many warps as have sums enough, and registers for these.
std::int32_t warpsFor(const ir::Kernel &kernel, llvm::ArrayRef<Product> products,
                      const machine::Machine &machine);
/// Warps without a piece of their own would make that of another once more: where smaller pieces
/// take a warp less time, these are taken.
void makePiecesForAllWarps(Product &product, std::int32_t warps);

} // namespace imbrex::passes::units
