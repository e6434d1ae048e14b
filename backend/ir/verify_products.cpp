#include "backend/ir/products.h"
#include "backend/ir/requirement.h"
#include "backend/ir/verify_rules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::ir::rules {
namespace {

bool isEightBitFloat(ElementKind kind) {
  return isNarrowFloat(kind) && kind != ElementKind::F4E2M1 && kind != ElementKind::E8M0;
}

bool canDot(ElementKind kind) {
  return isFloat(kind) || isEightBitFloat(kind) || kind == ElementKind::I8 ||
         kind == ElementKind::U8;
}

/// Sums are at least f32 wide; integers of 8 bits sum in 32.
ElementKind accumulatorOf(ElementKind kind) {
  if (isInteger(kind)) return ElementKind::I32;
  return kind == ElementKind::F64 ? ElementKind::F64 : ElementKind::F32;
}

bool canDotScaled(ElementKind kind) {
  return kind == ElementKind::F4E2M1 || kind == ElementKind::F8E4M3FN ||
         kind == ElementKind::F8E5M2 || kind == ElementKind::F16 || kind == ElementKind::BF16;
}

/// With as much of an axis as the operand of a product stands for.
Shape shapeOfOperand(const OpCheck &check, size_t i) {
  const Shape &own = check.operand(i).shape();
  if (own.rank() < 2) return own;
  const std::int32_t axis = depthAxis(check.kernel(), check.op(), i);
  return own.withAxis(axis, own[axis] * depthOfElement(check.kernel(), check.op(), i));
}

/// a is [.., m, k], b [.., k, n], c [.., m, n], with equal extents in front.
bool shapesContract(const OpCheck &check) {
  const Shape a = shapeOfOperand(check, 0), b = shapeOfOperand(check, 1);
  const Shape &c = check.operand(2).shape();
  const std::int32_t rank = a.rank();
  bool isRight = rank >= 2 && b.rank() == rank && c.rank() == rank;
  if (isRight) {
    const std::int32_t row = rank - 2, column = rank - 1;
    isRight =
        b[row] == a[column] && b.withAxis(row, a[row]) == c && a.withAxis(column, c[column]) == c;
  }
  return isRight ||
         check.fail(Diag::VerifyDotShapes, check.operand(0), check.operand(1), check.operand(2));
}

bool tilesOnly(const OpCheck &check, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!check.operandIs(i, "the operand", check.operand(i).isTile(), "a tile of elements"))
      return false;
  return true;
}

/// The scales of an operand whose last axis is k.
struct ScaledOperand {
  ElementKind element;
  Shape shape;
};

bool scaleIs(const OpCheck &check, size_t i, const ScaledOperand &of) {
  const ElementKind own = check.operand(i).element();
  const bool isOfBoth = own == ElementKind::F8E4M3FN && isNarrowFloat(of.element);
  const ElementKind element = isOfBoth ? own : ElementKind::E8M0;
  const std::int32_t last = of.shape.rank() - 1;
  const std::int64_t scales = of.shape[last] / elementsPerScale(element);
  const Type wanted = Type::tile(element, of.shape.withAxis(last, scales));
  const bool isInPlace = isOnUnit(check.op()) && check.operand(i).isShared();
  return check.operandIs(i, "the scale", isInPlace ? Type::shared(wanted) : wanted);
}

Shape withLastAxesSwapped(const Shape &shape) {
  const std::int32_t last = shape.rank() - 1;
  return shape.withAxis(last, shape[last - 1]).withAxis(last - 1, shape[last]);
}

/// In registers, or where it lies in shared memory: what is multiplied as it is.
bool isOperandOfDot(const OpCheck &check, size_t i) {
  const Type &type = check.operand(i);
  if (!type.isShared())
    return check.operandIs(i, "the operand", type.isTile(), "a tile of elements");
  const bool isPlain =
      isOnUnit(check.op()) ||
      (check.op().kind == OpKind::Dot &&
       check.op().attrs<DotAttrs>().precision == Precision::Ieee && !isNarrowFloat(type.element()));
  return check.operandIs(i, "the operand", isPlain,
                         "a tile in registers, for this precision or element");
}

bool isPowerOfTwo(std::int64_t number) {
  return number > 0 && llvm::has_single_bit(static_cast<std::uint64_t>(number));
}

/// Each number below their count once.
bool isOrder(llvm::ArrayRef<std::int64_t> numbers) {
  llvm::SmallVector<std::int64_t, 8> sorted(numbers);
  llvm::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// Whether the attributes of a product on a matrix unit are all there, and none without one. Which
/// units there are only a machine knows.
bool isUnitWhole(const OpCheck &check, const UnitAttrs &attrs) {
  const std::size_t axes = attrs.unit.empty() ? 0 : static_cast<std::size_t>(check.result().rank());
  return check.attributeIs("warps",
                           attrs.warps.size() == axes && llvm::all_of(attrs.warps, isPowerOfTwo),
                           "a power of two for each axis of a product with a unit, else empty") &&
         check.attributeIs("transposed", !attrs.transposed || axes > 0,
                           "'false' of a product without a unit") &&
         check.attributeIs("depth_order",
                           isOrder(attrs.depthOrder) && (attrs.depthOrder.empty() || axes > 0),
                           "an order of the numbers from 0 of a product with a unit, else empty");
}

} // namespace

