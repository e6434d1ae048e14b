#include "backend/analysis/axis_info.h"

#include "backend/analysis/algebra.h"
#include "backend/analysis/axis_facts.h"
#include "backend/analysis/non_negative.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::analysis {
namespace {

using namespace ir;
using facts::kMost;

/// Runs over a kernel in order. What a loop carries is assumed to stay as it comes in, until a body
/// shows otherwise: facts only get fewer, so that this ends.
class Analyser {
public:
  Analyser(const Kernel &kernel, const Assumptions &assumptions, std::vector<AxisInfo> &info)
      : kernel_(kernel), assumptions_(assumptions), info_(info), nonNegative_(kernel, assumptions) {
    for (size_t i = 0; i < kernel.parameterCount(); ++i)
      set(kernel.body().arguments[i], ofParameter(i));
    run(kernel.body());
  }

private:
  void set(ValueId value, AxisInfo info) { info_[value.index()] = std::move(info); }
  const AxisInfo &of(ValueId value) const { return info_[value.index()]; }
  const Shape &shape(ValueId value) const { return kernel_.type(value).shape(); }

  AxisInfo ofParameter(size_t i) const {
    const ParameterAssumptions parameter = assumptions_.of(i);
    const Type &type = kernel_.parameterType(i);
    const bool isNumber = type.isTile() && !isInteger(type.element());
    return facts::ofScalar(parameter.isDivisible && !isNumber ? ParameterAssumptions::kDivisor : 1);
  }

  void run(const Block &block) {
    for (const auto &op : block.ops) {
      if (op->kind == OpKind::For || op->kind == OpKind::While)
        runLoop(*op);
      else if (op->kind == OpKind::If || op->kind == OpKind::Roles)
        runBodies(*op);
      else
        runSimple(*op);
    }
  }

  /// What a loop carries keeps the facts that hold of what its body yields, too; whether it lost
  /// some.
  bool meet(const Op &loop, const Block &body, size_t first, const Op &from) {
    bool isLess = false;
    for (size_t slot = 0; slot < loop.results.size(); ++slot) {
      AxisInfo &carried = info_[body.arguments[first + slot].index()];
      AxisInfo met = facts::meet(carried, of(from.operand(slot)), kernel_.type(from.operand(slot)));
      isLess |= met != carried;
      carried = std::move(met);
    }
    return isLess;
  }

  AxisInfo meet(ValueId a, ValueId b) const { return facts::meet(of(a), of(b), kernel_.type(a)); }

  /// A loop inside a loop is met again with fewer facts: it goes on from what it knew, so that the
  /// work does not double with each level.
  void enter(ValueId carried, ValueId initial) {
    set(carried, of(carried).empty() ? of(initial) : meet(carried, initial));
  }

  void runLoop(const Op &op) {
    const bool isFor = op.kind == OpKind::For;
    const Block &body = op.regions.front();
    const size_t first = isFor ? 1 : 0, initial = isFor ? 3 : 0;
    if (isFor) set(body.arguments[0], meet(op.operand(0), op.operand(2)));
    for (size_t slot = 0; slot < op.results.size(); ++slot)
      enter(body.arguments[first + slot], op.operand(initial + slot));
    llvm::SmallVector<const Op *, 2> leaves;
    collectLeaves(body, leaves);
    do run(body);
    while (meet(op, body, first, *body.ops.back()));
    for (size_t slot = 0; slot < op.results.size(); ++slot) {
      AxisInfo result = of(body.arguments[first + slot]);
      for (const Op *leave : leaves)
        result = facts::meet(result, of(leave->operand(1 + slot)), kernel_.type(op.result(slot)));
      set(op.result(slot), std::move(result));
    }
  }

  /// The break_ifs that leave the loop of this body.
  static void collectLeaves(const Block &body, llvm::SmallVectorImpl<const Op *> &leaves) {
    for (const auto &op : body.ops) {
      if (op->kind == OpKind::BreakIf) leaves.push_back(op.get());
      if (op->kind == OpKind::If)
        for (const Block &region : op->regions) collectLeaves(region, leaves);
    }
  }

  /// Of which a thread runs one.
  void runBodies(const Op &op) {
    for (const Block &region : op.regions) run(region);
    for (size_t slot = 0; slot < op.results.size(); ++slot)
      set(op.result(slot),
          meet(op.regions[0].ops.back()->operand(slot), op.regions[1].ops.back()->operand(slot)));
  }

  void runSimple(const Op &op) {
    if (isElementwise(op.kind) || op.kind == OpKind::PointerAdd || op.kind == OpKind::Cast)
      set(op.result(), elementwise(op));
    else
      for (size_t i = 0; i < op.results.size(); ++i) set(op.result(i), other(op, op.result(i)));
  }

  AxisInfo elementwise(const Op &op) const {
    AxisInfo result = facts::unknown(shape(op.result()));
    llvm::SmallVector<facts::OperandFacts, 3> operands;
    for (const ValueId value : op.operands)
      operands.push_back(
          {kernel_.type(value), {}, constantInteger(kernel_, value), nonNegative_.contains(value)});
    for (size_t axis = 0; axis < result.size(); ++axis) {
      for (size_t i = 0; i < operands.size(); ++i) operands[i].facts = of(op.operand(i))[axis];
      result[axis] = facts::elementwise(op.kind, kernel_.type(op.result()), operands);
    }
    return result;
  }

