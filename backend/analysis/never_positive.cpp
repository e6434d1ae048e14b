#include "backend/analysis/never_positive.h"

namespace imbrex::analysis {
namespace {

using namespace ir;

// How far an expression is followed; none that people write goes so far.
constexpr int kMostSteps = 16;

/// Of each axis of a value, the axis of x along which it follows x's elements. Along those of
/// extent 1, and those that a reduction runs along, all elements stand for all of x's.
constexpr int kAny = -1;
using Axes = llvm::SmallVector<int, 5>;

/// Whether a value, element by element along these axes, is at least x.
class AtLeast {
public:
  AtLeast(const Kernel &kernel, ValueId x) : kernel_(kernel), x_(x) {}

  bool holdsOf(ValueId value) const {
    Axes axes;
    for (int axis = 0; axis < kernel_.type(value).rank(); ++axis) axes.push_back(axis);
    return holds(value, axes, kMostSteps);
  }

private:
  bool holds(ValueId value, const Axes &axes, int steps) const {
    if (value == x_) return isInPlace(axes);
    const Op *op = kernel_.definition(value);
    if (op == nullptr || steps == 0) return false;
    if (op->kind == OpKind::Max || op->kind == OpKind::MaxNan)
      return holds(op->operand(0), axes, steps - 1) || holds(op->operand(1), axes, steps - 1);
    if (op->kind == OpKind::Broadcast) return holdsOfRepeated(*op, axes, steps - 1);
    if (op->kind == OpKind::Reshape) return holdsOfReshaped(*op, axes, steps - 1);
    if (op->kind == OpKind::Reduce) return holdsOfReduced(*op, axes, steps - 1);
    return false;
  }

  bool isInPlace(const Axes &axes) const {
    for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis)
      if (axes[static_cast<std::size_t>(axis)] != axis &&
          axes[static_cast<std::size_t>(axis)] != kAny && kernel_.type(x_).shape()[axis] != 1)
        return false;
    return true;
  }

  bool holdsOfRepeated(const Op &op, Axes axes, int steps) const {
    if (kernel_.type(op.operand(0)).rank() == 0) axes.clear();
    return holds(op.operand(0), axes, steps);
  }

  /// A reshape that only adds and drops axes of extent 1.
  bool holdsOfReshaped(const Op &op, const Axes &axes, int steps) const {
    const Shape &to = kernel_.type(op.result()).shape(),
                &from = kernel_.type(op.operand(0)).shape();
    llvm::SmallVector<int, 5> kept; // of the result's axes, those that are longer
    for (int axis = 0; axis < to.rank(); ++axis)
      if (to[axis] != 1) kept.push_back(axis);
    Axes before;
    std::size_t next = 0;
    for (int axis = 0; axis < from.rank(); ++axis) {
      if (from[axis] == 1) {
        before.push_back(kAny);
        continue;
      }
      if (next == kept.size() || to[kept[next]] != from[axis]) return false;
      before.push_back(axes[static_cast<std::size_t>(kept[next++])]);
    }
    return next == kept.size() && holds(op.operand(0), before, steps);
  }

  bool holdsOfReduced(const Op &op, const Axes &axes, int steps) const {
    const auto &attrs = op.attrs<ReduceAttrs>();
    const bool isLargest = attrs.combine == Combine::Max || attrs.combine == Combine::MaxNan;
    if (!isLargest || op.operands.size() != 1) return false;
    Axes before = axes;
    before.insert(before.begin() + attrs.axis, kAny);
    return holds(op.operand(0), before, steps);
  }

  const Kernel &kernel_;
  ValueId x_;
};

} // namespace

bool isNeverPositive(const Kernel &kernel, ValueId value) {
  const Op *op = kernel.definition(value);
  if (op == nullptr || !isFloat(kernel.type(value).element())) return false;
  if (op->kind == OpKind::Sub) return AtLeast(kernel, op->operand(0)).holdsOf(op->operand(1));
  if (op->kind != OpKind::Neg) return false;
  const Op *of = kernel.definition(op->operand(0));
  return of != nullptr &&
         (of->kind == OpKind::Abs || (of->kind == OpKind::Mul && of->operand(0) == of->operand(1)));
}

} // namespace imbrex::analysis
