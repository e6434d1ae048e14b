#include "backend/ir/verify_rules.h"

#include <limits>

namespace imbrex::ir::rules {
namespace {

/// The least and the greatest number of an integer type; 128 bits hold those of all.
__extension__ using Wide = __int128;

struct IntegerRange {
  Wide lowest, highest;
  bool holds(Wide value) const { return lowest <= value && value <= highest; }
};

IntegerRange rangeOf(ElementKind kind) {
  const Wide values = Wide{1} << info(kind).bits;
  if (isSigned(kind)) return {-(values / 2), values / 2 - 1};
  return {0, values - 1};
}

bool isAnyFloat(ElementKind kind) { return isFloat(kind) || isNarrowFloat(kind); }

} // namespace

bool checkConstant(const OpCheck &check) {
  const Type &type = check.result();
  if (!type.isTile()) return check.fail(Diag::VerifyResultKind, "a tile of elements", type);
  const std::int32_t width = info(type.element()).bits;
  const std::uint64_t bits = check.op().attrs<ConstantAttrs>().bits;
  if (width == 64 || bits >> width == 0) return true;
  return check.fail(Diag::VerifyConstantBits, type, width);
}

bool checkArange(const OpCheck &check) {
  const Type &type = check.result();
  if (!type.isTile() || type.rank() != 1)
    return check.fail(Diag::VerifyResultKind, "a tile with one axis", type);
  if (!check.isInDomain(type)) return false;
  const auto &attrs = check.op().attrs<ArangeAttrs>();
  const Wide last = attrs.start + Wide{attrs.step} * (type.shape()[0] - 1);
  const IntegerRange range = rangeOf(type.element());
  if (range.holds(attrs.start) && range.holds(last)) return true;
  return check.fail(Diag::VerifyArangeRange, info(type.element()).name);
}

bool checkGridIndex(const OpCheck &check) {
  const std::int32_t axis = check.op().attrs<AxisAttrs>().axis;
  return check.attributeIs("axis", axis >= 0 && axis <= 2, "0, 1 or 2") &&
         check.resultIs(Type::tile(ElementKind::I32));
}

bool checkSameAsOperands(const OpCheck &check) {
  return check.isInDomain(check.operand(0)) && check.operandsAgree() &&
         check.resultIs(check.operand(0));
}

bool checkComparison(const OpCheck &check) {
  return check.isInDomain(check.operand(0)) && check.operandsAgree() &&
         check.resultIs(check.operand(0).withElement(ElementKind::Bool));
}

bool checkSelect(const OpCheck &check) {
  const Type &chosen = check.operand(1);
  return check.operandIs(1, "the second operand", chosen.isTileOrPointers(), "a tile") &&
         check.operandsAgree(1) &&
         check.operandIs(0, "the condition", chosen.withElement(ElementKind::Bool)) &&
         check.resultIs(chosen);
}

bool checkCast(const OpCheck &check) {
  const Type &from = check.operand(0), &to = check.result();
  if (!check.operandIs(0, "the operand", from.isTile(), "a tile of elements")) return false;
  if (!to.isTile()) return check.fail(Diag::VerifyResultKind, "a tile of elements", to);
  const bool isBetweenFloats = isAnyFloat(from.element()) && isAnyFloat(to.element());
  const bool isNearest = check.op().attrs<CastAttrs>().rounding == Rounding::NearestEven;
  return check.resultIs(from.withElement(to.element())) &&
         check.attributeIs("rounding", isNearest || isBetweenFloats,
                           "'nearest' unless both types are floats");
}

// Two f4e2m1 share a byte, so a u8 is two of them; else the widths are equal. A bool has one bit as
// a value and eight in memory, and is no match for either.
bool checkBitcast(const OpCheck &check) {
  const Type &from = check.operand(0), &to = check.result();
  if (!check.operandIs(0, "the operand", from.isTile() && from.element() != ElementKind::Bool,
                       "a tile of integers or floats"))
    return false;
  if (!to.isTile() || to.element() == ElementKind::Bool)
    return check.fail(Diag::VerifyResultKind, "a tile of integers or floats", to);
  if (info(from.element()).bits == info(to.element()).bits)
    return check.resultIs(from.withElement(to.element()));
  const std::int32_t last = from.rank() - 1;
  if (last >= 0 && from.element() == ElementKind::U8 && to.element() == ElementKind::F4E2M1)
    return check.resultIs(
        Type::tile(to.element(), from.shape().withAxis(last, from.shape()[last] * 2)));
  if (last >= 0 && from.element() == ElementKind::F4E2M1 && to.element() == ElementKind::U8)
    return check.operandIs(0, "the operand", from.shape()[last] % 2 == 0,
                           "even along its last axis") &&
           check.resultIs(
               Type::tile(to.element(), from.shape().withAxis(last, from.shape()[last] / 2)));
  return check.fail(Diag::VerifyBitcast, from, to);
}

} // namespace imbrex::ir::rules
