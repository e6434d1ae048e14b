#include "backend/lower/values/combine.h"

#include "backend/support/check.h"

namespace imbrex::lower {

using ir::Combine;
using ir::ElementKind;
using ir::OpKind;
using llvm::Value;

namespace {

std::uint64_t floatBits(ElementKind element, const llvm::APFloat &value) {
  llvm::APFloat converted = value;
  bool inexact = false;
  converted.convert(floatFormat(element), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return converted.bitcastToAPInt().getZExtValue();
}

std::uint64_t identityBits(Combine combine, ElementKind element) {
  const std::int32_t unused = 64 - info(element).bits;
  const std::uint64_t ones = ~std::uint64_t{0} << unused >> unused;
  const std::uint64_t lowest = isSigned(element) ? ones ^ ones >> 1 : 0;
  const std::uint64_t highest = isSigned(element) ? ones >> 1 : ones;
  const auto infinity = [&](bool negative) {
    return floatBits(element, llvm::APFloat::getInf(floatFormat(element), negative));
  };
  switch (combine) {
  case Combine::Sum:
    // -0 and not 0: the sum of nothing but -0 is -0.
    return isFloat(element) ? floatBits(element, llvm::APFloat(-0.0)) : 0;
  case Combine::Or:
  case Combine::Xor: return 0;
  case Combine::Prod: return isFloat(element) ? floatBits(element, llvm::APFloat(1.0)) : 1;
  case Combine::And: return ones;
  case Combine::MinNan: return isFloat(element) ? infinity(false) : highest;
  case Combine::MaxNan: return isFloat(element) ? infinity(true) : lowest;
  case Combine::Min:
  case Combine::ArgMin:
  case Combine::Max:
  case Combine::ArgMax: {
    if (isFloat(element))
      return llvm::APFloat::getQNaN(floatFormat(element)).bitcastToAPInt().getZExtValue();
    return combine == Combine::Min || combine == Combine::ArgMin ? highest : lowest;
  }
  case Combine::Region: break;
  }
  IMBREX_UNREACHABLE("a region has no identity");
}

/// The bits of floats, so that -0 and 0 differ and a NaN equals itself.
Value *bitsOf(llvm::IRBuilder<> &b, Value *x) {
  return b.CreateBitCast(x,
                         lanesLike(x->getType(), b.getIntNTy(x->getType()->getScalarSizeInBits())));
}

Value *isNumber(llvm::IRBuilder<> &b, ElementKind element, Value *x) {
  if (!isFloat(element))
    return llvm::Constant::getAllOnesValue(lanesLike(x->getType(), b.getInt1Ty()));
  Value *wide = isHalf(element) ? emitWiden(b, element, x) : x;
  return b.CreateFCmpORD(wide, wide);
}

} // namespace

ElementKind accumulatorOf(Combine combine, ElementKind element) {
  const bool rounds = combine == Combine::Sum || combine == Combine::Prod;
  return isHalf(element) && rounds ? ElementKind::F32 : element;
}

llvm::Constant *identityOf(Combine combine, ElementKind element, llvm::Type *type) {
  return splatBits(type, identityBits(combine, element));
}

llvm::Constant *startOf(Combine combine, ElementKind element, llvm::Type *type) {
  if (!isFloat(element)) return identityOf(combine, element, type);
  if (combine == Combine::Sum) return llvm::Constant::getNullValue(type);
  if (combine == Combine::Min) return identityOf(Combine::MinNan, element, type);
  if (combine == Combine::Max) return identityOf(Combine::MaxNan, element, type);
  return identityOf(combine, element, type);
}

Value *emitCombine(llvm::IRBuilder<> &builder, Combine combine, ElementKind element, Value *a,
                   Value *b, const NativeInstructions &natives) {
  return emitElementwise(builder, opOf(combine), element, {a, b}, natives);
}

Value *emitAccumulate(llvm::IRBuilder<> &builder, Combine combine, ElementKind element, Value *a,
                      Value *b, const NativeInstructions &natives) {
  const bool isSingle = element == ElementKind::F32 || element == ElementKind::F64;
  if (isSingle && (combine == Combine::Min || combine == Combine::Max))
    return emitAccumulatedExtremum(builder, combine == Combine::Max, a, b, natives);
  return emitCombine(builder, combine, element, a, b, natives);
}

ValueWithIndex emitCombineArg(llvm::IRBuilder<> &builder, Combine combine, ElementKind element,
                              const ValueWithIndex &a, const ValueWithIndex &b,
                              const NativeInstructions &natives) {
  Value *best = emitCombine(builder, combine, element, a.value, b.value, natives);
  Value *bestBits = bitsOf(builder, best);
  Value *aBits = bitsOf(builder, a.value), *bBits = bitsOf(builder, b.value);
  Value *isBetter =
      builder.CreateAnd(builder.CreateICmpNE(bestBits, aBits), isNumber(builder, element, b.value));
  Value *isEarlier = builder.CreateAnd(builder.CreateICmpEQ(aBits, bBits),
                                       builder.CreateICmpULT(b.index, a.index));
  Value *takes = builder.CreateOr(isBetter, isEarlier);
  return {builder.CreateSelect(takes, b.value, a.value),
          builder.CreateSelect(takes, b.index, a.index)};
}

} // namespace imbrex::lower
