#include "backend/lower/memory/unseen_padding.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::lower {

using ir::OpKind;
using ir::ValueId;

namespace {

bool isOfView(const ir::Op &op) {
  return op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore;
}
bool isStore(const ir::Op &op) { return op.kind == OpKind::Store || op.kind == OpKind::ViewStore; }

/// The tile that a load makes or a store takes.
ValueId tileOf(const ir::Op &op) { return isStore(op) ? op.operand(1) : op.result(); }

std::optional<ValueId> maskOf(const ir::Op &op) {
  const std::size_t place = isStore(op) ? 2 : 1;
  return place < op.operands.size() ? std::optional(op.operand(place)) : std::nullopt;
}

/// Whether each element of the result comes from those at its place, and any numbers there will do:
/// LLVM must not be led to divide integers by what is not set.
bool passesOn(const ir::Kernel &kernel, const ir::Op &op) {
  if (isDivision(op.kind) && !isFloat(kernel.type(op.result()).element())) return false;
  if (op.kind == OpKind::Bitcast)
    return kernel.type(op.operand(0)).shape() == kernel.type(op.result()).shape();
  return ir::isElementwise(op.kind) || op.kind == OpKind::Cast;
}

} // namespace

UnseenPadding::UnseenPadding(const ir::Kernel &kernel, const analysis::Assumptions &assumptions)
    : kernel_(kernel), assumptions_(assumptions), observers_(kernel.valueCount()) {
  // Backwards: all that use a value come before its definition.
  std::vector<const ir::Op *> ops;
  ir::walk(kernel.body(), [&](const ir::Op &op) { ops.push_back(&op); });
  for (const ir::Op *op : llvm::reverse(ops)) visit(*op);
}

bool UnseenPadding::contains(const ir::Op &load) const {
  const Observers &observers = observers_[load.result().index()];
  return observers.store && !observers.areOthers && leaveOutTheSame(load, *observers.store);
}

void UnseenPadding::visit(const ir::Op &op) {
  const bool isElementwise = op.results.size() == 1 && passesOn(kernel_, op);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId operand = op.operand(i);
    Observers observers{.areOthers = true};
    if (isStore(op) && i == 1) observers = {.store = &op};
    // A scalar is one number for all elements.
    if (isElementwise && kernel_.layoutOf(operand) == kernel_.layoutOf(op.result()))
      observers = observers_[op.result().index()];
    add(operand, observers);
  }
}

void UnseenPadding::add(ValueId value, Observers more) {
  Observers &known = observers_[value.index()];
  const bool differ = known.store && more.store && !leaveOutTheSame(*known.store, *more.store);
  known.areOthers |= more.areOthers || differ;
  if (!known.store) known.store = more.store;
}

bool UnseenPadding::leaveOutTheSame(const ir::Op &a, const ir::Op &b) const {
  const ValueId tile = tileOf(a), other = tileOf(b);
  if (isOfView(a) != isOfView(b) || kernel_.type(tile).shape() != kernel_.type(other).shape() ||
      kernel_.layoutOf(tile) != kernel_.layoutOf(other))
    return false;
  if (!isOfView(a)) return maskOf(a) && maskOf(a) == maskOf(b);
  if (a.attrs<ir::ViewAttrs>().unit != b.attrs<ir::ViewAttrs>().unit) return false;
  for (std::int32_t axis = 0; axis < kernel_.type(tile).rank(); ++axis) {
    const auto coordinate = [&](const ir::Op &op) {
      return op.operand(static_cast<std::size_t>(axis + (isStore(op) ? 2 : 1)));
    };
    if (coordinate(a) != coordinate(b) ||
        firstLike(a.operand(0), axis) != firstLike(b.operand(0), axis))
      return false;
  }
  return true;
}

/// The extent that stands for all that are assumed to be equal to this one.
analysis::ExtentOf UnseenPadding::firstLike(ValueId view, std::int32_t axis) const {
  // The bytes of a view have other extents than all parameters.
  const auto number = kernel_.definition(view)
                          ? -1 - static_cast<std::int32_t>(view.index())
                          : static_cast<std::int32_t>(kernel_.parameterNumber(view));
  const analysis::ExtentOf own{number, axis};
  const auto found =
      llvm::find_if(assumptions_.equalExtents,
                    [&](const analysis::EqualExtents &pair) { return pair.extent == own; });
  return found == assumptions_.equalExtents.end() ? own : found->first;
}

} // namespace imbrex::lower
