#include "backend/ir/combine.h"
#include "backend/ir/verify_rules.h"

namespace imbrex::ir::rules {
namespace {

std::string_view nameOf(Combine combine) { return kNames<Combine>[static_cast<size_t>(combine)]; }

/// The elements that a built-in combine takes.
Domain domainOf(Combine combine) {
  switch (combine) {
  case Combine::Sum:
  case Combine::Prod:
  case Combine::Min:
  case Combine::Max:
  case Combine::ArgMin:
  case Combine::ArgMax: return Domain::Number;
  case Combine::MinNan:
  case Combine::MaxNan: return Domain::Floating;
  case Combine::And:
  case Combine::Or:
  case Combine::Xor: return Domain::Bits;
  case Combine::Region: return Domain::Any;
  }
  return Domain::Any;
}

/// The first `count` operands are tiles of one shape, which has the axis.
bool tilesAlongAxis(const OpCheck &check, size_t count, std::int32_t axis) {
  for (size_t i = 0; i < count; ++i)
    if (!check.operandIs(i, "the operand", check.operand(i).isTile(), "a tile of elements"))
      return false;
  const Type &first = check.operand(0);
  if (!check.axisIsIn(axis, first)) return false;
  for (size_t i = 1; i < count; ++i)
    if (!check.operandIs(i, "an operand", check.operand(i).withShape(first.shape()))) return false;
  return true;
}

/// A body that combines n scalars of the left with n of the right element. What it yields is
/// checked at its yield.
bool combineArgumentsAreRight(const OpCheck &check, size_t count) {
  if (!check.bodyCountIs(1)) return false;
  llvm::SmallVector<Type, 4> wanted;
  for (size_t i = 0; i < 2 * count; ++i)
    wanted.push_back(Type::tile(check.operand(i % count).element()));
  const auto got = typesOf(check.kernel(), check.op().regions[0].arguments);
  return got == wanted || check.fail(Diag::VerifyBodyArguments, listed(wanted), listed(got));
}

bool builtInIsRight(const OpCheck &check, Combine combine) {
  if (!check.bodyCountIs(0) || !check.operandCountIs(1)) return false;
  if (!check.operandIs(0, "the operand", check.operand(0).isTile(), "a tile of elements"))
    return false;
  const ElementKind element = check.operand(0).element();
  return contains(domainOf(combine), element) ||
         check.fail(Diag::VerifyCombine, nameOf(combine), info(element).name);
}

} // namespace

bool checkReduce(const OpCheck &check) {
  const auto &attrs = check.op().attrs<ReduceAttrs>();
  const bool hasBody = attrs.combine == Combine::Region;
  if (!hasBody && !builtInIsRight(check, attrs.combine)) return false;
  const size_t count = check.operandCount();
  if (!tilesAlongAxis(check, count, attrs.axis)) return false;
  if (hasBody && !combineArgumentsAreRight(check, count)) return false;
  if (!check.resultCountIs(isArg(attrs.combine) ? 2 : count)) return false;
  const Shape shape = check.operand(0).shape().withoutAxis(attrs.axis);
  for (size_t i = 0; i < count; ++i)
    if (!check.resultIs(i, check.operand(i).withShape(shape))) return false;
  return !isArg(attrs.combine) || check.resultIs(1, Type::tile(ElementKind::I32, shape));
}

bool checkScan(const OpCheck &check) {
  const auto &attrs = check.op().attrs<ScanAttrs>();
  const bool hasBody = attrs.combine == Combine::Region;
  if (isArg(attrs.combine))
    return check.attributeIs("combine", false, "a combine of one value, not argmin or argmax");
  if (!hasBody && !builtInIsRight(check, attrs.combine)) return false;
  // With a body nobody knows the identity, so an exclusive scan is given its first value.
  const bool hasInitial = hasBody && attrs.exclusive;
  if (hasInitial && check.operandCount() % 2 != 0)
    return check.operandCountIs(check.operandCount() + 1);
  const size_t count = hasInitial ? check.operandCount() / 2 : check.operandCount();
  if (!tilesAlongAxis(check, count, attrs.axis)) return false;
  for (size_t i = 0; hasInitial && i < count; ++i)
    if (!check.operandIs(count + i, "the initial value", Type::tile(check.operand(i).element())))
      return false;
  if (hasBody && !combineArgumentsAreRight(check, count)) return false;
  if (!check.resultCountIs(count)) return false;
  for (size_t i = 0; i < count; ++i)
    if (!check.resultIs(i, check.operand(i))) return false;
  return true;
}

bool checkSort(const OpCheck &check) {
  const size_t count = check.operandCount();
  if (!tilesAlongAxis(check, count, check.op().attrs<SortAttrs>().axis)) return false;
  if (!check.operandIs(0, "the key", contains(Domain::Plain, check.operand(0).element()),
                       "a tile of bools, integers or floats"))
    return false;
  if (!check.resultCountIs(count)) return false;
  for (size_t i = 0; i < count; ++i)
    if (!check.resultIs(i, check.operand(i))) return false;
  return true;
}

bool checkHistogram(const OpCheck &check) {
  const Type &values = check.operand(0), &counts = check.result();
  if (!check.operandIs(0, "the operand",
                       values.isTile() && isInteger(values.element()) && values.rank() == 1,
                       "a tile of integers with one axis"))
    return false;
  if (check.operandCount() == 2 &&
      !check.operandIs(1, "the mask", values.withElement(ElementKind::Bool)))
    return false;
  return (counts == Type::tile(ElementKind::I32, counts.shape()) && counts.rank() == 1) ||
         check.fail(Diag::VerifyResultKind, "a tile of i32 with one axis", counts);
}

bool checkGather(const OpCheck &check) {
  const Type &from = check.operand(0), &indices = check.operand(1);
  const std::int32_t axis = check.op().attrs<AxisAttrs>().axis;
  if (!check.operandIs(0, "the operand", from.isTile(), "a tile of elements") ||
      !check.axisIsIn(axis, from))
    return false;
  const bool isMatching = indices.isTile() && isInteger(indices.element()) &&
                          indices.rank() == from.rank() &&
                          indices.shape().withAxis(axis, 1) == from.shape().withAxis(axis, 1);
  return check.operandIs(1, "the indices", isMatching,
                         "integers in the operand's shape but for the axis") &&
         check.resultIs(from.withShape(indices.shape()));
}

} // namespace imbrex::ir::rules
