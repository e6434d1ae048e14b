#include "backend/passes/choose_units.h"

#include "backend/analysis/matrix_product.h"
#include "backend/analysis/operand_sources.h"
#include "backend/ir/builder.h"
#include "backend/ir/products.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/expand/scaled_operand.h"
#include "backend/passes/layouts/layout_plan.h"
#include "backend/passes/unit_registers.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace imbrex::passes {
namespace {

using namespace ir;
using machine::MmaInstruction;

std::int64_t roundedUp(std::int64_t extent) {
  return static_cast<std::int64_t>(llvm::PowerOf2Ceil(static_cast<std::uint64_t>(extent)));
}

/// The extents of a product; of batches as many.
struct ProductShape {
  std::int64_t m, n, k, batches;
};

ProductShape shapeOf(const Kernel &kernel, const Op &dot) {
  const Shape &c = kernel.type(dot.result()).shape();
  const std::int32_t rank = c.rank();
  return {c[rank - 2], c[rank - 1], depthOf(kernel, dot),
          llvm::product_of(c.extents().drop_back(2))};
}

// --- what may be: instructions for the elements ---

/// The elements of a product's operands, as a unit would take them, and with which scales.
struct Elements {
  ElementKind a, b;
  Precision precision = Precision::Ieee;
  machine::BlockScale scale = {};
};

/// The instructions of a machine for these elements and sums, which lie as the machine's do: those
/// of a machine all lie along rows, or all along columns and are transposed.
llvm::SmallVector<const MmaInstruction *, 8> instructionsFor(const machine::Machine &machine,
                                                             const Kernel &kernel, const Op &dot,
                                                             Elements elements) {
  llvm::SmallVector<const MmaInstruction *, 8> found;
  const auto sums = analysis::matrixElementOf(kernel.type(dot.result()).element(), Precision::Ieee);
  const auto a = analysis::matrixElementOf(elements.a, elements.precision),
             b = analysis::matrixElementOf(elements.b, elements.precision);
  if (!a || !b || !sums) return found;
  for (const MmaInstruction *row : mmaInstructionsOf(machine)) {
    const bool isTransposed = machine::isBestTransposed(*row);
    if (row->a == (isTransposed ? *b : *a) && row->b == (isTransposed ? *a : *b) &&
        row->sums == *sums && row->scale == elements.scale &&
        machine::lanesOf(*row) == machine.warpSize)
      found.push_back(row);
  }
  return found;
}

// --- what is best ---

/// What a product costs by an instruction: cycles of one unit, or multiplications where cycles are
/// not known; and instructions.
using UnitCost = std::tuple<std::int64_t, std::int64_t>;

UnitCost costOf(const ProductShape &shape, const MmaInstruction &row, bool knowsCycles) {
  const bool isTransposed = machine::isBestTransposed(row);
  const std::int64_t m = isTransposed ? shape.n : shape.m, n = isTransposed ? shape.m : shape.n;
  const auto count = [](std::int64_t extent, std::int64_t each) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(llvm::divideCeil(extent, each)), 1);
  };
  const std::int64_t instructions =
      count(m, row.m) * count(n, row.n) * count(shape.k, row.k) * shape.batches;
  const std::int64_t each = knowsCycles ? row.cycles : std::int64_t{row.m} * row.n * row.k;
  return {instructions * each, instructions};
}

const MmaInstruction *cheapestOf(llvm::ArrayRef<const MmaInstruction *> rows,
                                 const ProductShape &shape) {
  const bool knowsCycles =
      llvm::none_of(rows, [](const MmaInstruction *row) { return row->cycles == 0; });
  const MmaInstruction *best = nullptr;
  for (const MmaInstruction *row : rows)
    if (!best || costOf(shape, *row, knowsCycles) < costOf(shape, *best, knowsCycles)) best = row;
  return best;
}

/// Of the multiplications of an instruction so few may be wanted that multiply-adds are as good: a
/// unit does some sixteen in the time that these take for one.
constexpr std::int64_t kMostWaste = 16;

bool isWorthwhile(const ProductShape &shape, const MmaInstruction &row) {
  const auto [made, instructions] = costOf(shape, row, false);
  return made <= kMostWaste * shape.m * shape.n * shape.k * shape.batches;
}

// --- the warps ---

/// Products that share tiles in registers.
enum class Sharing : std::uint8_t { None, Rows, Columns };