  AxisInfo other(const Op &op, ValueId result) const {
    const Shape &shape = this->shape(result);
    // Not a switch: of the other ops only these few keep facts.
    if (op.kind == OpKind::Constant) return ofConstant(result);
    if (op.kind == OpKind::Arange) return facts::arange(op.attrs<ArangeAttrs>(), shape);
    if (op.kind == OpKind::Broadcast)
      return facts::broadcast(of(op.operand(0)), this->shape(op.operand(0)), shape);
    if (op.kind == OpKind::Reshape)
      return facts::reshape(of(op.operand(0)), kernel_.type(op.operand(0)), shape);
    if (op.kind == OpKind::Permute)
      return facts::permute(of(op.operand(0)), op.attrs<PermuteAttrs>().order);
    if (op.kind == OpKind::ConvertLayout) return of(op.operand(0));
    if (op.kind == OpKind::ViewExtent || op.kind == OpKind::ViewStride) return ofView(op);
    if (op.kind == OpKind::ViewData || op.kind == OpKind::TablePointer) return of(op.operand(0));
    return facts::unknown(shape);
  }

  AxisInfo ofConstant(ValueId value) const {
    AxisInfo info = facts::unknown(shape(value));
    const std::int64_t number = constantInteger(kernel_, value).value_or(1);
    for (size_t axis = 0; axis < info.size(); ++axis)
      info[axis] = {.contiguity = 1,
                    .divisibility = facts::divisorOf(number),
                    .constancy = facts::groupOf(shape(value), static_cast<std::int32_t>(axis))};
    return info;
  }

  /// An extent or a stride, in elements, of which the bytes are known to divide.
  AxisInfo ofView(const Op &op) const {
    const Type &view = kernel_.type(op.operand(0));
    const bool isLast = op.attrs<AxisAttrs>().axis == view.rank() - 1;
    const bool divides = assumptions_.of(kernel_, op.operand(0)).hasDivisibleRows &&
                         isLast == (op.kind == OpKind::ViewExtent);
    return facts::ofScalar(divides ? facts::elementsIn(ParameterAssumptions::kDivisor, view) : 1);
  }

  const Kernel &kernel_;
  const Assumptions &assumptions_;
  std::vector<AxisInfo> &info_;
  NonNegative nonNegative_;
};

using Bounds = llvm::SmallVector<WidthBound, 4>;

/// A box of a view has its neighbours on the last axis, if anywhere.
Bounds boxBounds(const Kernel &kernel, const Op &op, const AxisAnalysis &facts,
                 const Assumptions &assumptions) {
  const auto parameter = assumptions.of(kernel, op.operand(0));
  const Type &view = kernel.type(op.operand(0));
  const bool isLoad = op.kind == OpKind::ViewLoad;
  const Type &box = kernel.type(isLoad ? op.result() : op.operand(1));
  const auto last = static_cast<size_t>(view.rank() - 1);
  const ValueId coordinate = op.operand((isLoad ? 1 : 2) + last);
  std::int64_t start = facts::everywhere(facts.of(coordinate), kernel.type(coordinate));
  if (op.attrs<ViewAttrs>().unit == BoxUnit::Tiles)
    start = facts::product(start, box.shape().extents().back());
  const std::int64_t most = facts::elementsIn(ParameterAssumptions::kDivisor, view);
  const std::int64_t rows =
      parameter.hasDivisibleRows ? most : facts::elementsIn(parameter.sharedRowBytes, view);
  // A byte has an address whatever is known of it.
  const std::int64_t address = parameter.isDivisible ? most : facts::elementsIn(1, view);
  return {{WidthLimit::Contiguity, parameter.hasUnitStride ? most : 1},
          {WidthLimit::Alignment, std::min({start, rows, address})},
          // Inside the view or outside: the extent is a multiple of as many.
          {WidthLimit::Mask, rows}};
}

Bounds pointerBounds(const Kernel &kernel, const Op &op, std::int32_t axis,
                     const AxisAnalysis &facts) {
  const ValueId pointers = op.operand(0);
  const AxisFacts &along = facts.of(pointers)[static_cast<size_t>(axis)];
  Bounds bounds{
      {WidthLimit::Contiguity, along.contiguity},
      {WidthLimit::Alignment, facts::elementsIn(along.divisibility, kernel.type(pointers))}};
  const size_t mask = op.kind == OpKind::Load ? 1 : 2;
  if (op.operands.size() > mask)
    bounds.push_back(
        {WidthLimit::Mask, facts.of(op.operand(mask))[static_cast<size_t>(axis)].constancy});
  return bounds;
}

} // namespace

AxisAnalysis::AxisAnalysis(const Kernel &kernel, const Assumptions &assumptions)
    : info_(kernel.valueCount()) {
  const Analyser analyser(kernel, assumptions, info_);
}

WidthBound accessBound(const Kernel &kernel, const Op &op, std::int32_t axis,
                       const AxisAnalysis &facts, const Assumptions &assumptions) {
  const bool isView = op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore;
  const bool reads = op.kind == OpKind::Load || op.kind == OpKind::ViewLoad;
  const Type &tile = kernel.type(reads ? op.result() : op.operand(1));
  if (tile.rank() == 0) return {WidthLimit::Extent, 1};
  if (isView && axis != tile.rank() - 1) return {WidthLimit::Contiguity, 1};
  Bounds bounds =
      isView ? boxBounds(kernel, op, facts, assumptions) : pointerBounds(kernel, op, axis, facts);
  bounds.push_back({WidthLimit::Extent, facts::divisorOf(tile.shape()[axis])});
  return *std::ranges::min_element(bounds, {}, &WidthBound::elements);
}

} // namespace imbrex::analysis
