#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/mma.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

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

/// Why an instruction does not make a product, however little it takes.
enum class Refusal : std::uint8_t {
  None,
  LowerPrecision,    ///< It keeps less of the operands than the product's precision.
  FlushesSubnormals, ///< Which the operands have, as what it takes them.
  TooFewPieces,      ///< Along the axis that its product shares with another, for a warp each.
};

/// An instruction that may make a product, with all by which it is compared to others.
struct Candidate {
  const machine::MmaInstruction *unit;
  Elements elements;    ///< Of the operands, as it takes them.
  std::int32_t way = 0; ///< Which of waysOf these are; behind them all: less precise.
  Refusal refusal = Refusal::None;
  bool isInCycles = true; ///< Else no document says the cycles of all that take such elements.
  std::int64_t each = 0;  ///< Cycles of a unit for an instruction, or its multiplications.
  std::int64_t instructions = 0; ///< For all of the product.
  std::int64_t ofWarp = 0;       ///< For the warp that makes most of it; 0: until warps are chosen.
  std::int64_t exchange = 0; ///< Cycles until its sums are with those who want them as an operand.
  std::int64_t time = 0;     ///< Of that warp, as `each` counts; 0: where it decides nothing.

  std::int64_t costOfWarp() const { return ofWarp * each; }
  std::int64_t cost() const { return instructions * each; }
  /// With those for padding.
  std::int64_t multiplications() const { return instructions * unit->m * unit->n * unit->k; }
};
/// Not refused, less work for the cast, less time of a warp, less of all, fewer instructions: the
/// first of these that differs.
bool isBetter(const Candidate &one, const Candidate &other);

using Candidates = llvm::SmallVector<Candidate, 8>;
/// The instructions of a machine for a product, as well as those that lose some of its operands,
/// which are refused. The sums lie as the machine's do: those of a machine all lie along rows, or
/// all along columns and are transposed.
Candidates candidatesFor(const machine::Machine &machine, const ir::Kernel &kernel,
                         const ir::Op &dot);
/// Of these elements alone.
Candidates candidatesFor(const machine::Machine &machine, const ir::Kernel &kernel,
                         const ir::Op &dot, const Elements &elements);
/// The first of the best; null where all are refused.
const Candidate *bestOf(llvm::ArrayRef<Candidate> candidates);
/// Whether multiply-adds would not be as good: of an instruction few multiplications may be wanted.
bool isWorthwhile(const ProductShape &shape, const Candidate &candidate);

} // namespace imbrex::passes::units