struct Product {
  Op *op;
  llvm::SmallVector<const MmaInstruction *, 8> units; ///< That may make it.
  const MmaInstruction *unit;                         ///< That does.
  Shape result;
  ProductShape shape;
  Elements elements;                            ///< As the unit takes them.
  std::array<std::int64_t, 2> weights = {1, 1}; ///< Of an element of either operand.
  Sharing sharing = Sharing::None;
};

// Elements of the sums that a warp has, where there are enough: 64 x 64, of which a thread of 32
// lanes has 128 registers.
constexpr std::int64_t kSumsOfWarp = 64 * 64;
constexpr std::int32_t kLeastWarps = 4;

std::int64_t paddedSums(const ProductShape &shape) {
  return roundedUp(shape.m) * roundedUp(shape.n) * roundedUp(shape.batches);
}

/// Pieces of a product's result along an axis of it.
std::int64_t piecesAlong(std::int64_t extent, std::int64_t piece) {
  return std::max<std::int64_t>(roundedUp(extent) / piece, 1);
}

/// Along the rows and the columns of the result.
std::pair<std::int64_t, std::int64_t> piecesOf(const Product &product) {
  const MmaInstruction &unit = *product.unit;
  const bool isTransposed = machine::isBestTransposed(unit);
  return {piecesAlong(product.shape.m, isTransposed ? unit.n : unit.m),
          piecesAlong(product.shape.n, isTransposed ? unit.m : unit.n)};
}

/// As many warps as have sums enough.
std::int32_t warpsBySums(const Kernel &kernel, llvm::ArrayRef<Product> products,
                         const machine::Machine &machine) {
  std::int64_t most = 1, shared = 0, pieces = 1;
  for (const Product &product : products) {
    // Where both operands are computed, their registers are as many as the sums'.
    const bool isCrowded = product.weights[0] > 1 && product.weights[1] > 1;
    most = std::max(most, paddedSums(product.shape) * (isCrowded ? 2 : 1));
    const auto [rows, columns] = piecesOf(product);
    pieces = std::max(pieces, rows * columns * product.shape.batches);
    if (product.sharing != Sharing::None) shared += paddedSums(product.shape);
  }
  const std::int64_t wanted =
      std::max(std::max(most, shared) / kSumsOfWarp, layouts::leastWarps(kernel, machine));
  const std::int64_t least = std::min<std::int64_t>(kLeastWarps, pieces);
  const std::int64_t limit = machine.maxThreads / machine.warpSize;
  return static_cast<std::int32_t>(
      roundedUp(std::clamp<std::int64_t>(wanted, least, std::max(limit, least))));
}

using Grid = llvm::SmallVector<std::int64_t, 5>;

/// Batches to as many of the warps as there are.
std::int64_t giveBatches(Grid &grid, const Shape &shape, std::int64_t warps) {
  for (std::int32_t axis = 0; axis < shape.rank() - 2 && warps > 1; ++axis) {
    const std::int64_t own = std::min(roundedUp(shape[axis]), warps);
    grid[static_cast<std::size_t>(axis)] = own;
    warps /= own;
  }
  return warps;
}

/// What an element of an operand costs each warp that has it: several instructions where it is
/// computed from others, for its fragments are computed where they are multiplied.
std::int64_t weightOf(const Kernel &kernel, ValueId operand) {
  constexpr std::int64_t kComputed = 4;
  return analysis::bitsOfSources(kernel, operand) > 0 ? kComputed : 1;
}

/// The warps along each axis of a product's result: as many at work as can be, and then with the
/// smallest operands.
Grid gridFor(const Product &product, std::int32_t warps) {
  const ProductShape &shape = product.shape;
  const auto [rows, columns] = piecesOf(product);
  Grid grid(static_cast<std::size_t>(product.result.rank()), 1);
  const std::int64_t left = giveBatches(grid, product.result, warps);
  std::optional<std::tuple<std::int64_t, std::int64_t>> least; // idle warps, operands' elements
  for (std::int64_t along = 1; along <= left; along *= 2) {
    const std::int64_t across = left / along;
    const bool isSplit = (product.sharing == Sharing::Rows && across > 1 && rows >= left) ||
                         (product.sharing == Sharing::Columns && along > 1 && columns >= left);
    const std::int64_t busyRows = std::min(along, rows), busyColumns = std::min(across, columns);
    const std::tuple cost{left - busyRows * busyColumns,
                          product.weights[0] * shape.m / busyRows +
                              product.weights[1] * shape.n / busyColumns};
    if (isSplit || (least && cost >= *least)) continue;
    least = cost;
    grid[grid.size() - 2] = along;
    grid[grid.size() - 1] = across;
  }
  return grid;
}

