#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/mma.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>
#include <tuple>

/// Which of a machine's matrix instructions may make a product, and what each takes for it.
namespace imbrex::passes::units {

/// The extents of a product; of batches as many.
struct ProductShape {
  std::int64_t m, n, k, batches;
  std::int64_t multiplications() const { return m * n * k * batches; }
};
ProductShape shapeOf(const ir::Kernel &kernel, const ir::Op &dot);

/// The elements of a product's operands, as a unit would take them, and with which scales.
struct Elements {
  ir::ElementKind a, b;
  ir::Precision precision = ir::Precision::Ieee;
  machine::BlockScale scale = {};
};
/// What a product's operands may be for a unit, the cheapest first: as they are, or cast to what
/// has all that they have. A scaled product's times their scales as well.
llvm::SmallVector<Elements, 4> waysOf(const ir::Kernel &kernel, const ir::Op &dot);

using Instructions = llvm::SmallVector<const machine::MmaInstruction *, 8>;
/// The instructions of a machine for these elements and sums, which lie as the machine's do: those
/// of a machine all lie along rows, or all along columns and are transposed.
Instructions instructionsFor(const machine::Machine &machine, const ir::Kernel &kernel,
                             const ir::Op &dot, Elements elements);
/// Of these the ones that lose nothing of the operands: some units flush what is subnormal in the
/// elements that they take.
Instructions exactInstructionsFor(const machine::Machine &machine, const ir::Kernel &kernel,
                                  const ir::Op &dot, Elements elements);

/// What a product costs by an instruction: cycles of one unit, or multiplications where cycles are
/// not known; and instructions.
using UnitCost = std::tuple<std::int64_t, std::int64_t>;
UnitCost costOf(const ProductShape &shape, const machine::MmaInstruction &row, bool knowsCycles);
bool knowCycles(llvm::ArrayRef<const machine::MmaInstruction *> rows);

const machine::MmaInstruction *cheapestOf(llvm::ArrayRef<const machine::MmaInstruction *> rows,
                                          const ProductShape &shape);
/// Whether multiply-adds would not be as good: of an instruction few multiplications may be wanted.
bool isWorthwhile(const ProductShape &shape, const machine::MmaInstruction &row);

/// Why a product stays one by multiply-adds, and what would change that.
std::string whyNoUnit(const ir::Kernel &kernel, const ir::Op &dot, const machine::Machine &machine);

} // namespace imbrex::passes::units
