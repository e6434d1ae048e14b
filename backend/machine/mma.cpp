#include "backend/machine/mma.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

namespace imbrex::machine {
namespace {

// Machines, by name and between spaces.
constexpr std::string_view kFromSm75 =
    " sm_75 sm_80 sm_86 sm_89 sm_90a sm_100a sm_103a sm_100f sm_120a sm_121a sm_120f ";
constexpr std::string_view kFromSm80 =
    " sm_80 sm_86 sm_89 sm_90a sm_100a sm_103a sm_100f sm_120a sm_121a sm_120f ";
constexpr std::string_view kSm89 = " sm_89 ";
constexpr std::string_view kFromSm90 = " sm_90a sm_100a sm_103a sm_100f sm_120a sm_121a sm_120f ";
constexpr std::string_view kSm90To103 = " sm_90a sm_100a sm_103a sm_100f ";
constexpr std::string_view kFromSm120 = " sm_120a sm_121a sm_120f ";
constexpr std::string_view kGfx90a = " gfx90a ";
constexpr std::string_view kGfx942 = " gfx942 ";
constexpr std::string_view kGfx950 = " gfx950 ";
constexpr std::string_view kGfx950Generic = " gfx950 gfx9-4-generic ";
constexpr std::string_view kGfx11 = " gfx1100 gfx1151 gfx11-generic ";
constexpr std::string_view kGfx12 = " gfx1200 gfx1201 gfx12-generic ";
constexpr std::string_view kGfx1250 = " gfx1250 ";

// Arguments of the intrinsics: LLVM 22, IntrinsicsNVVM.td and IntrinsicsAMDGPU.td.
using enum MmaArgument;
constexpr MmaArgument kFragments[] = {A, B, Sums};
constexpr MmaArgument kScaledFragments[] = {A,          B,      Sums,       ScaleA,    ScaleByteA,
                                            ScaleLaneA, ScaleB, ScaleByteB, ScaleLaneB};
constexpr MmaArgument kMfma[] = {A, B, Sums, Zero, Zero, Zero};
// Scales of 0 stand for none.
constexpr MmaArgument kMfmaFormats[] = {A, B, Sums, FormatA, FormatB, Zero, Zero, Zero, Zero};
constexpr MmaArgument kMfmaScaled[] = {A,          B,      Sums,       FormatA, FormatB,
                                       ScaleByteA, ScaleA, ScaleByteB, ScaleB};
constexpr MmaArgument kWmma[] = {A, B, Sums};
constexpr MmaArgument kWmmaHalf[] = {A, B, Sums, Zero};
constexpr MmaArgument kWmmaSigned[] = {SignedA, A, SignedB, B, Sums, Zero};
constexpr MmaArgument kWmmaModified[] = {Zero, A, Zero, B, Zero, Sums, Zero, Zero};
constexpr MmaArgument kWmmaAddend[] = {A, B, Zero, Sums, Zero, Zero};
constexpr MmaArgument kWmmaSignedReuse[] = {SignedA, A, SignedB, B, Sums, Zero, Zero, Zero};
constexpr MmaArgument kWmmaFormats[] = {FormatA, A, FormatB, B, Zero, Sums};
constexpr MmaArgument kWmmaScaled[] = {FormatA,      A,          FormatB,      B,      Zero,
                                       Sums,         ScaleLaneA, ScaleFormatA, ScaleA, ScaleLaneB,
                                       ScaleFormatB, ScaleB,     Zero,         Zero};
constexpr MmaArgument kWmmaF4[] = {A, B, Zero, Sums};
constexpr MmaArgument kWmmaScaledF4[] = {
    A,      B,          Zero,         Sums,   ScaleLaneA, ScaleFormatA,
    ScaleA, ScaleLaneB, ScaleFormatB, ScaleB, Zero,       Zero};

constexpr BlockScale kE8M0By32 = {MatrixElement::E8M0, 32};
constexpr BlockScale kE8M0By16 = {MatrixElement::E8M0, 16};
constexpr BlockScale kE4M3By32 = {MatrixElement::F8E4M3FN, 32};
constexpr BlockScale kE4M3By16 = {MatrixElement::F8E4M3FN, 16};

// How units add up; mma.def says who has measured it.
constexpr SumRules kSumsNotKnown = {};
constexpr SumRules kSaidToBeF32 = {.summation = Summation::SaidToBeF32};
constexpr SumRules kExact = {.summation = Summation::Exact};
constexpr SumRules kChained = {.summation = Summation::Chained, .terms = 1};
constexpr SumRules pairwise(std::int32_t terms) {
  return {.summation = Summation::Pairwise, .terms = terms, .flushesSubnormals = true};
}
constexpr SumRules aligned(std::int32_t bits, std::int32_t terms) {
  return {.summation = Summation::Aligned, .terms = terms, .fractionBits = bits};
}

constexpr auto kInstructions = std::to_array<MmaInstruction>({
#define IMBREX_MMA(intrinsic, m, n, k, a, b, sums, form, ...)                                      \
  {intrinsic,          m,          n, k, MatrixElement::a, MatrixElement::b, MatrixElement::sums,  \
   FragmentForm::form, __VA_ARGS__},
#include "backend/machine/mma.def"
});

struct MatrixElementRow {
  std::string_view name;
  std::int32_t bits;
};
constexpr auto kElements = std::to_array<MatrixElementRow>({
#define IMBREX_MATRIX_ELEMENT(Kind, name, bits) {name, bits},
#include "backend/machine/matrix_elements.def"
});
const MatrixElementRow &infoOf(MatrixElement element) {
  return kElements[static_cast<std::size_t>(element)];
}

// Of f8 and f4 the AMD units of many formats take k in runs of so many bits.
constexpr std::int32_t kRunBits = 128;

/// How a matrix is dealt to a warp. Lanes have runs along its inner axis, and stand beside each
/// other along the outer one; what is left of both is in further registers.
struct Deal {
  std::int32_t run = 1;        ///< Neighbours along the inner axis in one lane.
  std::int32_t innerLanes = 1; ///< Lanes side by side along it.
  std::int32_t outerLanes = 1;
  std::int32_t copies = 1; ///< Lanes that have the same.
  /// The inner axis has the lowest lanes, and the outer one the next registers; else the other way
  /// round.
  bool innerFirst = false;
};

/// The extents of a matrix, and which of its axes is the inner one.
struct Extents {
  std::int32_t rows, columns;
  bool rowsAreInner;
};

/// Gives out the bits of the axes, lowest first.
class Dealer {
public:
  explicit Dealer(Extents extents)
      : rowBits_(bits(extents.rows)), columnBits_(bits(extents.columns)),
        rowsAreInner_(extents.rowsAreInner) {}

