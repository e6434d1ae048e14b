#include "backend/passes/units/unit_warps.h"

#include "backend/analysis/matrix_product.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/layouts/layout_plan.h"
#include "backend/passes/units/unit_registers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace imbrex::passes::units {

using namespace ir;
using machine::MmaInstruction;

namespace {

// Elements of the sums that a warp has, where there are enough: 64 x 64, of which a thread of 32
// lanes has 128 registers.
constexpr std::int64_t kSumsOfWarp = 64 * 64;
constexpr std::int32_t kLeastWarps = 4;

std::int64_t roundedUp(std::int64_t extent) {
  return static_cast<std::int64_t>(llvm::PowerOf2Ceil(static_cast<std::uint64_t>(extent)));
}

std::int64_t paddedSums(const ProductShape &shape) {
  return roundedUp(shape.m) * roundedUp(shape.n) * roundedUp(shape.batches);
}

/// Pieces of a product's result along an axis of it.
std::int64_t piecesAlong(std::int64_t extent, std::int64_t piece) {
  return std::max<std::int64_t>(roundedUp(extent) / piece, 1);
}

/// As many warps as have sums enough.
std::int32_t warpsBySums(const Kernel &kernel, llvm::ArrayRef<Product> products,
                         const machine::Machine &machine) {
  std::int64_t most = 1, shared = 0, pieces = 1;
  for (const Product &product : products) {
    // Where both operands are computed, their registers are as many as the sums'.
    const bool isCrowded = product.weights[0] > 1 && product.weights[1] > 1;
    most = std::max(most, paddedSums(product.shape) * (isCrowded ? 2 : 1));
    pieces = std::max(pieces, piecesOf(product.shape, *product.choice().unit).all());
    if (product.sharing != Sharing::None) shared += paddedSums(product.shape);
  }
  const std::int64_t wanted =
      std::max(std::max(most, shared) / kSumsOfWarp, layouts::leastWarps(kernel, machine));
  const std::int64_t least = std::min<std::int64_t>(kLeastWarps, pieces);
  const std::int64_t limit = machine.maxThreads / machine.warpSize;
  return static_cast<std::int32_t>(
      roundedUp(std::clamp<std::int64_t>(wanted, least, std::max(limit, least))));
}

/// Batches to as many of the warps as there are.
std::int64_t giveBatches(Grid &grid, const Shape &shape, std::int64_t warps) {
  for (std::int32_t axis = 0; axis < shape.rank() - 2 && warps > 1; ++axis) {
    const std::int64_t own = std::min(roundedUp(shape[axis]), warps);
    grid[static_cast<std::size_t>(axis)] = own;
    warps /= own;
  }
  return warps;
}

} // namespace

void Product::takeBest() {
  taken = static_cast<std::size_t>(llvm::min_element(candidates, isBetter) - candidates.begin());
}

Pieces piecesOf(const ProductShape &shape, const MmaInstruction &unit) {
  const bool isTransposed = machine::isBestTransposed(unit);
  return {shape.batches, piecesAlong(shape.m, isTransposed ? unit.n : unit.m),
          piecesAlong(shape.n, isTransposed ? unit.m : unit.n)};
}

