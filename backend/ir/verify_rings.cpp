#include "backend/ir/verify_rules.h"
#include "llvm/ADT/bit.h"

namespace imbrex::ir::rules {
namespace {

bool hasRing(const OpCheck &check) {
  return check.operandIs(0, "the first operand", check.operand(0).isRing(), "a ring");
}

bool conditionIsRight(const OpCheck &check) {
  return check.operandIs(1, "the condition", Type::tile(ElementKind::Bool));
}

bool widthIsRight(const OpCheck &check, std::int32_t width) {
  return check.attributeIs("width",
                           width >= 1 && llvm::has_single_bit(static_cast<std::uint32_t>(width)),
                           "a power of two");
}

} // namespace

bool checkRingNew(const OpCheck &check) {
  if (!check.parents().empty()) return check.fail(Diag::VerifyRingPlace);
  const Type &ring = check.result();
  const bool holdsTiles = ring.isRing() && ring.rank() > 0 && ring.element() != ElementKind::F4E2M1;
  return (holdsTiles || check.fail(Diag::VerifyRingType, ring)) &&
         check.attributeIs("slots", check.op().attrs<RingAttrs>().slots >= 1, "a number from 1");
}

bool checkRingCopy(const OpCheck &check) {
  if (!hasRing(check) || !conditionIsRight(check)) return false;
  const Type held = check.operand(0).held(), &pointers = check.operand(2);
  const bool isRight = pointers.isPointerTile() && pointers.element() == held.element() &&
                       pointers.shape() == held.shape();
  return check.operandIs(2, "the third operand", isRight, "pointers to " + toString(held)) &&
         (check.operandCount() < 4 ||
          check.operandIs(3, "the mask", Type::tile(ElementKind::Bool, held.shape()))) &&
         widthIsRight(check, check.op().attrs<RingCopyAttrs>().width);
}

bool checkRingCopyBox(const OpCheck &check) {
  if (!hasRing(check) || !conditionIsRight(check)) return false;
  const Type held = check.operand(0).held(), &view = check.operand(2);
  constexpr size_t kFirst = 3;
  const bool isRight =
      view.isView() && view.element() == held.element() && view.rank() == held.rank();
  if (!check.operandIs(2, "the third operand", isRight, "a view with boxes of " + toString(held)) ||
      !check.operandCountIs(kFirst + static_cast<size_t>(view.rank())))
    return false;
  for (size_t i = kFirst; i < check.operandCount(); ++i) {
    const Type &type = check.operand(i);
    if (!check.operandIs(i, "a coordinate", type.isScalar() && isInteger(type.element()),
                         "an integer scalar"))
      return false;
  }
  return widthIsRight(check, check.op().attrs<RingCopyBoxAttrs>().width);
}

bool checkRingDrain(const OpCheck &check) {
  return check.attributeIs("count", check.op().attrs<CountAttrs>().count >= 0, "a number from 0");
}

bool checkRingRead(const OpCheck &check) {
  return hasRing(check) && check.resultIs(check.operand(0).held());
}

} // namespace imbrex::ir::rules