// --- warps, by registers ---

WarpProduct sharedBy(const Product &product, std::int32_t warps) {
  const Grid grid = gridFor(product, warps);
  const auto [rows, columns] = piecesOf(product);
  const auto ofWarp = [](std::int64_t pieces, std::int64_t along) {
    return static_cast<std::int64_t>(llvm::divideCeil(pieces, along));
  };
  std::int64_t batches = product.shape.batches;
  for (const std::int64_t along : llvm::ArrayRef(grid).drop_back(2)) batches /= along;
  return {.dot = product.op,
          .unit = product.unit,
          .pieces = {ofWarp(rows, grid[grid.size() - 2]) * std::max<std::int64_t>(batches, 1),
                     ofWarp(columns, grid.back())},
          .steps = ofWarp(product.shape.k, product.unit->k),
          .isBesideOthers = product.sharing != Sharing::None,
          .keepsOperands =
              product.sharing == Sharing::Rows ? grid.back() == 1 : grid[grid.size() - 2] == 1};
}

/// How many registers a thread lacks with so many warps; 0: none.
std::int64_t missingRegisters(const Kernel &kernel, llvm::ArrayRef<Product> products,
                              const machine::Machine &machine, std::int32_t warps) {
  llvm::SmallVector<WarpProduct, 4> shared;
  for (const Product &product : products) shared.push_back(sharedBy(product, warps));
  const std::int64_t most = machine::registersOfThread(machine, warps * machine.warpSize);
  return std::max<std::int64_t>(registersWanted(kernel, machine, shared, warps) - most, 0);
}

/// Doubles the warps as long as a thread then lacks fewer registers.
std::int32_t warpsFor(const Kernel &kernel, llvm::ArrayRef<Product> products,
                      const machine::Machine &machine) {
  if (kernel.attributes().warps > 0) return kernel.attributes().warps;
  const std::int32_t most = layouts::mostWarps(kernel, machine);
  std::int32_t warps = std::min(warpsBySums(kernel, products, machine), most);
  std::int64_t missing = missingRegisters(kernel, products, machine, warps);
  while (missing > 0 && 2 * warps <= most) {
    const std::int64_t then = missingRegisters(kernel, products, machine, 2 * warps);
    if (then >= missing) break;
    missing = then;
    warps *= 2;
  }
  return warps;
}

// --- products that follow each other ---

/// Whether each element of the op's results is made of those of its operands at the same place.
bool staysInPlace(const Op &op) {
  // Not a switch: all other rules are of ops that move elements, or make some of nothing.
  const TypeRule rule = info(op.kind).typeRule;
  return rule == TypeRule::SameAsOperands || rule == TypeRule::Select || rule == TypeRule::Cast;
}

class SharingFinder {
public:
  SharingFinder(const Kernel &kernel, std::vector<Product> &products)
      : kernel_(kernel), products_(products) {
    for (Product &product : products) of_[product.op] = &product;
  }

  void find() {
    for (Product &product : products_)
      for (const std::size_t i : {0, 1}) {
        seen_.clear();
        share(product.op->operand(i), product, i == 0 ? Sharing::Rows : Sharing::Columns);
      }
  }

private:
  /// Both products, where the value is made of another's sums.
  void share(ValueId value, Product &product, Sharing sharing) {
    Op *const op = kernel_.definition(value);
    if (!op || !seen_.insert(op).second) return;
    if (const auto other = of_.find(op); other != of_.end()) {
      product.sharing = other->second->sharing = sharing;
      return;
    }
    if (!staysInPlace(*op)) return;
    for (const ValueId operand : op->operands)
      if (kernel_.type(operand).rank() > 0) share(operand, product, sharing);
  }

  const Kernel &kernel_;
  std::vector<Product> &products_; // in the order of the kernel, and not of addresses
  std::map<const Op *, Product *> of_;
  std::set<const Op *> seen_;
};

