#include "backend/ir/shared_tiles.h"
#include "backend/ir/verify_rules.h"

#include <algorithm>

namespace imbrex::ir::rules {
namespace {

/// Shape ops move elements and pointers alike.
bool movesTile(const OpCheck &check, size_t i = 0) {
  return check.operandIs(i, "the operand", check.operand(i).isTileOrPointers(), "a tile");
}

/// Of a shared tile they name the elements anew, which stay where they are.
bool movesOrRelabels(const OpCheck &check) {
  return check.operand(0).isShared() || movesTile(check);
}

} // namespace

bool checkBroadcast(const OpCheck &check) {
  if (!movesTile(check)) return false;
  const Type &from = check.operand(0), &to = check.result();
  bool isPossible = to == from.withShape(to.shape());
  if (from.rank() != 0) {
    isPossible &= from.rank() == to.rank();
    for (std::int32_t axis = 0; isPossible && axis < from.rank(); ++axis)
      isPossible = from.shape()[axis] == to.shape()[axis] || from.shape()[axis] == 1;
  }
  return isPossible || check.fail(Diag::VerifyBroadcast, from, to);
}

bool checkReshape(const OpCheck &check) {
  if (!movesOrRelabels(check)) return false;
  const Type &from = check.operand(0), &to = check.result();
  if (to != from.withShape(to.shape()) || from.shape().elements() != to.shape().elements())
    return check.fail(Diag::VerifyReshape, from, to);
  return !from.isShared() || renaming(check.kernel(), check.op()) ||
         check.fail(Diag::VerifySharedReshape, from, to);
}

bool checkPermute(const OpCheck &check) {
  if (!movesOrRelabels(check)) return false;
  const Type &from = check.operand(0);
  const auto &order = check.op().attrs<PermuteAttrs>().order;
  std::int32_t seen = 0; // a bit for each axis
  for (const std::int64_t axis : order)
    if (axis >= 0 && axis < from.rank()) seen |= 1 << axis;
  const bool isPermutation = std::ssize(order) == from.rank() && seen == (1 << from.rank()) - 1;
  if (!check.attributeIs("order", isPermutation, "each axis of the operand once")) return false;
  Shape shape = from.shape();
  for (std::int32_t axis = 0; axis < from.rank(); ++axis)
    shape = shape.withAxis(
        axis, from.shape()[static_cast<std::int32_t>(order[static_cast<size_t>(axis)])]);
  return check.resultIs(from.withShape(shape));
}

bool checkJoin(const OpCheck &check) {
  if (!movesTile(check) || !check.operandsAgree()) return false;
  const Type &from = check.operand(0);
  return check.operandIs(0, "the operand", from.rank() < Shape::kMaxRank,
                         "a tile of at most 4 axes") &&
         check.resultIs(from.withShape(from.shape().withAppended(2)));
}

bool checkSplit(const OpCheck &check) {
  if (!movesTile(check)) return false;
  const Type &from = check.operand(0);
  const std::int32_t last = from.rank() - 1;
  if (!check.operandIs(0, "the operand", last >= 0 && from.shape()[last] == 2,
                       "a tile with extent 2 along its last axis"))
    return false;
  const Type half = from.withShape(from.shape().withoutAxis(last));
  return check.resultIs(0, half) && check.resultIs(1, half);
}

bool checkConcat(const OpCheck &check) {
  if (!movesTile(check, 0) || !movesTile(check, 1)) return false;
  const Type &first = check.operand(0), &second = check.operand(1);
  const std::int32_t axis = check.op().attrs<AxisAttrs>().axis;
  if (!check.axisIsIn(axis, first) || !check.axisIsIn(axis, second)) return false;
  const std::int64_t extent = second.shape()[axis];
  return check.operandIs(1, "the second operand",
                         first.withShape(first.shape().withAxis(axis, extent))) &&
         check.resultIs(
             first.withShape(first.shape().withAxis(axis, first.shape()[axis] + extent)));
}

bool checkSlice(const OpCheck &check) {
  if (!movesOrRelabels(check)) return false;
  const Type &from = check.operand(0), &to = check.result();
  const auto &attrs = check.op().attrs<SliceAttrs>();
  const auto isRight = [&](const auto &numbers, std::int64_t least) {
    return std::ssize(numbers) == from.rank() &&
           std::ranges::all_of(numbers, [&](std::int64_t number) { return number >= least; });
  };
  if (!check.attributeIs("offsets", isRight(attrs.offsets, 0), "a number from 0 for each axis") ||
      !check.attributeIs("strides", isRight(attrs.strides, 1), "a number from 1 for each axis"))
    return false;
  bool isInside = to == from.withShape(to.shape()) && to.rank() == from.rank();
  for (std::int32_t axis = 0; isInside && axis < from.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    // How many elements there are from the offset on, by the stride; divided, not multiplied, so
    // that no number is too large.
    const std::int64_t behind = from.shape()[axis] - 1 - attrs.offsets[i];
    isInside = behind >= 0 && to.shape()[axis] <= behind / attrs.strides[i] + 1;
  }
  if (!isInside) return check.fail(Diag::VerifySlice, to, from);
  return !from.isShared() || renaming(check.kernel(), check.op()) ||
         check.fail(Diag::VerifySharedSlice, to, from);
}

bool checkFlip(const OpCheck &check) {
  return movesTile(check) && check.axisIsIn(check.op().attrs<AxisAttrs>().axis, check.operand(0)) &&
         check.resultIs(check.operand(0));
}

} // namespace imbrex::ir::rules
