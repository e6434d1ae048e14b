#include "backend/target/host/whole/key_rule.h"

#include "llvm/ADT/APFloat.h"

namespace imbrex::host {
namespace {

using ir::ElementKind;
using launching::KeyRule;

bool isNan(ElementKind element, std::uint64_t code) {
  const llvm::APInt bits(static_cast<unsigned>(ir::info(element).bits), code);
  return llvm::APFloat(ir::floatFormat(element), bits).isNaN();
}

/// Those of IEEE's formats are beyond infinity, whatever the sign.
void setNans(KeyRule &rule, ElementKind element) {
  rule.nanMask = rule.mask >> 1;
  rule.nanLeast =
      llvm::APFloat::getInf(ir::floatFormat(element)).bitcastToAPInt().getZExtValue() + 1;
  rule.nanMost = rule.nanMask;
  rule.nanKey = rule.mask; // which only such a NaN would have
}

/// Some narrow floats have a number for each other code.
void setNarrowNans(KeyRule &rule, ElementKind element) {
  rule.nanKey = rule.mask + 1;
  std::uint64_t least = 1, most = 0;
  for (std::uint64_t code = rule.mask + 1; code-- > 0;)
    if (isNan(element, code)) {
      if (least > most) most = code;
      least = code;
    }
  // Those of either sign, or the only one.
  const std::uint64_t magnitude = rule.mask >> 1;
  const bool areOfEitherSign = least <= most && isNan(element, magnitude);
  rule.nanMask = areOfEitherSign ? magnitude : rule.mask;
  rule.nanLeast = least;
  rule.nanMost = areOfEitherSign ? magnitude : most;
}

} // namespace

KeyRule keyRuleOf(ElementKind element, bool isDescending) {
  KeyRule rule{.mask = ~std::uint64_t{0} >> (64 - ir::info(element).bits),
               .nanMask = 0,
               .nanLeast = 1,
               .nanMost = 0,
               .nanKey = 0,
               .form = KeyRule::Unsigned,
               .isDescending = isDescending ? 1U : 0U};
  if (ir::isSigned(element)) rule.form = KeyRule::Signed;
  if (ir::isFloat(element)) setNans(rule, element);
  if (ir::isNarrowFloat(element)) setNarrowNans(rule, element);
  // e8m0 has no sign.
  if (ir::isFloat(element) || (ir::isNarrowFloat(element) && element != ElementKind::E8M0))
    rule.form = KeyRule::SignAndMagnitude;
  return rule;
}

} // namespace imbrex::host
