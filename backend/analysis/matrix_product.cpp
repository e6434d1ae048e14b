#include "backend/analysis/matrix_product.h"

#include "backend/ir/products.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <string>

namespace imbrex::analysis {
namespace {

using layout::Bits;
using layout::Dim;
using layout::LinearLayout;
using machine::MatrixElement;
using machine::MmaInstruction;
using machine::MmaOperand;

/// The axes of a tile of the result's rank on which the rows and the columns of the instruction's
/// matrix lie.
struct MatrixAxes {
  std::int32_t rows, columns;
};

MatrixAxes axesOf(const ir::UnitAttrs &attrs, std::int32_t rank) {
  const MatrixAxes plain{rank - 2, rank - 1};
  return attrs.transposed ? MatrixAxes{plain.columns, plain.rows} : plain;
}

/// A column of a fragment as one of a tile; what is beyond the tile's extent is not there.
class ColumnPlacer {
public:
  ColumnPlacer(const LinearLayout &fragment, const LinearLayout &tile, MatrixAxes axes)
      : fragment_(fragment), tile_(tile), axes_(axes) {}

  Bits operator()(Bits column) const {
    return at(axes_.rows, fragment_.outputPart(column, Dim::Axis0)) |
           at(axes_.columns, fragment_.outputPart(column, Dim::Axis1));
  }

private:
  Bits at(std::int32_t axis, Bits part) const {
    const Bits inside = part & ((Bits{1} << tile_.outputBits(layout::axisDim(axis))) - 1);
    return inside << tile_.outputShift(layout::axisDim(axis));
  }