  using Columns = llvm::SmallVector<layout::Bits, 8>;
  void dealInner(Columns &to, std::int32_t extent) { deal(to, rowsAreInner_, extent); }
  void dealOuter(Columns &to, std::int32_t extent) { deal(to, !rowsAreInner_, extent); }
  void dealRest(Columns &to, bool inner) {
    const bool rows = inner == rowsAreInner_;
    deal(to, rows, 1 << (rows ? rowBits_ - nextRow_ : columnBits_ - nextColumn_));
  }
  static void dealCopies(Columns &to, std::int32_t lanes) { to.append(bitCount(lanes), 0); }

  layout::LinearLayout layout(const Columns &registers, const Columns &lanes) const {
    Columns columns = registers;
    columns.append(lanes);
    return layout::LinearLayout(
        {{layout::Dim::Register, size(registers)}, {layout::Dim::Lane, size(lanes)}},
        {{layout::Dim::Axis0, rowBits_}, {layout::Dim::Axis1, columnBits_}}, columns);
  }

private:
  static std::int32_t bits(std::int32_t extent) {
    return static_cast<std::int32_t>(llvm::Log2_32(static_cast<std::uint32_t>(extent)));
  }
  static std::size_t bitCount(std::int32_t extent) {
    return static_cast<std::size_t>(bits(extent));
  }
  static std::int32_t size(const Columns &columns) {
    return static_cast<std::int32_t>(columns.size());
  }
  void deal(Columns &to, bool rows, std::int32_t extent) {
    std::int32_t &next = rows ? nextRow_ : nextColumn_;
    const std::int32_t shift = rows ? columnBits_ : 0;
    for (const std::int32_t end = next + bits(extent); next < end; ++next)
      to.push_back(layout::Bits{1} << (shift + next));
  }