/// All warps can be along the axis that two products share only if there are pieces for each: where
/// there are not, of the instructions with smaller pieces the cheapest is taken.
void makePiecesForWarps(Product &product) {
  if (product.sharing == Sharing::None) return;
  llvm::SmallVector<const MmaInstruction *, 8> fitting;
  for (const MmaInstruction *unit : product.units) {
    Product with = product;
    with.unit = unit;
    const auto [rows, columns] = piecesOf(with);
    if ((product.sharing == Sharing::Rows ? rows : columns) >= kLeastWarps) fitting.push_back(unit);
  }
  if (!fitting.empty()) product.unit = cheapestOf(fitting, product.shape);
}

/// What a product costs the warp that makes most of it: all of them together, by those at work.
UnitCost costOfWarp(const Product &product, const MmaInstruction &unit, std::int32_t warps,
                    bool knowsCycles) {
  Product with = product;
  with.unit = &unit;
  const Grid grid = gridFor(with, warps);
  const auto [rows, columns] = piecesOf(with);
  std::int64_t atWork = std::min(grid[grid.size() - 2], rows) * std::min(grid.back(), columns);
  for (const std::int64_t along : llvm::ArrayRef(grid).drop_back(2)) atWork *= along;
  const auto [all, instructions] = costOf(product.shape, unit, knowsCycles);
  return {llvm::divideCeilSigned(all, atWork), llvm::divideCeilSigned(instructions, atWork)};
}

/// Warps without a piece of their own would make that of another once more: where smaller pieces
/// take a warp less time, these are taken.
void makePiecesForAllWarps(Product &product, std::int32_t warps) {
  if (product.sharing != Sharing::None) return; // makePiecesForWarps has
  const bool knowsCycles =
      llvm::none_of(product.units, [](const MmaInstruction *unit) { return unit->cycles == 0; });
  UnitCost least = costOfWarp(product, *product.unit, warps, knowsCycles);
  for (const MmaInstruction *unit : product.units) {
    const UnitCost cost = costOfWarp(product, *unit, warps, knowsCycles);
    if (std::get<0>(cost) >= std::get<0>(least)) continue;
    least = cost;
    product.unit = unit;
  }
}

// --- doing it ---

bool isNarrowOr(ElementKind element, ElementKind other) {
  return isNarrowFloat(element) || element == other;
}

/// Of a scaled product, the cheapest first; all are exact, as far as ranges go. Elements of 4 and 8
/// bits have no more than bf16 has, also times their scales; all have no more than tf32.
llvm::SmallVector<Elements, 4> scaledWays(const Kernel &kernel, const Op &dot) {
  const ElementKind a = elementOf(kernel, dot, 0), b = elementOf(kernel, dot, 1);
  const bool hasScales = scaleOf(dot, 0) || scaleOf(dot, 1);
  const auto asF8 = [](ElementKind element) {
    return element == ElementKind::F4E2M1 ? ElementKind::F8E4M3FN : element;
  };
  llvm::SmallVector<Elements, 4> ways;
  if (isNarrowFloat(a) && isNarrowFloat(b)) {
    const auto scale = analysis::blockScaleOf(kernel, dot);
    if (scale && (hasScales || a != asF8(a) || b != asF8(b)))
      ways.push_back({.a = a, .b = b, .scale = *scale});
    if (!hasScales) ways.push_back({.a = asF8(a), .b = asF8(b)});
  }
  for (const ElementKind element : {ElementKind::F16, ElementKind::BF16})
    if (isNarrowOr(a, element) && isNarrowOr(b, element) &&
        (element == ElementKind::BF16 || !hasScales))
      ways.push_back({.a = element, .b = element});
  for (const Precision precision : {Precision::Tf32, Precision::Ieee})
    ways.push_back({.a = ElementKind::F32, .b = ElementKind::F32, .precision = precision});
  return ways;
}

/// What a product's operands are to be for a unit: as they are, or cast to f16 or bf16, each of
/// which has all that a float of 8 bits has.
llvm::SmallVector<Elements, 4> waysOf(const Kernel &kernel, const Op &dot) {
  if (dot.kind == OpKind::DotScaled) return scaledWays(kernel, dot);
  const Elements own{.a = elementOf(kernel, dot, 0),
                     .b = elementOf(kernel, dot, 1),
                     .precision = dot.attrs<DotAttrs>().precision};
  llvm::SmallVector<Elements, 4> ways{own};
  if (isNarrowFloat(own.a) && isNarrowFloat(own.b))
    for (const ElementKind element : {ElementKind::F16, ElementKind::BF16})
      ways.push_back({.a = element, .b = element});
  return ways;
}

