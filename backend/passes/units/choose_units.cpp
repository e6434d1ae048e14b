#include "backend/passes/units/choose_units.h"

#include "backend/analysis/matrix_product.h"
#include "backend/analysis/operand_sources.h"
#include "backend/ir/builder.h"
#include "backend/ir/products.h"
#include "backend/passes/expand/scaled_operand.h"
#include "backend/passes/units/explain_units.h"
#include "backend/passes/units/unit_warps.h"

#include <map>
#include <memory>
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

/// Of candidates one of which is best.
Product productOf(const Kernel &kernel, Op &dot, Candidates candidates) {
  Product product{.op = &dot,
                  .candidates = std::move(candidates),
                  .result = kernel.type(dot.result()).shape(),
                  .shape = shapeOf(kernel, dot),
                  .weights = {weightOf(kernel, dot.operand(0)), weightOf(kernel, dot.operand(1))}};
  product.takeBest();
  return product;
}

class UnitWriter {
public:
  UnitWriter(Kernel &kernel, const std::vector<Product> &products, std::int32_t warps)
      : kernel_(kernel), warps_(warps) {
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
    const MmaInstruction &unit = *product.choice().unit;
    const Elements &elements = product.choice().elements;
    if (op.kind == OpKind::DotScaled && elements.scale.k != 0)
      packOperands(block, op);
    else if (op.kind == OpKind::DotScaled)
      scaleOperands(block, op, elements);
    unitAttrs(op) = attrsFor(product, unit, warps_);
    if (op.kind == OpKind::Dot) {
      castOperand(block, op, 0, elements.a);
      castOperand(block, op, 1, elements.b);
    }
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
  std::int32_t warps_;
  std::map<const Op *, const Product *> of_;
};

} // namespace

const MmaInstruction *unitFor(const Kernel &kernel, const Op &dot, const UnitElements &elements,
                              const machine::Machine &machine) {
  const Candidates candidates = candidatesFor(
      machine, kernel, dot,
      {.a = elements.element, .b = elements.element, .precision = elements.precision});
  const Candidate *best = bestOf(candidates);
  return best && isWorthwhile(shapeOf(kernel, dot), *best) ? best->unit : nullptr;
}

void chooseUnits(Kernel &kernel, const PassContext &context) {
  std::vector<Product> products;
  walk(kernel.body(), [&](Op &op) {
    if (!isProduct(op) || isOnUnit(op)) return; // a file may have chosen
    Candidates candidates = candidatesFor(context.machine, kernel, op);
    const Candidate *best = bestOf(candidates);
    if (best && isWorthwhile(shapeOf(kernel, op), *best))
      products.push_back(productOf(kernel, op, std::move(candidates)));
    else if (context.explanation)
      *context.explanation += explainNoUnit(kernel, op, context.machine, candidates);
  });
  if (products.empty()) return;
  findSharing(kernel, products);
  const WarpChoice choice = warpsFor(kernel, products, context.machine);
  for (Product &product : products) shareAmong(product, kernel, choice.warps);
  if (context.explanation)
    *context.explanation += explainUnits(kernel, products, choice, context.machine);
  UnitWriter(kernel, products, choice.warps).writeIn(kernel.body());
}

} // namespace imbrex::passes