  const LinearLayout &fragment_;
  const LinearLayout &tile_;
  MatrixAxes axes_;
};

/// The bits of an axis that are neither an instruction's nor the warps', and the warps'.
struct AxisShare {
  std::int32_t fragment, warps;
};
AxisShare shareOf(const MmaInstruction &unit, const ir::UnitAttrs &attrs, std::int32_t axis,
                  std::int32_t bits) {
  const MatrixAxes axes = axesOf(attrs, static_cast<std::int32_t>(attrs.warps.size()));
  const std::int32_t own = axis == axes.rows      ? layout::bitsFor(unit.m)
                           : axis == axes.columns ? layout::bitsFor(unit.n)
                                                  : 0;
  const std::int32_t fragment = std::min(own, bits);
  const std::int32_t warps = layout::bitsFor(attrs.warps[static_cast<std::size_t>(axis)]);
  return {fragment, std::min(warps, bits - fragment)};
}

} // namespace

std::optional<MatrixElement> matrixElementOf(ir::ElementKind element, ir::Precision precision) {
  if (precision == ir::Precision::Tf32) return MatrixElement::Tf32;
  return machine::matrixElementNamed(ir::info(element).name);
}

std::optional<machine::BlockScale> blockScaleOf(const ir::Kernel &kernel, const ir::Op &dot) {
  std::optional<ir::ElementKind> element;
  for (const std::size_t operand : {0, 1}) {
    const auto scale = ir::scaleOf(dot, operand);
    if (!scale) continue;
    const ir::ElementKind own = kernel.type(dot.operand(*scale)).element();
    if (element && *element != own) return std::nullopt;
    element = own;
  }
  const ir::ElementKind of = element.value_or(ir::ElementKind::E8M0);
  return machine::BlockScale{.element = *machine::matrixElementNamed(ir::info(of).name),
                             .k = static_cast<std::int32_t>(ir::elementsPerScale(of))};
}

const MmaInstruction *unitOf(const ir::Kernel &kernel, const ir::Op &dot,
                             const machine::Machine &machine) {
  if (!ir::isOnUnit(dot)) return nullptr;
  const bool isScaled = dot.kind == ir::OpKind::DotScaled;
  const auto precision = isScaled ? ir::Precision::Ieee : dot.attrs<ir::DotAttrs>().precision;
  std::array<std::optional<MatrixElement>, 2> elements;
  for (const std::size_t i : {0, 1})
    elements[fragmentOfOperand(dot, i) == MmaOperand::A ? 0 : 1] =
        matrixElementOf(ir::elementOf(kernel, dot, i), precision);
  const auto sums = matrixElementOf(kernel.type(dot.operand(2)).element(), ir::Precision::Ieee);
  const auto scale = isScaled ? blockScaleOf(kernel, dot) : machine::BlockScale{};
  if (!elements[0] || !elements[1] || !sums || !scale) return nullptr;
  return machine::findMmaInstruction(machine, ir::unitAttrs(dot).unit,
                                     {*elements[0], *elements[1], *sums}, *scale);
}

std::string whyNotOnUnit(const ir::Kernel &kernel, const ir::Op &dot,
                         const machine::Machine &machine) {
  if (!ir::isOnUnit(dot)) return "";
  const ir::UnitAttrs &attrs = ir::unitAttrs(dot);
  const MmaInstruction *unit = unitOf(kernel, dot, machine);
  if (!unit || machine::lanesOf(*unit) != machine.warpSize)
    return std::string(machine.name) + " has none of that name for these elements";
  const std::int32_t bits = std::max(layout::bitsFor(ir::depthOf(kernel, dot)), depthBitsOf(*unit));
  if (std::ssize(attrs.depthOrder) > bits)
    return "its depth has " + std::to_string(bits) + " bits to order";
  if (!keepsTogether(kernel, dot, attrs.depthOrder))
    return "its order takes apart what has a scale or a byte in common";
  const std::int64_t most = machine.maxThreads / machine.warpSize;
  std::int64_t warps = 1;
  for (const std::int64_t along : attrs.warps) warps *= std::min(along, most + 1);
  if (warps > most) return "a block has " + std::to_string(most) + " warps at most";
  if (!kernel.hasLayouts()) return "";
  const bool isLaid = warps == kernel.threads().warps &&
                      kernel.layout(kernel.layoutOf(dot.result())) ==
                          sumsOf(*unit, attrs, kernel.type(dot.result()).shape(), kernel.threads());
  return isLaid ? "" : "its sums are not laid out as that gives them";
}

bool keepsTogether(const ir::Kernel &kernel, const ir::Op &dot,
                   llvm::ArrayRef<std::int64_t> order) {
  if (dot.kind != ir::OpKind::DotScaled) return true;
  const auto keeps = [&](std::int64_t bits) {
    for (std::int64_t bit = 0; bit < std::ssize(order); ++bit)
      if ((bit < bits) != (order[static_cast<std::size_t>(bit)] < bits)) return false;
    return true;
  };
  for (std::size_t i = 0; i < dot.operands.size(); ++i)
    if (i != 2 && !keeps(layout::bitsFor(ir::depthOfElement(kernel, dot, i)))) return false;
  return true;
}

std::int64_t instructionsOfWarp(const ir::Kernel &kernel, const ir::Op &dot,
                                const MmaInstruction &unit, const ir::UnitAttrs &attrs) {
  const ir::Shape &result = kernel.type(dot.result()).shape();
  const std::int32_t rank = result.rank();
  std::int64_t count = llvm::divideCeilSigned(ir::depthOf(kernel, dot), unit.k);
  for (std::int32_t axis = 0; axis < rank; ++axis) {
    const std::int64_t side = std::int64_t{1} << layout::bitsFor(result[axis]);
    // The first warp's part is padding only where it has the whole axis.
    const std::int64_t part =
        std::min(result[axis], side / attrs.warps[static_cast<std::size_t>(axis)]);
    const bool isOfRows = axis == rank - (attrs.transposed ? 1 : 2);
    const std::int64_t piece = axis < rank - 2 ? 1 : isOfRows ? unit.m : unit.n; // of batches one
    count *= std::max<std::int64_t>(llvm::divideCeilSigned(part, piece), 1);
  }
  return count;
}

MmaOperand fragmentOfOperand(const ir::Op &dot, std::size_t operand) {
  const bool isFirst = (operand == 0) != ir::unitAttrs(dot).transposed;
  return isFirst ? MmaOperand::A : MmaOperand::B;
}

Bits scattered(Bits number, llvm::ArrayRef<std::int32_t> places) {
  Bits result = 0;
  for (std::size_t bit = 0; bit < places.size(); ++bit)
    if ((number >> bit & 1) != 0 && places[bit] != kNoBit) result |= Bits{1} << places[bit];
  return result;
}

FragmentReads plainReads(const LinearLayout &held) {
  FragmentReads reads{
      .places = held, .ofFragment = {}, .ofSteps = {}, .ofPieces = {}, .depths = {}};
  for (std::int32_t bit = 0; bit < held.inputBits(Dim::Register); ++bit)
    reads.ofFragment.push_back(bit);
  return reads;
}

FragmentReads inSlot(FragmentReads reads, const ir::Renaming &slot) {
  reads.places = slot.of(reads.places);
  reads.first = slot.first;
  return reads;
}

std::int32_t depthBitsOf(const MmaInstruction &unit) { return layout::bitsFor(unit.k); }

LinearLayout sumsOf(const MmaInstruction &unit, const ir::UnitAttrs &attrs, const ir::Shape &shape,
                    layout::Threads threads) {
  const LinearLayout tile({}, layout::tileSides(shape.extents()), {});
  const LinearLayout fragment = fragmentOf(unit, MmaOperand::Sums);
  const ColumnPlacer place(fragment, tile, axesOf(attrs, shape.rank()));
  llvm::SmallVector<Bits, 16> registers, lanes, warps;
  for (const Bits column : fragment.columns(Dim::Register))
    if (const Bits placed = place(column); placed != 0) registers.push_back(placed);
  for (const Bits column : fragment.columns(Dim::Lane)) lanes.push_back(place(column));
  for (std::int32_t axis = shape.rank(); axis-- > 0;) {
    const std::int32_t shift = tile.outputShift(layout::axisDim(axis)),
                       bits = tile.outputBits(layout::axisDim(axis));
    const AxisShare share = shareOf(unit, attrs, axis, bits);
    for (std::int32_t bit = share.fragment; bit < bits - share.warps; ++bit)
      registers.push_back(Bits{1} << (shift + bit));
    for (std::int32_t bit = bits - share.warps; bit < bits; ++bit)
      warps.push_back(Bits{1} << (shift + bit));
  }
  warps.resize(static_cast<std::size_t>(layout::bitsFor(threads.warps)), 0);
  llvm::SmallVector<Bits, 16> columns(registers);
  columns.append(lanes);
  columns.append(warps);
  return LinearLayout({{Dim::Register, static_cast<std::int32_t>(registers.size())},
                       {Dim::Lane, static_cast<std::int32_t>(lanes.size())},
                       {Dim::Warp, static_cast<std::int32_t>(warps.size())}},
                      layout::Sides(tile.outputs()), columns);
}

SumBits sumBitsOf(const ir::Kernel &kernel, const ir::Op &dot, const MmaInstruction &unit) {
  const ir::UnitAttrs &attrs = ir::unitAttrs(dot);
  const LinearLayout tile({}, layout::tileSides(kernel.type(dot.result()).shape().extents()), {});
  const LinearLayout fragment = fragmentOf(unit, MmaOperand::Sums);
  const ColumnPlacer place(fragment, tile, axesOf(attrs, kernel.type(dot.result()).rank()));
  SumBits bits;
  for (const Bits column : fragment.columns(Dim::Register))
    bits.ofFragment.push_back(place(column) == 0 ? kNoBit : bits.firstOfPieces++);
  return bits;
}

namespace {

/// What an operand of a product, or the scales of one, have to do with k and the sums.
struct OperandAxes {
  MmaOperand fragment;
  bool depthIsColumn;         ///< Of the fragment.
  std::int32_t depth, outer;  ///< Axes of the tile.
  std::int32_t outerOfSums;   ///< The axis of the sums that has `outer`'s name.
  std::int32_t firstPosition; ///< The bit of k that the fragment's lowest stands for.
  std::int32_t bitsTogether;  ///< Of k, lowest, that an element of the tile stands for.
};

OperandAxes axesOfOperand(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand) {
  const std::int32_t rank = kernel.type(dot.operand(operand)).rank();
  const bool isScale = operand > 2;
  const std::size_t of = isScale && ir::scaleOf(dot, 0) != operand ? 1 : isScale ? 0 : operand;
  const bool isA = fragmentOfOperand(dot, of) == MmaOperand::A;
  OperandAxes axes{.fragment = isA ? MmaOperand::A : MmaOperand::B,
                   .depthIsColumn = isA,
                   .depth = ir::depthAxis(kernel, dot, operand),
                   .outer = of == 0 ? rank - 2 : rank - 1,
                   .outerOfSums = of == 0 ? rank - 2 : rank - 1,
                   .firstPosition = 0,
                   .bitsTogether = layout::bitsFor(ir::depthOfElement(kernel, dot, operand))};
  if (!isScale) return axes;
  axes.fragment = isA ? MmaOperand::ScaleA : MmaOperand::ScaleB;
  axes.outer = rank - 2;
  axes.firstPosition = axes.bitsTogether;
  return axes;
}

/// Whether an access has fragments of several pieces rather than of several steps, so that no
/// step's are there while another is multiplied: where each instruction's sums are added to full
/// ones, both sums, addresses of copies and fragments are more than a thread's registers. Where
/// other warps copy they are not.
bool readsStepByStep(const ir::Kernel &kernel, const ir::Op &dot,
                     const machine::MmaInstruction &unit) {
  return dot.kind == ir::OpKind::Dot && ir::rolesOf(kernel) == nullptr &&
         instructionsTogether(kernel, dot, unit) == 1;
}

/// Builds FragmentReads.
class ReadBuilder {
public:
  ReadBuilder(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
              const DepthCount &depth, const LinearLayout &sums)
      : unit_(depth.unit), sums_(sums), axes_(axesOfOperand(kernel, dot, operand)),
        fragment_(fragmentOf(unit_, axes_.fragment)), depthBits_(depth.bits),
        rank_(kernel.type(dot.operand(operand)).rank()),
        hasPiecesFirst_(readsStepByStep(kernel, dot, unit_)) {
    layout::Sides sides = layout::tileSides(kernel.type(dot.operand(operand)).shape().extents());
    sides[static_cast<std::size_t>(axes_.depth)].bits = bitsOfTile();
    like_ = LinearLayout({}, sides, {});
  }

