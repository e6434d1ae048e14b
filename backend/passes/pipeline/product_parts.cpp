#include "backend/passes/pipeline/product_parts.h"

#include "backend/analysis/full_registers.h"
#include "backend/analysis/matrix_product.h"
#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::passes::pipeline {

using namespace ir;

namespace {

/// The product's order of k, of a part.
llvm::SmallVector<std::int64_t, 5> orderOf(const Op &dot, std::int64_t depth) {
  const auto order = llvm::ArrayRef(unitAttrs(dot).depthOrder);
  const auto bits = static_cast<std::size_t>(layout::bitsFor(depth));
  return llvm::to_vector<5>(order.take_front(std::min(bits, order.size())));
}

/// How the threads hold so many of k of an operand, as fragments.
layout::LinearLayout fragmentsOf(const Kernel &kernel, const machine::Machine &machine,
                                 const Op &dot, std::size_t operand, std::int64_t depth) {
  const auto order = orderOf(dot, depth);
  return analysis::fragmentReads(kernel, dot, operand,
                                 {.unit = *analysis::unitOf(kernel, dot, machine),
                                  .bits = layout::bitsFor(depth),
                                  .order = order})
      .places;
}

} // namespace

std::optional<SummedProduct> summedProduct(const Kernel &kernel, const machine::Machine &machine,
                                           Op &loop, Op &op,
                                           const std::vector<std::int32_t> &uses) {
  if (op.kind != OpKind::Dot || !isOnUnit(op) || op.operands.size() != 3) return std::nullopt;
  // Sums that go to full ones after so many of k would do so elsewhere in parts.
  const machine::MmaInstruction *unit = analysis::unitOf(kernel, op, machine);
  if (!unit || analysis::instructionsTogether(kernel, op, *unit) != 0) return std::nullopt;
  Block &body = loop.regions[0];
  const auto carried = llvm::ArrayRef(body.arguments).drop_front(firstCarriedArgument(loop));
  const auto *const found = llvm::find(carried, op.operand(2));
  if (found == carried.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(found - carried.begin());
  const bool isAlone = uses[op.operand(2).index()] == 1 && uses[op.result().index()] == 1;
  if (!isAlone || yieldOf(body).operand(i) != op.result()) return std::nullopt;
  return SummedProduct{.loop = &loop, .dot = &op, .sums = i};
}

bool isTakenIn(const Kernel &kernel, const Op &loop, ValueId tile) {
  if (!kernel.type(tile).isShared()) return false;
  const Op &slot = slotOf(kernel, tile);
  return llvm::any_of(loop.regions[0].ops, [&](const auto &op) { return op.get() == &slot; });
}

bool makesParts(std::int64_t depth, std::int64_t parts, std::int64_t least) {
  const std::int64_t part = depth / parts;
  return depth % parts == 0 && part >= least &&
         llvm::has_single_bit(static_cast<std::uint64_t>(part));
}

std::int64_t leastPart(const Kernel &kernel, const machine::Machine &machine, const Op &dot) {
  const auto &order = unitAttrs(dot).depthOrder;
  std::size_t mixed = 0;
  for (std::size_t bit = 0; bit < order.size(); ++bit)
    if (order[bit] != static_cast<std::int64_t>(bit)) mixed = bit + 1;
  const auto &unit = *analysis::unitOf(kernel, dot, machine);
  return std::max<std::int64_t>(unit.k, std::int64_t{1} << mixed);
}

std::int64_t fragmentRegisters(const Kernel &kernel, const machine::Machine &machine, const Op &dot,
                               std::int64_t depth) {
  std::int64_t registers = 0;
  for (const std::size_t i : {0, 1})
    registers +=
        analysis::registersOf(kernel, dot.operand(i), fragmentsOf(kernel, machine, dot, i, depth));
  return registers;
}

std::int64_t carriedRegisters(const Kernel &kernel, const Op &loop) {
  std::int64_t registers = 0;
  for (const ValueId carried :
       llvm::ArrayRef(loop.regions[0].arguments).drop_front(firstCarriedArgument(loop)))
    if (kernel.layoutOf(carried).valid())
      registers += analysis::registersOf(kernel, carried, kernel.layout(kernel.layoutOf(carried)));
  return registers;
}

ValueId ProductParts::slice(Builder &to, std::size_t operand, std::int64_t first,
                            std::int64_t depth) const {
  const ValueId tile = dot_.operand(operand);
  const Shape &shape = kernel_.type(tile).shape();
  const auto axis = static_cast<std::size_t>(depthAxis(kernel_, dot_, operand));
  llvm::SmallVector<std::int64_t, 5> extents(shape.extents());
  SliceAttrs part{.offsets = {}, .strides = {}};
  part.offsets.assign(extents.size(), 0);
  part.strides.assign(extents.size(), 1);
  part.offsets[axis] = first;
  extents[axis] = depth;
  const Type type = Type::tile(kernel_.type(tile).element(), Shape(extents));
  return to.create(OpKind::Slice, {tile}, {Type::shared(type)}, std::move(part)).result();
}

ValueId ProductParts::load(Builder &to, std::size_t operand, std::int64_t first,
                           std::int64_t depth) const {
  const ValueId part = slice(to, operand, first, depth);
  const Type &shared = kernel_.type(part);
  const ValueId tile =
      to.create(OpKind::SharedLoad, {part}, {Type::tile(shared.element(), shared.shape())})
          .result();
  kernel_.setLayout(tile, kernel_.addLayout(fragmentsOf(kernel_, machine_, dot_, operand, depth)));
  return tile;
}

ValueId ProductParts::multiply(Builder &to, const std::array<ValueId, 2> &operands,
                               std::int64_t depth, ValueId sums) const {
  Op &made = to.create(OpKind::Dot, {operands[0], operands[1], sums}, {kernel_.type(sums)},
                       dot_.attributes);
  unitAttrs(made).depthOrder = orderOf(dot_, depth);
  kernel_.setLayout(made.result(), kernel_.layoutOf(sums));
  return made.result();
}

} // namespace imbrex::passes::pipeline