Grid gridFor(const Product &product, const MmaInstruction &unit, std::int32_t warps) {
  const ProductShape &shape = product.shape;
  const auto [batches, rows, columns] = piecesOf(shape, unit);
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

namespace {

WarpProduct sharedBy(const Product &product, std::int32_t warps) {
  const MmaInstruction *unit = product.choice().unit;
  const Grid grid = gridFor(product, *unit, warps);
  auto [batches, rows, columns] = piecesOf(product.shape, *unit);
  const auto ofWarp = [](std::int64_t pieces, std::int64_t along) {
    return static_cast<std::int64_t>(llvm::divideCeil(pieces, along));
  };
  for (const std::int64_t along : llvm::ArrayRef(grid).drop_back(2)) batches /= along;
  return {.dot = product.op,
          .unit = unit,
          .pieces = {ofWarp(rows, grid[grid.size() - 2]) * std::max<std::int64_t>(batches, 1),
                     ofWarp(columns, grid.back())},
          .steps = ofWarp(product.shape.k, unit->k),
          .isBesideOthers = product.sharing != Sharing::None,
          .keepsOperands =
              product.sharing == Sharing::Rows ? grid.back() == 1 : grid[grid.size() - 2] == 1};
}

} // namespace

WarpTrial trialOf(const Kernel &kernel, llvm::ArrayRef<Product> products,
                  const machine::Machine &machine, std::int32_t warps) {
  llvm::SmallVector<WarpProduct, 4> shared;
  for (const Product &product : products) shared.push_back(sharedBy(product, warps));
  return {.warps = warps,
          .wanted = registersWanted(kernel, machine, shared, warps),
          .had = machine::registersOfThread(machine, warps * machine.warpSize)};
}

/// Doubles the warps as long as a thread then lacks fewer registers.
WarpChoice warpsFor(const Kernel &kernel, llvm::ArrayRef<Product> products,
                    const machine::Machine &machine) {
  if (kernel.attributes().warps > 0) return {.warps = kernel.attributes().warps};
  const std::int32_t most = layouts::mostWarps(kernel, machine);
  WarpTrial trial =
      trialOf(kernel, products, machine, std::min(warpsBySums(kernel, products, machine), most));
  WarpChoice choice{.warps = trial.warps};
  while (trial.missing() > 0 && 2 * trial.warps <= most) {
    const WarpTrial twice = trialOf(kernel, products, machine, 2 * trial.warps);
    if (twice.missing() >= trial.missing()) {
      choice.more = twice;
      break;
    }
    choice.fewer = trial;
    trial = twice;
    choice.warps = trial.warps;
  }
  return choice;
}

// --- products that follow each other ---

namespace {

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
      other->second->givesSums = true;
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
  const std::int32_t way = product.choice().way;
  const auto fits = [&](const Candidate &candidate) {
    const Pieces pieces = piecesOf(product.shape, *candidate.unit);
    return (product.sharing == Sharing::Rows ? pieces.rows : pieces.columns) >= kLeastWarps;
  };
  const auto isRival = [&](const Candidate &candidate) {
    return candidate.refusal == Refusal::None && candidate.way == way;
  };
  if (llvm::none_of(product.candidates, [&](const Candidate &candidate) {
        return isRival(candidate) && fits(candidate);
      }))
    return;
  for (Candidate &candidate : product.candidates)
    if (isRival(candidate) && !fits(candidate)) candidate.refusal = Refusal::TooFewPieces;
  product.takeBest();
}

} // namespace

void findSharing(const Kernel &kernel, std::vector<Product> &products) {
  SharingFinder(kernel, products).find();
  for (Product &product : products) makePiecesForWarps(product);
}

// --- as many pieces as warps ---

UnitAttrs attrsFor(const Product &product, const MmaInstruction &unit, std::int32_t warps) {
  return {.unit = std::string(unit.intrinsic),
          .transposed = machine::isBestTransposed(unit),
          .warps = gridFor(product, unit, warps)};
}

namespace {

/// Whether warps have parts of the sums that others want as an operand.
bool splitsOperand(const Product &product, const MmaInstruction &unit, std::int32_t warps) {
  if (!product.givesSums) return false;
  const Grid grid = gridFor(product, unit, warps);
  const Pieces pieces = piecesOf(product.shape, unit);
  return product.sharing == Sharing::Rows ? std::min(grid.back(), pieces.columns) > 1
                                          : std::min(grid[grid.size() - 2], pieces.rows) > 1;
}

} // namespace

void shareAmong(Product &product, const Kernel &kernel, std::int32_t warps) {
  // Whoever makes the same sums as another warp has them for the other product, too. Else they are
  // stored, and read behind a meeting, which takes about as much as two reads of shared memory.
  constexpr std::int64_t kExchange = 256;
  for (Candidate &candidate : product.candidates) {
    candidate.ofWarp = analysis::instructionsOfWarp(kernel, *product.op, *candidate.unit,
                                                    attrsFor(product, *candidate.unit, warps));
    if (product.sharing != Sharing::None && !candidate.isInCycles) continue; // not to be compared
    candidate.exchange = splitsOperand(product, *candidate.unit, warps) ? kExchange : 0;
    candidate.time = candidate.costOfWarp() + candidate.exchange;
  }
  product.takeBest();
}

} // namespace imbrex::passes::units