bool checkDot(const OpCheck &check) {
  if (!isOperandOfDot(check, 0) || !isOperandOfDot(check, 1) ||
      !check.operandIs(2, "the accumulator", check.operand(2).isTile(), "a tile of elements"))
    return false;
  const ElementKind a = check.operand(0).element(), b = check.operand(1).element();
  if (!check.operandIs(0, "the first operand", canDot(a),
                       "a tile of i8, u8, f16, bf16, f32, f64 or an 8-bit float"))
    return false;
  if (!check.operandIs(1, "the second operand",
                       a == b || (isEightBitFloat(a) && isEightBitFloat(b)),
                       "of the first operand's element (8-bit floats may mix)"))
    return false;
  const Type sum = check.operand(2).withElement(accumulatorOf(a));
  if (!check.operandIs(2, "the accumulator", sum) || !shapesContract(check)) return false;
  const auto &attrs = check.op().attrs<DotAttrs>();
  return check.attributeIs("precision", attrs.precision == Precision::Ieee || a == ElementKind::F32,
                           "'ieee' unless the operands are f32") &&
         check.attributeIs("promote_every",
                           attrs.promoteEvery >= 0 &&
                               (attrs.promoteEvery == 0 || isEightBitFloat(a)),
                           "a number from 0, and 0 unless the operands are 8-bit floats") &&
         isUnitWhole(check, attrs) && check.resultIs(sum);
}

bool checkDotScaled(const OpCheck &check) {
  const auto &attrs = check.op().attrs<DotScaledAttrs>();
  const size_t scales = size_t{attrs.scaleA} + size_t{attrs.scaleB};
  if (!check.operandCountIs(3 + scales)) return false;
  for (size_t i = 0; i < 2; ++i)
    if (!isOperandOfDot(check, i) ||
        !check.operandIs(i, i == 0 ? "the first operand" : "the second operand",
                         canDotScaled(elementOf(check.kernel(), check.op(), i)),
                         "a tile of f4e2m1, f8e4m3fn, f8e5m2, f16 or bf16"))
      return false;
  if (!check.operandIs(2, "the accumulator", check.operand(2).isTile(), "a tile of elements"))
    return false;
  const Type sum = check.operand(2).withElement(ElementKind::F32);
  if (!check.operandIs(2, "the accumulator", sum) || !shapesContract(check)) return false;
  const Shape a = shapeOfOperand(check, 0), b = shapeOfOperand(check, 1);
  const std::int64_t depth = a[a.rank() - 1];
  if (!check.operandIs(0, "the first operand", depth % elementsPerScale(ElementKind::E8M0) == 0,
                       "a multiple of 32 along its last axis"))
    return false;
  const auto elementIs = [&](size_t i) { return elementOf(check.kernel(), check.op(), i); };
  if (attrs.scaleA && !scaleIs(check, 3, {elementIs(0), a})) return false;
  if (attrs.scaleB && !scaleIs(check, 2 + scales, {elementIs(1), withLastAxesSwapped(b)}))
    return false;
  return isUnitWhole(check, attrs) && check.resultIs(sum);
}

bool checkPhilox(const OpCheck &check) {
  const Type &counter = check.operand(1);
  if (!check.operandIs(0, "the key", Type::tile(ElementKind::U64)) ||
      !check.operandIs(1, "the counter", Type::tile(ElementKind::U32, counter.shape())) ||
      !check.operandsAgree(1))
    return false;
  for (size_t i = 0; i < check.op().results.size(); ++i)
    if (!check.resultIs(i, counter)) return false;
  return true;
}

/// Those who print it take it for a string that ends at a zero.
bool hasPlainText(const OpCheck &check) {
  const bool isPlain = check.op().attrs<TextAttrs>().text.find('\0') == std::string::npos;
  return check.attributeIs("text", isPlain, "text without the character \\x00");
}

bool checkNoResult(const OpCheck &check) {
  return tilesOnly(check, check.operandCount()) && hasPlainText(check);
}

bool checkAssert(const OpCheck &check) {
  const Type &condition = check.operand(0);
  return hasPlainText(check) &&
         check.operandIs(0, "the condition",
                         condition == Type::tile(ElementKind::Bool, condition.shape()),
                         "a tile of bools");
}

bool checkRequire(const OpCheck &check) {
  if (!hasPlainText(check) || !check.conditionIs(0)) return false;
  if (!check.parents().empty()) return check.fail(Diag::RequirementInBody);
  const Op *unknown = unknownToLaunch(check.kernel(), check.op().operand(0));
  return unknown == nullptr ||
         check.fail(Diag::RequirementOfRun, info(unknown->kind).mnemonic, toText(unknown->where));
}

bool checkInlineAsm(const OpCheck &check) {
  const auto types = typesOf(check.kernel(), check.op().operands);
  auto all = typesOf(check.kernel(), check.op().results);
  all.insert(all.begin(), types.begin(), types.end());
  for (const Type &type : all)
    if (!type.isTile() || !contains(Domain::Plain, type.element()) ||
        type.shape() != all[0].shape())
      return check.fail(Diag::VerifyAsmTypes, listed(all));
  return check.attributeIs("target", !check.op().attrs<AsmAttrs>().target.empty(),
                           "a target's name");
}

} // namespace imbrex::ir::rules
