#include "backend/target/host/plan/nest_shape.h"

#include "backend/target/host/plan/access.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

namespace imbrex::host {
namespace {

using ir::OpKind;

// A loop body of so many ops is long enough that its own overhead does not show.
constexpr std::int32_t kOpsPerTrip = 32;
constexpr std::int32_t kMostUnrolled = 4;
// A division takes as long as so many others, or is so many (nest/emit_divide.cpp).
constexpr std::int32_t kDivision = 16;

bool isFree(OpKind kind) {
  using Rule = ir::TypeRule;
  constexpr auto kFree = std::to_array({Rule::Constant, Rule::Arange, Rule::GridIndex,
                                        Rule::Broadcast, Rule::Reshape, Rule::Permute});
  return std::ranges::find(kFree, info(kind).typeRule) != kFree.end();
}

} // namespace

std::int32_t innerAxisOf(const ir::Shape &space) {
  std::int32_t axis = std::max(0, space.rank() - 1);
  while (axis > 0 && space[axis] == 1) --axis;
  return axis;
}

llvm::SmallVector<ir::ValueId, 4> operandsOf(const Root &root) {
  switch (root.kind) {
  case Root::Kind::Keep: return {root.value};
  case Root::Kind::Store:
  case Root::Kind::Reduce: return {root.op->operands.begin(), root.op->operands.end()};
  case Root::Kind::Copy: return {};
  }
  return {};
}

bool anyInline(const ir::Kernel &kernel, const LoopPlan &plan, llvm::ArrayRef<ir::ValueId> values,
               const std::function<bool(ir::ValueId, const ir::Op *)> &isSuch) {
  std::set<ir::ValueId> seen;
  std::vector<ir::ValueId> pending(values.begin(), values.end());
  const std::set<ir::ValueId> roots(values.begin(), values.end());
  while (!pending.empty()) {
    const ir::ValueId value = pending.back();
    pending.pop_back();
    if (kernel.type(value).hasExtents() || !seen.insert(value).second) continue;
    const ir::Op *op = kernel.definition(value);
    if (isSuch(value, op)) return true;
    const bool isLeaf =
        !op || kernel.type(value).rank() == 0 || (plan.isKept(value) && !roots.contains(value));
    if (!isLeaf) pending.insert(pending.end(), op->operands.begin(), op->operands.end());
  }
  return false;
}

void forEachInline(const ir::Kernel &kernel, const LoopPlan &plan,
                   llvm::ArrayRef<ir::ValueId> values,
                   const std::function<void(ir::ValueId, const ir::Op *)> &visit) {
  anyInline(kernel, plan, values, [&](ir::ValueId value, const ir::Op *op) {
    visit(value, op);
    return false;
  });
}

bool keepsIndices(const ir::Op &op) {
  using Rule = ir::TypeRule;
  constexpr std::array kRules = {Rule::SameAsOperands, Rule::Comparison, Rule::Cast,
                                 Rule::PointerAdd,     Rule::Select,     Rule::Constant,
                                 Rule::Arange};
  return isLoad(op) || llvm::is_contained(kRules, info(op.kind).typeRule);
}

NestShape shapeOf(const ir::Kernel &kernel, const LoopPlan &plan, const Nest &nest,
                  VectorUnit unit) {
  NestShape shape;
  shape.innerAxis = innerAxisOf(nest.space);
  shape.trips = nest.space.rank() == 0 ? 1 : nest.space[shape.innerAxis];
  // Lanes follow from the widest element that moves or is computed with; addresses do not count.
  std::int32_t bits = 8, ops = 0;
  bool oneByOne = false;
  const auto look = [&](ir::ValueId value, const ir::Op *op) {
    const ir::Type &type = kernel.type(value);
    if (!type.isTile() || type.rank() == 0) return;
    const bool counts = !op || isFloat(type.element()) || op->kind == OpKind::Load ||
                        op->kind == OpKind::ViewLoad || plan.isKept(value);
    if (counts) bits = std::max(bits, storageBits(type.element()));
    if (op && !isFree(op->kind)) ops += isDivision(op->kind) && !plan.isKept(value) ? kDivision : 1;
  };
  for (const Root &root : nest.roots) {
    forEachInline(kernel, plan, operandsOf(root), look);
    if (root.kind == Root::Kind::Store) {
      const ir::Type &stored = kernel.type(root.op->operand(1));
      bits = std::max(bits, storageBits(stored.element()));
      oneByOne |= root.op->kind == OpKind::ViewStore && stored.element() == ir::ElementKind::F4E2M1;
    } else if (root.kind == Root::Kind::Reduce) {
      bits = std::max(bits, 32);
    }
    const BufferId buffer = root.kind == Root::Kind::Copy ? root.from : root.into;
    if (buffer.valid()) {
      const ir::Type &type = plan.buffers[buffer.index()].type;
      bits = std::max(bits, type.isPointerTile() ? 64 : storageBits(type.element()));
    }
  }
  const auto most = static_cast<std::uint64_t>(unit.lanes(bits));
  const std::uint64_t fitting = std::bit_floor(static_cast<std::uint64_t>(shape.trips));
  shape.width = oneByOne ? 1 : static_cast<std::int32_t>(std::min(most, fitting));
  shape.vectorTrips = shape.trips / shape.width;
  while (shape.unroll < kMostUnrolled && shape.vectorTrips % (2 * shape.unroll) == 0 &&
         2 * shape.unroll * std::max(ops, 1) <= kOpsPerTrip)
    shape.unroll *= 2;
  return shape;
}

} // namespace imbrex::host