/// Whether a unit that takes one element for another loses some: those that are subnormal there,
/// where it flushes them.
bool loses(const MmaInstruction &unit, ElementKind own, ElementKind cast) {
  if (own == cast || !unit.sumRules.flushesSubnormals || !isNarrowFloat(own)) return false;
  return llvm::APFloat::getSmallest(floatFormat(own)).convertToDouble() <
         llvm::APFloat::getSmallestNormalized(floatFormat(cast)).convertToDouble();
}

std::optional<Product> productOf(const Kernel &kernel, Op &dot, const PassContext &context) {
  const ProductShape shape = shapeOf(kernel, dot);
  for (const Elements &elements : waysOf(kernel, dot)) {
    auto rows = instructionsFor(context.machine, kernel, dot, elements);
    llvm::erase_if(rows, [&](const MmaInstruction *unit) {
      return loses(*unit, elementOf(kernel, dot, 0), elements.a) ||
             loses(*unit, elementOf(kernel, dot, 1), elements.b);
    });
    if (rows.empty()) continue;
    const MmaInstruction *unit = cheapestOf(rows, shape);
    if (!isWorthwhile(shape, *unit)) return std::nullopt;
    return Product{.op = &dot,
                   .units = rows,
                   .unit = unit,
                   .result = kernel.type(dot.result()).shape(),
                   .shape = shape,
                   .elements = elements,
                   .weights = {weightOf(kernel, dot.operand(0)), weightOf(kernel, dot.operand(1))}};
  }
  return std::nullopt;
}

std::string nameOf(const Op &op) {
  return "'" + std::string(info(op.kind).mnemonic) + "' at " + toText(op.where);
}

/// Why a product stays one by multiply-adds, and what would change that.
std::string whyNoUnit(const Kernel &kernel, const Op &dot, const machine::Machine &machine) {
  const ProductShape shape = shapeOf(kernel, dot);
  for (const Elements &elements : waysOf(kernel, dot)) {
    const auto rows = instructionsFor(machine, kernel, dot, elements);
    if (rows.empty()) continue;
    const MmaInstruction *unit = cheapestOf(rows, shape);
    if (!isWorthwhile(shape, *unit))
      return "of " + std::string(unit->intrinsic) + " one multiplication in " +
             std::to_string(std::get<0>(costOf(shape, *unit, false)) /
                            (shape.m * shape.n * shape.k * shape.batches)) +
             " would be wanted; tiles of more rows or columns would use it";
  }
  const ElementKind a = elementOf(kernel, dot, 0), b = elementOf(kernel, dot, 1),
                    sums = kernel.type(dot.result()).element();
  std::string why = "no matrix instruction of " + std::string(machine.name) + " multiplies " +
                    std::string(info(a).name) + " by " + std::string(info(b).name) + " onto " +
                    std::string(info(sums).name);
  if (a == ElementKind::F32 && b == a && dot.kind == OpKind::Dot) {
    const auto makes = [&](ElementKind element, Precision precision) {
      return !instructionsFor(machine, kernel, dot, {element, element, precision}).empty();
    };
    if (makes(ElementKind::F32, Precision::Tf32))
      why += "; with precision tf32 or tf32x3 one does";
    else if (makes(ElementKind::BF16, Precision::Ieee) && machine::hasBf16Op(machine, "cast"))
      why += "; with precision bf16x3 one does"; // as split-products decides
  }
  return why;
}

std::string explained(const Product &product, const Grid &grid) {
  const Op &op = *product.op;
  const MmaInstruction &unit = *product.unit;
  const auto [made, instructions] = costOf(product.shape, unit, false);
  const std::int64_t wanted =
      product.shape.m * product.shape.n * product.shape.k * product.shape.batches;
  std::string text = nameOf(op) + ": " + std::string(unit.intrinsic) + ", " +
                     std::to_string(unit.m) + " x " + std::to_string(unit.n) + " x " +
                     std::to_string(unit.k) + ", " + std::to_string(instructions) +
                     " times by warps [" + joined(grid) + "]";
  if (unit.cycles > 0)
    text += ", " + std::to_string(instructions * unit.cycles) + " cycles of a unit";
  if (made > wanted)
    text += "; " + std::to_string(100 - 100 * wanted / made) + " % of it is padding";
  return text + "\n";
}