  FragmentReads build(llvm::ArrayRef<std::int64_t> order, std::int32_t firstOfPieces) {
    const std::int32_t own = depthBitsOf(unit_), all = std::max(own, depthBits_);
    IMBREX_CHECK(std::ssize(order) <= all, "an order of {0} bits of {1}", order.size(), all);
    const auto depthOf = [&](std::int32_t bit) {
      return bit < std::ssize(order)
                 ? static_cast<std::int32_t>(order[static_cast<std::size_t>(bit)])
                 : bit;
    };
    for (const Bits column : fragment_.columns(Dim::Register)) {
      const Bits depth = depthPart(column, depthOf);
      if (depth == 0 && positionsOf(column) != 0) continue; // within an element of the tile
      reads_.ofFragment.push_back(addRegister(placed(column, depthOf), depth));
    }
    const auto addSteps = [&] {
      for (std::int32_t bit = own; bit < all; ++bit) {
        const Bits depth = Bits{1} << depthOf(bit) >> axes_.bitsTogether;
        reads_.ofSteps.push_back(addRegister(atDepth(depth), depth));
      }
    };
    if (!hasPiecesFirst_) addSteps();
    for (const Bits column :
         sums_.columns(Dim::Register).drop_front(static_cast<std::size_t>(firstOfPieces)))
      reads_.ofPieces.push_back(addRegister(ofSum(column), std::nullopt));
    if (hasPiecesFirst_) addSteps();
    llvm::SmallVector<Bits, 16> lanes, warps, laneDepths;
    for (const Bits column : fragment_.columns(Dim::Lane)) {
      lanes.push_back(placed(column, depthOf));
      laneDepths.push_back(depthPart(column, depthOf));
    }
    for (const Bits column : sums_.columns(Dim::Warp)) warps.push_back(ofSum(column));
    reads_.places = joined({{Dim::Register, registers_}, {Dim::Lane, lanes}, {Dim::Warp, warps}},
                           layout::Sides(like_.outputs()));
    reads_.depths = joined({{Dim::Register, depths_}, {Dim::Lane, laneDepths}},
                           {{Dim::Offset, all - axes_.bitsTogether}});
    return std::move(reads_);
  }

private:
  using Columns = llvm::SmallVector<Bits, 16>;

