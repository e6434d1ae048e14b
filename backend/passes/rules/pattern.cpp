#include "backend/passes/rules/pattern.h"

#include "backend/support/check.h"

namespace imbrex::passes::rules {

std::uint64_t literalBits(Literal literal, ir::ElementKind kind) {
  const std::int32_t width = ir::info(kind).bits;
  const std::uint64_t everyBit = ~std::uint64_t{0} >> (64 - width);
  const bool isFloat = ir::isFloat(kind);
  const auto floating = [&](const llvm::APFloat &value) {
    return value.bitcastToAPInt().getZExtValue();
  };
  switch (literal) {
  case Literal::Zero: return 0;
  case Literal::NegativeZero: return std::uint64_t{1} << (width - 1);
  case Literal::One: return isFloat ? floating(llvm::APFloat::getOne(ir::floatFormat(kind))) : 1;
  case Literal::MinusOne:
    return isFloat ? floating(llvm::APFloat::getOne(ir::floatFormat(kind), true)) : everyBit;
  case Literal::AllOnes: return everyBit;
  }
  IMBREX_UNREACHABLE("a literal");
}

} // namespace imbrex::passes::rules