  std::int32_t rowBits_, columnBits_, nextRow_ = 0, nextColumn_ = 0;
  bool rowsAreInner_;
};

layout::LinearLayout layoutOf(Extents extents, const Deal &deal) {
  Dealer dealer(extents);
  Dealer::Columns registers, lanes;
  dealer.dealInner(registers, deal.run);
  if (deal.innerFirst) dealer.dealInner(lanes, deal.innerLanes);
  dealer.dealOuter(lanes, deal.outerLanes);
  if (!deal.innerFirst) dealer.dealInner(lanes, deal.innerLanes);
  Dealer::dealCopies(lanes, deal.copies);
  dealer.dealRest(registers, !deal.innerFirst);
  dealer.dealRest(registers, deal.innerFirst);
  return dealer.layout(registers, lanes);
}

/// Of A and B, whose inner axis is k; `extent` is the outer one's.
Deal dealOfOperand(const MmaInstruction &instruction, MmaOperand operand, std::int32_t extent) {
  const std::int32_t stride = strideBits(instruction, operand), k = instruction.k;
  switch (instruction.form) {
  case FragmentForm::MmaSync:
  case FragmentForm::MmaSyncBytes:
    return {.run = std::max(32 / stride, 1), .innerLanes = 4, .outerLanes = 8, .innerFirst = true};
  case FragmentForm::Mfma:
    return {.run = k / (64 / extent), .innerLanes = 64 / extent, .outerLanes = extent};
  case FragmentForm::MfmaFormats:
    return {.run = kRunBits / stride, .innerLanes = 64 / extent, .outerLanes = extent};
  case FragmentForm::WmmaMirrored: return {.run = k, .outerLanes = 16, .copies = 2};
  case FragmentForm::Wmma: return {.run = std::min(8, k / 2), .innerLanes = 2, .outerLanes = 16};
  case FragmentForm::WmmaFormats:
    return {.run = kRunBits / stride, .innerLanes = 2, .outerLanes = 16};
  }
  IMBREX_UNREACHABLE("form of fragments");
}

/// Of the sums; NVIDIA's lie along rows, AMD's along columns.
Deal dealOfSums(const MmaInstruction &instruction) {
  const std::int32_t n = instruction.n;
  switch (instruction.form) {
  case FragmentForm::MmaSync:
  case FragmentForm::MmaSyncBytes:
    return {.run = 2, .innerLanes = 4, .outerLanes = 8, .innerFirst = true};
  case FragmentForm::Mfma:
  case FragmentForm::MfmaFormats:
    return {.run = instruction.sums == MatrixElement::F64 ? 1 : 4,
            .innerLanes = 64 / n,
            .outerLanes = n};
  case FragmentForm::WmmaMirrored: return {.run = 1, .innerLanes = 2, .outerLanes = n};
  case FragmentForm::Wmma:
  case FragmentForm::WmmaFormats: return {.run = 8, .innerLanes = 2, .outerLanes = n};
  }
  IMBREX_UNREACHABLE("form of fragments");
}

bool isMmaSync(FragmentForm form) {
  return form == FragmentForm::MmaSync || form == FragmentForm::MmaSyncBytes;
}

/// Of a quad of lanes two have the scales of A, for row q and q + 8; one has those of B.
layout::LinearLayout mmaSyncScales(Extents extents, bool ofA) {
  Dealer dealer(extents);
  Dealer::Columns registers, lanes, rows;
  dealer.dealRest(registers, true);
  dealer.dealRest(rows, false);
  if (ofA) lanes.push_back(rows.pop_back_val());
  Dealer::dealCopies(lanes, ofA ? 2 : 4);
  lanes.append(rows);
  return dealer.layout(registers, lanes);
}

layout::LinearLayout scalesOf(const MmaInstruction &instruction, bool ofA) {
  const std::int32_t blocks = instruction.k / instruction.scale.k;
  const std::int32_t outer = ofA ? instruction.m : instruction.n;
  const Extents extents = ofA ? Extents{outer, blocks, false} : Extents{blocks, outer, true};
  if (isMmaSync(instruction.form)) return mmaSyncScales(extents, ofA);
  if (instruction.form == FragmentForm::MfmaFormats)
    return layoutOf(extents, {.innerLanes = blocks, .outerLanes = outer});
  return layoutOf(extents, {.run = blocks, .outerLanes = outer, .copies = 32 / outer});
}

/// Formats of gfx950 and gfx1250 have the same numbers (LLVM 22, SIDefines.h). Those of 6 bits are
/// 2 and 3.
std::int32_t formatOf(MatrixElement element) {
  if (element == MatrixElement::F4E2M1) return 4;
  return element == MatrixElement::F8E5M2 ? 1 : 0;
}

} // namespace

std::string_view nameOf(MatrixElement element) { return infoOf(element).name; }
std::int32_t bitsOf(MatrixElement element) { return infoOf(element).bits; }

KeepsF32 keepsF32(const SumRules &rules) {
  constexpr std::int32_t kBitsOfF32 = 23;
  switch (rules.summation) {
  case Summation::NotKnown: return KeepsF32::No;
  case Summation::SaidToBeF32: return KeepsF32::Said;
  case Summation::Aligned: return rules.fractionBits >= kBitsOfF32 ? KeepsF32::Yes : KeepsF32::No;
  case Summation::Exact:
  case Summation::Chained:
  case Summation::Pairwise: return KeepsF32::Yes;
  }
  IMBREX_UNREACHABLE("summation");
}

llvm::ArrayRef<MmaInstruction> allMmaInstructions() { return kInstructions; }

bool hasInstruction(const Machine &machine, const MmaInstruction &instruction) {
  return instruction.machines.find(" " + std::string(machine.name) + " ") != std::string_view::npos;
}

llvm::SmallVector<const MmaInstruction *, 0> mmaInstructionsOf(const Machine &machine) {
  llvm::SmallVector<const MmaInstruction *, 0> found;
  for (const MmaInstruction &instruction : kInstructions)
    if (hasInstruction(machine, instruction)) found.push_back(&instruction);
  return found;
}

MatrixElement elementOf(const MmaInstruction &instruction, MmaOperand operand) {
  switch (operand) {
  case MmaOperand::A: return instruction.a;
  case MmaOperand::B: return instruction.b;
  case MmaOperand::Sums: return instruction.sums;
  case MmaOperand::ScaleA:
  case MmaOperand::ScaleB: return instruction.scale.element;
  }
  IMBREX_UNREACHABLE("operand");
}

const MmaInstruction *findMmaInstruction(const Machine &machine, std::string_view intrinsic,
                                         const MmaElements &elements, const BlockScale &scale) {
  const auto *const found = llvm::find_if(kInstructions, [&](const MmaInstruction &row) {
    return row.intrinsic == intrinsic && row.a == elements.a && row.b == elements.b &&
           row.sums == elements.sums && row.scale == scale && hasInstruction(machine, row);
  });
  return found == kInstructions.end() ? nullptr : &*found;
}

std::optional<MatrixElement> matrixElementNamed(std::string_view name) {
  const auto *const found = llvm::find_if(
      kElements, [&](const MatrixElementRow &element) { return element.name == name; });
  if (found == kElements.end()) return std::nullopt;
  return static_cast<MatrixElement>(found - kElements.begin());
}

bool isBestTransposed(const MmaInstruction &instruction) { return !isMmaSync(instruction.form); }

std::int32_t lanesOf(const MmaInstruction &instruction) {
  const bool isMfma =
      instruction.form == FragmentForm::Mfma || instruction.form == FragmentForm::MfmaFormats;
  return isMfma ? 64 : 32;
}

layout::LinearLayout fragmentOf(const MmaInstruction &instruction, MmaOperand operand) {
  const auto [m, n, k] = std::tuple(instruction.m, instruction.n, instruction.k);
  switch (operand) {
  case MmaOperand::A: return layoutOf({m, k, false}, dealOfOperand(instruction, operand, m));
  case MmaOperand::B: return layoutOf({k, n, true}, dealOfOperand(instruction, operand, n));
  case MmaOperand::Sums:
    return layoutOf({m, n, !isMmaSync(instruction.form)}, dealOfSums(instruction));
  case MmaOperand::ScaleA:
  case MmaOperand::ScaleB:
    IMBREX_CHECK(instruction.isScaled(), "'{0}' has no block scales", instruction.intrinsic);
    return scalesOf(instruction, operand == MmaOperand::ScaleA);
  }
  IMBREX_UNREACHABLE("operand");
}

bool mirrorsOperands(const MmaInstruction &instruction) {
  return instruction.form == FragmentForm::WmmaMirrored;
}

std::int32_t strideBits(const MmaInstruction &instruction, MmaOperand operand) {
  const std::int32_t bits = bitsOf(elementOf(instruction, operand));
  if (instruction.form == FragmentForm::MmaSyncBytes) return std::max(bits, 8);
  if (instruction.form == FragmentForm::WmmaMirrored && operand == MmaOperand::Sums) return 32;
  return bits;
}

std::int32_t firstBit(const MmaInstruction &instruction, MmaOperand operand) {
  const bool inByte = instruction.form == FragmentForm::MmaSyncBytes &&
                      elementOf(instruction, operand) == MatrixElement::F4E2M1;
  return inByte ? 2 : 0;
}

std::int32_t registersOf(const MmaInstruction &instruction, MmaOperand operand) {
  const std::int32_t elements =
      1 << fragmentOf(instruction, operand).inputBits(layout::Dim::Register);
  return static_cast<std::int32_t>(
      llvm::divideCeil(elements * strideBits(instruction, operand), 32));
}

bool namesSumsFirst(const MmaInstruction &instruction) {
  return instruction.intrinsic.starts_with("amdgcn.wmma");
}

bool namesBothOperands(const MmaInstruction &instruction) {
  return llvm::is_contained(instruction.arguments, FormatA) ||
         instruction.intrinsic.ends_with(".f4");
}

bool takesBfloat(const MmaInstruction &instruction) { return instruction.machines == kGfx1250; }

std::int32_t immediateOf(const MmaInstruction &instruction, MmaArgument argument) {
  const bool isE4M3 = instruction.scale.element == MatrixElement::F8E4M3FN;
  switch (argument) {
  case SignedA: return instruction.a == MatrixElement::I8 ? 1 : 0;
  case SignedB: return instruction.b == MatrixElement::I8 ? 1 : 0;
  case FormatA: return formatOf(instruction.a);
  case FormatB: return formatOf(instruction.b);
  case ScaleFormatA:
  case ScaleFormatB: return isE4M3 ? 2 : 0; // LLVM 22, SIDefines.h
  case ScaleByteA:
  case ScaleByteB:
  case ScaleLaneA:
  case ScaleLaneB:
  case Zero: return 0;
  case A:
  case B:
  case Sums:
  case ScaleA:
  case ScaleB: break;
  }
  IMBREX_UNREACHABLE("argument");
}

} // namespace imbrex::machine
