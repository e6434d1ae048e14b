#include "backend/passes/units/choose_units.h"

#include "backend/analysis/matrix_product.h"
#include "backend/analysis/operand_sources.h"
#include "backend/ir/builder.h"
#include "backend/ir/products.h"
#include "backend/passes/expand/scaled_operand.h"
#include "backend/passes/units/unit_warps.h"
#include "backend/support/text.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace imbrex::passes {
namespace {

using namespace ir;
using namespace units;
using machine::MmaInstruction;

/// What an element of an operand costs each warp that has it: several instructions where it is
/// computed from others, for its fragments are computed where they are multiplied.
std::int64_t weightOf(const Kernel &kernel, ValueId operand) {
  constexpr std::int64_t kComputed = 4;
  return analysis::bitsOfSources(kernel, operand) > 0 ? kComputed : 1;
}

std::optional<Product> productOf(const Kernel &kernel, Op &dot, const PassContext &context) {
  const ProductShape shape = shapeOf(kernel, dot);
  for (const Elements &elements : waysOf(kernel, dot)) {
    const auto rows = exactInstructionsFor(context.machine, kernel, dot, elements);
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

std::string explained(const Product &product, const Grid &grid) {
  const Op &op = *product.op;
  const MmaInstruction &unit = *product.unit;
  const auto [made, instructions] = costOf(product.shape, unit, false);
  const std::int64_t wanted = product.shape.multiplications();
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
  findSharing(kernel, products);
  const std::int32_t warps = warpsFor(kernel, products, context.machine);
  for (Product &product : products) makePiecesForAllWarps(product, warps);
  UnitWriter(kernel, context, products, warps).writeIn(kernel.body());
}

} // namespace imbrex::passes
