#pragma once

#include "backend/layout/linear_layout.h"
#include "backend/machine/machine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string_view>

/// The matrix instructions that a warp issues on fragments in its registers, as data: a row of
/// mma.def each. All compute
///
///   D (m x n) = A (m x k) B (k x n) + C (m x n)
///
/// and are done when the next instruction reads D. C and D are the *sums*: they have one element
/// type and one layout.
///
/// A *fragment* is the part of a matrix that a lane holds. Which part is a linear layout from
/// register and lane to (row, column). Its register dimension counts elements and not hardware's
/// registers: element 0 has the lowest bits of the first register.
namespace imbrex::machine {

/// What a matrix is of.
enum class MatrixElement : std::uint8_t {
#define IMBREX_MATRIX_ELEMENT(Kind, name, bits) Kind,
#include "backend/machine/matrix_elements.def"
};
std::string_view nameOf(MatrixElement element);
std::int32_t bitsOf(MatrixElement element);

/// How fragments lie on a warp; fragmentOf has the numbers.
enum class FragmentForm : std::uint8_t {
  MmaSync,      ///< Four lanes along k, then eight along rows or columns; 32 lanes.
  MmaSyncBytes, ///< The same, and each element has a byte: an f4 its bits 2 to 5.
  Mfma,         ///< 16 or 32 lanes along rows or columns, then the others along k; 64 lanes.
  MfmaFormats,  ///< The same, but k in runs of 16 bytes.
  WmmaMirrored, ///< 16 lanes, and the other 16 have copies; but of the sums each half has its own.
  Wmma,         ///< 16 lanes, the other 16 along k; 32 lanes.
  WmmaFormats,  ///< The same, but k in runs of 16 bytes.
};

enum class MmaOperand : std::uint8_t { A, B, Sums, ScaleA, ScaleB };

/// An argument of the intrinsic.
enum class MmaArgument : std::uint8_t {
  /// Fragments. Those of `nvvm` are one argument for each register, and so are the members of the
  /// result; those of `amdgcn` one vector.
  A,
  B,
  Sums,
  /// Registers with scales, a byte each: i32, or i64 where a lane has eight.
  ScaleA,
  ScaleB,
  // Numbers that are part of the instruction. What follows is what immediateOf gives.
  SignedA, ///< 1 where the elements have a sign.
  SignedB,
  FormatA, ///< The number of the element's format.
  FormatB,
  ScaleFormatA,
  ScaleFormatB,
  /// 0: the scales are in the lowest bytes of the register. Another number takes other bytes of
  /// it, so that one load serves several instructions.
  ScaleByteA,
  ScaleByteB,
  /// 0: the scales are in the lowest of the lanes that scale fragments call copies.
  ScaleLaneA,
  ScaleLaneB,
  Zero, ///< A modifier that the instruction is used without.
};

/// Factors of operands: one for each `k` neighbours along k; k = 0: there are none.
struct BlockScale {
  MatrixElement element = MatrixElement::E8M0; ///< A byte each; of F8E4M3FN without the sign.
  std::int32_t k = 0;
  friend bool operator==(const BlockScale &, const BlockScale &) = default;
};

/// How a unit adds up.
enum class Summation : std::uint8_t {
  NotKnown, ///< No source says; no bound may be promised.
  /// As NotKnown, but by its vendor C and D are f32, and those of the vendor's units that have been
  /// measured keep as much.
  SaidToBeF32,
  Exact, ///< Modulo 2^32.
  /// An fma for each k, in order.
  Chained,
  /// Products of `terms` neighbours are added pairwise, each sum rounded to f32, and then to the
  /// sum so far.
  Pairwise,
  /// Products of `terms` neighbours and the sum so far are aligned to the largest of their
  /// exponents, cut off `fractionBits` behind its point, and added exactly; the result is rounded
  /// or cut to the type of the sums, and has no more than `fractionBits` behind its point.
  Aligned,
};

/// Where a row's machines differ, the least terms and bits of them.
struct SumRules {
  Summation summation = Summation::NotKnown;
  std::int32_t terms = 0;
  std::int32_t fractionBits = 0;
  bool flushesSubnormals = false; ///< Of operands and sums.
};

/// Whether sums keep what f32 keeps.
enum class KeepsF32 : std::uint8_t { Yes, Said, No };
KeepsF32 keepsF32(const SumRules &rules);

struct MmaInstruction {
  std::string_view intrinsic; ///< LLVM's, without "llvm.".
  std::int32_t m = 0, n = 0, k = 0;
  MatrixElement a, b, sums;
  FragmentForm form;
  llvm::ArrayRef<MmaArgument> arguments; ///< Of the intrinsic, in order.
  std::string_view machines;             ///< By name and between spaces.
  /// From one to the next on the same unit of one partition of a core; 0: its vendor does not say
  /// (see unitCycles).
  std::int32_t cycles = 0;
  SumRules sumRules = {};
  /// The least version of PTX that has it, times 10, where a machine's own features may ask for
  /// less; 0: any.
  std::int32_t ptx = 0;
  BlockScale scale = {};