  static LinearLayout joined(std::initializer_list<std::pair<Dim, Columns>> parts,
                             const layout::Sides &outputs) {
    layout::Sides inputs;
    Columns columns;
    for (const auto &[dim, own] : parts) {
      inputs.push_back({dim, static_cast<std::int32_t>(own.size())});
      columns.append(own);
    }
    return LinearLayout(inputs, outputs, columns);
  }

  /// Whose columns are none is no register of its own.
  std::int32_t addRegister(Bits column, std::optional<Bits> depth) {
    if (depth) depths_.push_back(*depth);
    if (column == 0) return kNoBit;
    registers_.push_back(column);
    return static_cast<std::int32_t>(registers_.size()) - 1;
  }

  /// The bits of k that the tile has.
  std::int32_t bitsOfTile() const { return std::max(depthBits_ - axes_.bitsTogether, 0); }

  Bits atDepth(Bits depth) const {
    return (depth & ((Bits{1} << bitsOfTile()) - 1))
           << like_.outputShift(layout::axisDim(axes_.depth));
  }

  Bits positionsOf(Bits column) const {
    return fragment_.outputPart(column, axes_.depthIsColumn ? Dim::Axis1 : Dim::Axis0);
  }

  Bits depthPart(Bits column, auto depthOf) const {
    const Bits part = positionsOf(column);
    Bits depth = 0;
    for (std::int32_t bit = 0; part >> bit != 0; ++bit)
      if ((part >> bit & 1) != 0) depth |= Bits{1} << depthOf(bit + axes_.firstPosition);
    return depth >> axes_.bitsTogether;
  }

