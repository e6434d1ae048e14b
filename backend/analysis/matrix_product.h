#pragma once

#include "backend/ir/kernel.h"
#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/layout/tile_layout.h"
#include "backend/machine/mma.h"

#include <cstdint>
#include <optional>
#include <string>

/// Products that are made of a matrix instruction's (backend/machine/mma.h): where the elements of
/// the sums and of the operands are, and how far it sums up by itself.
///
/// The result is cut into pieces of the instruction's m x n, and k into steps of its k. A warp has
/// pieces side by side, which its registers count: the instruction's own bits first, then those of
/// the pieces. Axes that are shorter than the instruction's are held more than once: what lanes or
/// registers would have beyond the end is what they have before it.
namespace imbrex::analysis {

/// By what instruction of the machine a dot multiplies; null where by none.
const machine::MmaInstruction *unitOf(const ir::Kernel &kernel, const ir::Op &dot,
                                      const machine::Machine &machine);

/// Why a machine cannot make a dot as its attributes say; empty where it can, or where the dot has
/// no unit. Of a kernel that was read from a file.
std::string whyNotOnUnit(const ir::Kernel &kernel, const ir::Op &dot,
                         const machine::Machine &machine);

/// What a unit takes an element as, at a precision; nothing where no unit knows it.
std::optional<machine::MatrixElement> matrixElementOf(ir::ElementKind element,
                                                      ir::Precision precision);

/// What scales a unit has to take for a scaled product: its operands', which may have none; nothing
/// where they are of two kinds.
std::optional<machine::BlockScale> blockScaleOf(const ir::Kernel &kernel, const ir::Op &dot);

/// Whether an order of k leaves together what has a scale, and what has a byte, in common.
bool keepsTogether(const ir::Kernel &kernel, const ir::Op &dot, llvm::ArrayRef<std::int64_t> order);

/// How often the warp that makes most of a dot issues the instruction for it, where warps share the
/// result as the attributes say.
std::int64_t instructionsOfWarp(const ir::Kernel &kernel, const ir::Op &dot,
                                const machine::MmaInstruction &unit, const ir::UnitAttrs &attrs);

/// Which of the instruction's operands a dot's operand is.
machine::MmaOperand fragmentOfOperand(const ir::Op &dot, std::size_t operand);

/// How the sums lie.
layout::LinearLayout sumsOf(const machine::MmaInstruction &unit, const ir::UnitAttrs &attrs,
                            const ir::Shape &shape, layout::Threads threads);

constexpr std::int32_t kNoBit = -1;
/// The bits of a number at other places; kNoBit: nowhere.
layout::Bits scattered(layout::Bits number, llvm::ArrayRef<std::int32_t> places);

/// Which bits of a tile's registers count an instruction's sums, and which the pieces.
struct SumBits {
  llvm::SmallVector<std::int32_t, 8> ofFragment; ///< Of each: the tile's; kNoBit: copies.
  std::int32_t firstOfPieces = 0;                ///< All from here on.
};
SumBits sumBitsOf(const ir::Kernel &kernel, const ir::Op &dot, const machine::MmaInstruction &unit);

/// What each thread reads of an operand.
struct FragmentReads {
  /// From register, lane, warp to the operand's coordinates, as many of k as asked for. Registers
  /// count a fragment's elements, the steps along k, and the pieces, as far as these differ; the
  /// pieces before the steps where registers are few.
  layout::LinearLayout places;
  layout::Bits first = 0;                        ///< Moved (xor) by this: of a part of a slot.
  llvm::SmallVector<std::int32_t, 8> ofFragment; ///< Of each bit: that of places' registers.
  llvm::SmallVector<std::int32_t, 8> ofSteps;
  llvm::SmallVector<std::int32_t, 8> ofPieces;
  /// From the fragment's register and the steps (Register), and lane, to k (Offset), which may be
  /// beyond the operand's. It counts what the tile has an element for: of packed f4e2m1 pairs, of
  /// scales blocks.
  layout::LinearLayout depths;
};

/// How k is counted, by an instruction.
struct DepthCount {
  const machine::MmaInstruction &unit;
  std::int32_t bits; ///< Of k, as far as it is there at a time, from a multiple of it on.
  llvm::ArrayRef<std::int64_t> order = {}; ///< As DotAttrs::depthOrder.
};
FragmentReads fragmentReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                            const DepthCount &depth);
/// Of all of k at a time, in the order that the product has chosen.
FragmentReads fragmentReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                            const machine::MmaInstruction &unit);
/// The same before the kernel is laid out: for sums that will lie so.
FragmentReads fragmentReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                            const DepthCount &depth, const layout::LinearLayout &sums);

/// Of a tile that no product asks for: what the threads hold so, as if each had one fragment.
FragmentReads plainReads(const layout::LinearLayout &held);

/// The same by the coordinates of the slot that the operand lies in (ir::inSlot).
FragmentReads inSlot(FragmentReads reads, const ir::Renaming &slot);

/// The bits that count k within an instruction.
std::int32_t depthBitsOf(const machine::MmaInstruction &unit);

/// So many instructions in a row sum up by themselves, before what they have is added to full sums;
/// 0: all of them. Of 8-bit floats on units that are not measured to keep what f32 keeps it is as
/// many as the author asks for; without that one, or all where the vendor says that they keep it.
std::int64_t instructionsTogether(const ir::Kernel &kernel, const ir::Op &dot,
                                  const machine::MmaInstruction &unit);

} // namespace imbrex::analysis