  bool isScaled() const { return scale.k != 0; }
};

/// Every instruction, in the table's order.
llvm::ArrayRef<MmaInstruction> allMmaInstructions();
/// Those that a machine has, in the table's order.
llvm::SmallVector<const MmaInstruction *, 0> mmaInstructionsOf(const Machine &machine);
bool hasInstruction(const Machine &machine, const MmaInstruction &instruction);
/// What an instruction's matrices are of.
struct MmaElements {
  MatrixElement a, b, sums;
};
/// A machine's row of an intrinsic on matrices of these, with such scales; null where it has none.
const MmaInstruction *findMmaInstruction(const Machine &machine, std::string_view intrinsic,
                                         const MmaElements &elements, const BlockScale &scale);
/// By the name that the language has for it; nothing where no unit knows it.
std::optional<MatrixElement> matrixElementNamed(std::string_view name);

/// What an instruction keeps a unit of one partition busy for.
struct UnitCycles {
  std::int32_t cycles;
  bool isKnown; ///< Else no document says: a guess, to compare with.
};
/// The row's cycles; where it has none, what the rate of a whole core makes of them
/// (mma_rates.def).
UnitCycles unitCycles(const Machine &machine, const MmaInstruction &instruction);

/// Whether a product is best had as the transpose of that of the transposed matrices: where a lane
/// has neighbours of a column of the sums, which then are those of a row, as memory has them.
bool isBestTransposed(const MmaInstruction &instruction);

/// Lanes of the warp that issues it.
std::int32_t lanesOf(const MmaInstruction &instruction);

/// Where the elements of an operand are: from register and lane to axis0 and axis1, which are m and
/// k of A, k and n of B, m and n of the sums; of the scales m and block, or block and n.
///
/// Lane bits whose columns are zero hold copies: of an operand all lanes must have them, of scales
/// those that ScaleLaneA and ScaleLaneB name.
layout::LinearLayout fragmentOf(const MmaInstruction &instruction, MmaOperand operand);

/// Which operand's elements: A, B and sums.
MatrixElement elementOf(const MmaInstruction &instruction, MmaOperand operand);

/// Whether half of the lanes have copies of the others' parts of A and B.
bool mirrorsOperands(const MmaInstruction &instruction);

/// Bits from one element of a fragment to the next in its registers: the element's own, or more.
std::int32_t strideBits(const MmaInstruction &instruction, MmaOperand operand);
/// The lowest bit of an element within its stride; those around it are zero.
std::int32_t firstBit(const MmaInstruction &instruction, MmaOperand operand);
/// Registers of 32 bits of a lane.
std::int32_t registersOf(const MmaInstruction &instruction, MmaOperand operand);

/// Of an overloaded intrinsic: whether its types are those of the sums and then A, or A alone;
/// whether B's, too, can differ from A's; and whether fragments of bf16 are vectors of bfloat, or
/// of i16.
bool namesSumsFirst(const MmaInstruction &instruction);
bool namesBothOperands(const MmaInstruction &instruction);
bool takesBfloat(const MmaInstruction &instruction);

/// The number that stands for an argument that is no fragment.
std::int32_t immediateOf(const MmaInstruction &instruction, MmaArgument argument);

} // namespace imbrex::machine