class UnitWriter {
public:
  UnitWriter(Kernel &kernel, const PassContext &context, const std::vector<Product> &products,
             std::int32_t warps)
      : kernel_(kernel), context_(context), warps_(warps) {
    for (const Product &product : products) of_[product.op] = &product;
  }

  void writeIn(Block &block) {
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    for (auto &op : ops) {
      for (Block &region : op->regions) writeIn(region);
      if (const auto product = of_.find(op.get()); product != of_.end())
        write(block, *product->second);
      block.ops.push_back(std::move(op));
    }
  }

private:
  void write(Block &block, const Product &product) {
    Op &op = *product.op;
    if (op.kind == OpKind::DotScaled && product.elements.scale.k != 0)
      packOperands(block, op);
    else if (op.kind == OpKind::DotScaled)
      scaleOperands(block, op, product.elements);
    UnitAttrs &attrs = unitAttrs(op);
    attrs.unit = product.unit->intrinsic;
    attrs.transposed = machine::isBestTransposed(*product.unit);
    const Grid grid = gridFor(product, warps_);
    attrs.warps.assign(grid.begin(), grid.end());
    if (op.kind == OpKind::Dot) {
      castOperand(block, op, 0, product.elements.a);
      castOperand(block, op, 1, product.elements.b);
    }
    if (context_.explanation) *context_.explanation += explained(product, grid);
  }

  /// Units take f4e2m1 with neighbours along k in a byte.
  void packOperands(Block &block, Op &op) {
    Builder build(kernel_, block);
    build.setLocation(op.where);
    for (const std::size_t i : {0, 1})
      if (kernel_.type(op.operand(i)).element() == ElementKind::F4E2M1)
        op.operands[i] = expand::packedOperand(build, op, i);
  }

  /// A scaled product as a plain one of what its operands are with their scales.
  void scaleOperands(Block &block, Op &op, const Elements &elements) {
    Builder build(kernel_, block);
    build.setLocation(op.where);
    const ValueId a = expand::scaledOperand(build, op, 0, elements.a),
                  b = expand::scaledOperand(build, op, 1, elements.b);
    op.kind = OpKind::Dot;
    op.operands = {a, b, op.operand(2)};
    DotAttrs attrs;
    attrs.precision = elements.precision;
    op.attributes = attrs;
  }

  void castOperand(Block &block, Op &op, std::size_t i, ElementKind element) {
    if (kernel_.type(op.operand(i)).element() == element) return;
    Builder build(kernel_, block);
    build.setLocation(op.where);
    op.operands[i] = build.cast(op.operand(i), element);
    op.attrs<DotAttrs>().promoteEvery = 0; // of f16, which sums in f32
  }

  Kernel &kernel_;
  const PassContext &context_;
  std::int32_t warps_;
  std::map<const Op *, const Product *> of_;
};

} // namespace

const MmaInstruction *unitFor(const Kernel &kernel, const Op &dot, const UnitElements &elements,
                              const machine::Machine &machine) {
  const auto rows = instructionsFor(
      machine, kernel, dot,
      {.a = elements.element, .b = elements.element, .precision = elements.precision});
  if (rows.empty()) return nullptr;
  const ProductShape shape = shapeOf(kernel, dot);
  const MmaInstruction *unit = cheapestOf(rows, shape);
  return isWorthwhile(shape, *unit) ? unit : nullptr;
}

void chooseUnits(Kernel &kernel, const PassContext &context) {
  std::vector<Product> products;
  walk(kernel.body(), [&](Op &op) {
    if (!isProduct(op) || isOnUnit(op)) return; // a file may have chosen
    if (auto product = productOf(kernel, op, context))
      products.push_back(std::move(*product));
    else if (context.explanation)
      *context.explanation +=
          nameOf(op) + ": multiply-adds; " + whyNoUnit(kernel, op, context.machine) + "\n";
  });
  if (products.empty()) return;
  SharingFinder(kernel, products).find();
  for (Product &product : products) makePiecesForWarps(product);
  const std::int32_t warps = warpsFor(kernel, products, context.machine);
  for (Product &product : products) makePiecesForAllWarps(product, warps);
  UnitWriter(kernel, context, products, warps).writeIn(kernel.body());
}

} // namespace imbrex::passes
