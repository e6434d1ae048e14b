#include "backend/passes/rules/rule.h"

namespace imbrex::passes::rules {
namespace {

using ir::ElementFamily;
using ir::ElementKind;

/// The exponent of the smallest number above 0.
int lowestExponent(const llvm::fltSemantics &format) {
  return llvm::APFloat::semanticsMinExponent(format) -
         static_cast<int>(llvm::APFloat::semanticsPrecision(format)) + 1;
}

bool floatHoldsFloat(ElementKind wide, ElementKind narrow) {
  const llvm::fltSemantics &to = ir::floatFormat(wide), &from = ir::floatFormat(narrow);
  return llvm::APFloat::semanticsPrecision(to) >= llvm::APFloat::semanticsPrecision(from) &&
         llvm::APFloat::semanticsMaxExponent(to) >= llvm::APFloat::semanticsMaxExponent(from) &&
         lowestExponent(to) <= lowestExponent(from);
}

/// Whether each number of one kind is a number of the other, infinities, NaN and -0 included.
bool holdsAll(ElementKind wide, ElementKind narrow) {
  if (wide == narrow) return true;
  const ElementFamily to = ir::info(wide).family, from = ir::info(narrow).family;
  if (to == ElementFamily::NarrowFloat || to == ElementFamily::Bool) return false;
  if (from == ElementFamily::Bool) return true;
  const bool toFloat = to == ElementFamily::Float;
  if (!ir::isInteger(narrow)) return toFloat && floatHoldsFloat(wide, narrow);

  // Bits without the sign: what of an integer a mantissa must hold.
  const std::int32_t bits = ir::info(narrow).bits - (ir::isSigned(narrow) ? 1 : 0);
  if (toFloat)
    return bits <=
           static_cast<std::int32_t>(llvm::APFloat::semanticsPrecision(ir::floatFormat(wide)));
  if (ir::isSigned(narrow) && !ir::isSigned(wide)) return false;
  return bits <= ir::info(wide).bits - (ir::isSigned(wide) ? 1 : 0);
}

bool sameType(ElementKind t, ElementKind u, ElementKind) { return t == u; }
bool firstIsExact(ElementKind t, ElementKind u, ElementKind v) {
  // From a float, an integer saturates; from an integer it wraps.
  if (ir::isInteger(t) && ir::isFloat(u) && ir::isInteger(v) && !holdsAll(v, t)) return false;
  // Its own infinity is the one that a narrow float does not saturate.
  const bool returns = t == v && ir::isNarrowFloat(v);
  if (returns && llvm::APFloat::semanticsHasInf(ir::floatFormat(v))) return false;
  return holdsAll(u, t);
}
bool lowBitsPass(ElementKind t, ElementKind u, ElementKind v) {
  return ir::isInteger(t) && ir::isInteger(u) && ir::isInteger(v) &&
         ir::info(v).bits <= ir::info(u).bits;
}
bool isArithmetic(ElementKind, ElementKind u, ElementKind) {
  return ir::isInteger(u) || ir::isFloat(u);
}
bool sameWidth(ElementKind t, ElementKind u, ElementKind v) {
  return ir::info(t).bits == ir::info(u).bits && ir::info(u).bits == ir::info(v).bits;
}

constexpr auto kConversionRules = std::to_array<Rule>({
    rule("x to its own type == x", kElements, castTo(Sort::U, x), x, sameType),
    rule("(x to U) to V == x to V, U holds every x", kElements, castTo(Sort::V, castTo(Sort::U, x)),
         castTo(Sort::V, x), firstIsExact),
    rule("(x to U) to V == x to V, integers, V no wider than U", kIntegers,
         castTo(Sort::V, castTo(Sort::U, x)), castTo(Sort::V, x), lowBitsPass),
    rule("(x to U) != 0 == x, x a bool", kBool, ne(castTo(Sort::U, x), zeroOf(Sort::U)), x,
         isArithmetic),
    rule("(x to U) == 0 == not x, x a bool", kBool, eq(castTo(Sort::U, x), zeroOf(Sort::U)),
         inverted(x), isArithmetic),
    rule("x's bits as its own type == x", kElements, bitcastTo(Sort::U, x), x, sameType),
    rule("(x's bits as U) as V == x's bits as V", kElements,
         bitcastTo(Sort::V, bitcastTo(Sort::U, x)), bitcastTo(Sort::V, x), sameWidth),
});
static_assert(allSimplify(kConversionRules),
              "each rule must lessen the work, or rewriting may not end");

} // namespace

llvm::ArrayRef<Rule> conversion() { return kConversionRules; }

} // namespace imbrex::passes::rules
