#include "backend/ir/constant_text.h"
#include "backend/ir/verify_rules.h"

namespace imbrex::ir::rules {
namespace {

/// Operand 0 is a tile of pointers.
bool hasPointers(const OpCheck &check) {
  return check.operandIs(0, "the first operand", check.operand(0).isPointerTile(),
                         "a tile of pointers");
}

bool isWritable(const OpCheck &check) {
  return !check.operand(0).isConst() || check.fail(Diag::VerifyConst, check.operand(0));
}

/// The tile that pointers point to.
Type pointees(const Type &pointers) { return Type::tile(pointers.element(), pointers.shape()); }

/// Operand `i`, where there is one, is a mask.
bool maskIsRight(const OpCheck &check, size_t i) {
  return check.operandCount() <= i ||
         check.operandIs(i, "the mask", Type::tile(ElementKind::Bool, check.operand(0).shape()));
}

/// What a load says of how it runs ahead; a store says nothing.
template <class Attrs>
bool aheadIsRight(const OpCheck &check) {
  const auto &attrs = check.op().attrs<Attrs>();
  const bool mayBe = info(check.op().kind).effect == Effect::Read;
  return check.attributeIs("ahead", mayBe || attrs.ahead == Ahead::No,
                           "left alone, because a store does not run ahead") &&
         check.attributeIs("width", attrs.width >= 1 && (mayBe || attrs.width == 1),
                           mayBe ? "a number from 1" : "left alone, because a store is no copy");
}

/// What every machine can do in one step: docs/semantics.md, atomics.
bool canCombine(AtomicKind kind, ElementKind element) {
  const std::int32_t bits = info(element).bits;
  const bool isWide = bits == 32 || bits == 64;
  switch (kind) {
  case AtomicKind::Add: return isFloat(element) || (isInteger(element) && isWide);
  case AtomicKind::Min:
  case AtomicKind::Max: return (isFloat(element) || isInteger(element)) && isWide;
  case AtomicKind::And:
  case AtomicKind::Or:
  case AtomicKind::Xor: return isInteger(element) && isWide;
  case AtomicKind::Exchange: return (isFloat(element) || isInteger(element)) && bits >= 16;
  }
  return false;
}

bool hasView(const OpCheck &check) {
  return check.operandIs(0, "the first operand", check.operand(0).isView(), "a view");
}

bool isBoxOf(const Type &view, const Type &tile) {
  return tile.isTile() && tile.element() == view.element() && tile.rank() == view.rank();
}

std::string boxOf(const Type &view) {
  return "a tile of " + std::string(info(view.element()).name) + " with " +
         std::to_string(view.rank()) + (view.rank() == 1 ? " axis" : " axes");
}

} // namespace

bool coordinatesAreRight(const OpCheck &check, size_t view, size_t first) {
  const auto rank = static_cast<size_t>(check.operand(view).rank());
  for (size_t i = first; i < first + rank; ++i) {
    const Type &type = check.operand(i);
    if (!check.operandIs(i, "a coordinate", type.isScalar() && isInteger(type.element()),
                         "an integer scalar"))
      return false;
  }
  return true;
}

bool checkPointerAdd(const OpCheck &check) {
  if (!hasPointers(check)) return false;
  const Type &pointers = check.operand(0), &offsets = check.operand(1);
  return check.operandIs(1, "the offsets",
                         offsets.isTile() && isInteger(offsets.element()) &&
                             offsets.shape() == pointers.shape(),
                         "integers in the pointers' shape") &&
         check.resultIs(pointers);
}

bool checkLoad(const OpCheck &check) {
  if (!hasPointers(check)) return false;
  const Type loaded = pointees(check.operand(0));
  return maskIsRight(check, 1) &&
         (check.operandCount() < 3 || check.operandIs(2, "the other value", loaded)) &&
         aheadIsRight<MemoryAttrs>(check) && check.resultIs(loaded);
}

bool checkStore(const OpCheck &check) {
  return hasPointers(check) && isWritable(check) &&
         check.operandIs(1, "the value", pointees(check.operand(0))) && maskIsRight(check, 2) &&
         aheadIsRight<MemoryAttrs>(check);
}

bool checkAtomicRmw(const OpCheck &check) {
  if (!hasPointers(check) || !isWritable(check)) return false;
  const Type value = pointees(check.operand(0));
  if (!check.operandIs(1, "the value", value) || !maskIsRight(check, 2)) return false;
  const AtomicKind kind = check.op().attrs<AtomicAttrs>().kind;
  if (!canCombine(kind, value.element()))
    return check.fail(Diag::VerifyAtomic, kNames<AtomicKind>[static_cast<size_t>(kind)],
                      info(value.element()).name);
  return check.resultIs(value);
}

bool checkAtomicCas(const OpCheck &check) {
  if (!hasPointers(check) || !isWritable(check)) return false;
  const Type value = pointees(check.operand(0));
  if (!check.operandIs(1, "the expected value", value) ||
      !check.operandIs(2, "the desired value", value) || !maskIsRight(check, 3))
    return false;
  if (!check.attributeIs("kind", check.op().attrs<AtomicAttrs>().kind == AtomicKind::Add,
                         "left alone, because the op compares and exchanges"))
    return false;
  if (!canCombine(AtomicKind::Exchange, value.element()))
    return check.fail(Diag::VerifyAtomic, "cas", info(value.element()).name);
  return check.resultIs(value);
}

bool checkViewLoad(const OpCheck &check) {
  if (!hasView(check)) return false;
  const Type &view = check.operand(0);
  const Padding padding = check.op().attrs<ViewAttrs>().padding;
  const size_t paddings = padding == Padding::Value ? 1 : 0;
  const auto rank = static_cast<size_t>(view.rank());
  if (!check.operandCountIs(1 + rank + paddings) || !coordinatesAreRight(check, 0, 1)) return false;
  if (paddings == 1 && !check.operandIs(1 + rank, "the padding", Type::tile(view.element())))
    return false;
  const bool hasNan = (isFloat(view.element()) || isNarrowFloat(view.element())) &&
                      canonicalNan(view.element()).has_value();
  if (!check.attributeIs("padding", padding != Padding::Nan || hasNan,
                         "'zero' or 'value', because the element has no NaN") ||
      !aheadIsRight<ViewAttrs>(check))
    return false;
  return isBoxOf(view, check.result()) ||
         check.fail(Diag::VerifyResultKind, boxOf(view), check.result());
}

bool checkViewStore(const OpCheck &check) {
  if (!hasView(check) || !isWritable(check)) return false;
  const Type &view = check.operand(0);
  return check.operandCountIs(2 + static_cast<size_t>(view.rank())) &&
         check.operandIs(1, "the value", isBoxOf(view, check.operand(1)), boxOf(view)) &&
         coordinatesAreRight(check, 0, 2) &&
         check.attributeIs("padding", check.op().attrs<ViewAttrs>().padding == Padding::Zero,
                           "left alone, because a store has none") &&
         aheadIsRight<ViewAttrs>(check);
}

bool checkViewExtent(const OpCheck &check) {
  const Type &type = check.operand(0);
  const bool isOfTable = type.isTable() && check.op().kind == OpKind::ViewExtent;
  return (isOfTable || hasView(check)) &&
         check.axisIsIn(check.op().attrs<AxisAttrs>().axis, check.operand(0)) &&
         check.resultIs(Type::tile(ElementKind::I64));
}

bool checkViewBytes(const OpCheck &check) {
  if (!hasView(check)) return false;
  const Type &view = check.operand(0);
  return check.operandIs(0, "the view", view.element() == ElementKind::F4E2M1, "of f4e2m1") &&
         check.resultIs(Type::view(ElementKind::U8, view.rank(), view.isConst()));
}

bool checkViewData(const OpCheck &check) {
  if (!hasView(check)) return false;
  const Type &view = check.operand(0);
  return check.operandIs(0, "the view", view.element() != ElementKind::F4E2M1,
                         "of an element that fills whole bytes") &&
         check.resultIs(Type::pointerTile(view.element(), {}, view.isConst()));
}

bool checkTablePointer(const OpCheck &check) {
  const Type &table = check.operand(0), &index = check.operand(1);
  return check.operandIs(0, "the first operand", table.isTable(), "a table") &&
         check.operandIs(1, "the index", index.isScalar() && isInteger(index.element()),
                         "an integer scalar") &&
         check.resultIs(Type::pointerTile(table.element(), {}, table.isConst()));
}

} // namespace imbrex::ir::rules