  Bits placed(Bits column, auto depthOf) const {
    const Bits outer = fragment_.outputPart(column, axes_.depthIsColumn ? Dim::Axis0 : Dim::Axis1);
    const Dim axis = layout::axisDim(axes_.outer);
    const Bits inside = outer & ((Bits{1} << like_.outputBits(axis)) - 1);
    return inside << like_.outputShift(axis) | atDepth(depthPart(column, depthOf));
  }

  /// What a step through the sums is on this operand.
  Bits ofSum(Bits column) const {
    Bits packed = 0;
    for (std::int32_t axis = 0; axis < rank_; ++axis)
      if (axis != axes_.depth)
        packed |= sums_.outputPart(column,
                                   layout::axisDim(axis == axes_.outer ? axes_.outerOfSums : axis))
                  << like_.outputShift(layout::axisDim(axis));
    return packed;
  }

  const MmaInstruction &unit_;
  const LinearLayout &sums_;
  OperandAxes axes_;
  LinearLayout fragment_, like_;
  std::int32_t depthBits_, rank_;
  bool hasPiecesFirst_;
  Columns registers_, depths_;
  FragmentReads reads_;
};

} // namespace

FragmentReads fragmentReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                            const DepthCount &depth) {
  return fragmentReads(kernel, dot, operand, depth, kernel.layout(kernel.layoutOf(dot.result())));
}

FragmentReads fragmentReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                            const machine::MmaInstruction &unit) {
  return fragmentReads(kernel, dot, operand,
                       {.unit = unit,
                        .bits = layout::bitsFor(ir::depthOf(kernel, dot)),
                        .order = ir::unitAttrs(dot).depthOrder});
}

FragmentReads fragmentReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                            const DepthCount &depth, const LinearLayout &sums) {
  return ReadBuilder(kernel, dot, operand, depth, sums)
      .build(depth.order, sumBitsOf(kernel, dot, depth.unit).firstOfPieces);
}

std::int64_t instructionsTogether(const ir::Kernel &kernel, const ir::Op &dot,
                                  const machine::MmaInstruction &unit) {
  const machine::KeepsF32 keeps = machine::keepsF32(unit.sumRules);
  if (keeps == machine::KeepsF32::Yes || !ir::isNarrowFloat(ir::elementOf(kernel, dot, 0)))
    return 0;
  const bool isScaled = dot.kind == ir::OpKind::DotScaled;
  const std::int32_t every = isScaled ? 0 : dot.attrs<ir::DotAttrs>().promoteEvery;
  if (every == 0 && keeps == machine::KeepsF32::Said) return 0;
  return std::max<std::int64_t>(every / unit.k, 1);
}

} // namespace imbrex::analysis
