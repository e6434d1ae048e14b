#include "backend/lower/values/arithmetic.h"
#include "backend/support/check.h"
#include "llvm/IR/Intrinsics.h"

#include <cmath>

namespace imbrex::lower {
namespace {

using ir::ElementKind;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

llvm::Type *integersLike(Builder &b, Value *x) {
  return lanesLike(x->getType(), b.getIntNTy(x->getType()->getScalarSizeInBits()));
}

/// f32 rounded so that the upper half of its bits is the bf16, half to even.
Value *roundedToBf16(Builder &b, Value *x) {
  Value *bits = b.CreateBitCast(x, integersLike(b, x));
  Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), numberLike(bits, 1));
  Value *rounded = b.CreateAdd(bits, b.CreateAdd(odd, numberLike(bits, 0x7fff)));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), numberLike(bits, 0x7fc00000), rounded);
}

bool isPair(const Value &x) {
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(x.getType());
  return vector && vector->getNumElements() == 2;
}

/// Of two they are side by side by one instruction, if nobody shifts each before.
Value *upperHalf(Builder &b, Value *bits) {
  if (!isPair(*bits))
    return b.CreateTrunc(b.CreateLShr(bits, 16), lanesLike(bits->getType(), b.getInt16Ty()));
  llvm::Type *const halves = llvm::FixedVectorType::get(b.getInt16Ty(), 4);
  return b.CreateShuffleVector(b.CreateBitCast(bits, halves), {1, 3});
}

/// Each of two is rounded by itself: of a vector, GPUs take out the odd bit by two instructions.
Value *toBf16(Builder &b, Value *x) {
  if (!isPair(*x)) return upperHalf(b, roundedToBf16(b, x));
  const auto [low, high] = halvesOf(b, x);
  return upperHalf(b, vectorOf(b, {roundedToBf16(b, low), roundedToBf16(b, high)}));
}

/// f64 to f32 so that a later rounding to f16 or bf16 is the only one: what is lost leaves an odd
/// last bit.
Value *toF32Odd(Builder &b, Value *x) {
  Value *near = b.CreateFPTrunc(x, lanesLike(x->getType(), b.getFloatTy()));
  Value *back = b.CreateFPExt(near, x->getType());
  Value *bits = b.CreateBitCast(near, integersLike(b, near));
  // An overflow to infinity stays: it is one in f16 and in bf16 too. ONE is false for NaN.
  Value *magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, near);
  Value *finite = b.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(near->getType()));
  Value *isEven = b.CreateICmpEQ(b.CreateAnd(bits, numberLike(bits, 1)), zeroLike(bits));
  Value *adjust = b.CreateAnd(b.CreateAnd(isEven, finite), b.CreateFCmpONE(back, x));
  Value *wentOut = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                   b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x));
  Value *odd = b.CreateSelect(wentOut, b.CreateSub(bits, numberLike(bits, 1)),
                              b.CreateAdd(bits, numberLike(bits, 1)));
  return b.CreateBitCast(b.CreateSelect(adjust, odd, bits), near->getType());
}

/// Any float as f32 or f64, exactly.
Value *widened(Builder &b, ElementKind from, Value *x) {
  return isHalf(from) ? emitWiden(b, from, x) : x;
}

Value *floatToFloat(Builder &b, ElementKind from, ElementKind to, Value *x,
                    const NativeInstructions &natives) {
  Value *wide = widened(b, from, x);
  if (to == ElementKind::F64) return b.CreateFPExt(wide, lanesLike(x->getType(), b.getDoubleTy()));
  const bool fromF64 = from == ElementKind::F64;
  if (to == ElementKind::F32)
    return fromF64 ? b.CreateFPTrunc(wide, lanesLike(x->getType(), b.getFloatTy())) : wide;
  return emitNarrow(b, to, fromF64 ? toF32Odd(b, wide) : wide, natives);
}

/// Truncate a float towards zero in its last step: round to nearest, then step back where that went
/// outward. An infinity that a finite number became turns into the largest finite one likewise.
Value *floatToFloatTowardZero(Builder &b, ElementKind from, ElementKind to, Value *x,
                              const NativeInstructions &natives) {
  Value *rounded = floatToFloat(b, from, to, x, natives);
  Value *wide = widened(b, from, x);
  const ElementKind wider = from == ElementKind::F64 ? ElementKind::F64 : ElementKind::F32;
  Value *back = floatToFloat(b, to, wider, rounded, natives);
  Value *outward = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                   b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, wide));
  Value *bits = b.CreateBitCast(rounded, integersLike(b, rounded));
  Value *inward = b.CreateSub(bits, numberLike(bits, 1)); // sign and magnitude: one less is inward
  return b.CreateBitCast(b.CreateSelect(outward, inward, bits), rounded->getType());
}

Value *floatToInteger(Builder &b, ElementKind from, ElementKind to, Value *x) {
  Value *wide = widened(b, from, x);
  const auto bits = static_cast<std::uint32_t>(info(to).bits);
  llvm::Type *integers = lanesLike(x->getType(), b.getIntNTy(bits));
  const bool isSigned = ir::isSigned(to);
  const llvm::APInt lowest =
      isSigned ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
  const llvm::APInt highest =
      isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  // Powers of two, hence exact: the first value above the range, and the last on or below it.
  const double above = std::ldexp(1.0, static_cast<int>(isSigned ? bits - 1 : bits));
  const double below = isSigned ? -above : 0.0;
  Value *tooHigh = b.CreateFCmpOGE(wide, llvm::ConstantFP::get(wide->getType(), above));
  Value *tooLow = b.CreateFCmpOLE(wide, llvm::ConstantFP::get(wide->getType(), below));
  // LLVM's conversion has no value outside the range, so that it must not see one.
  Value *isNan = b.CreateFCmpUNO(wide, wide);
  Value *outside = b.CreateOr(isNan, b.CreateOr(tooHigh, tooLow));
  Value *inside = b.CreateSelect(outside, zeroLike(wide), wide);
  // Through i32: vector units convert to nothing narrower.
  llvm::Type *direct = bits < 32 ? lanesLike(x->getType(), b.getInt32Ty()) : integers;
  Value *converted =
      isSigned || bits < 32 ? b.CreateFPToSI(inside, direct) : b.CreateFPToUI(inside, direct);
  converted = b.CreateTrunc(converted, integers);
  converted = b.CreateSelect(tooHigh, llvm::ConstantInt::get(integers, highest), converted);
  return b.CreateSelect(tooLow, llvm::ConstantInt::get(integers, lowest), converted);
}

/// An integer of 64 bits as a double that rounds to f32, f16 or bf16 like the integer itself: bits
/// that a double has no room for leave an odd last bit.
Value *integerToOddF64(Builder &b, Value *x, bool isSigned) {
  Value *low = b.CreateAnd(x, numberLike(x, 0x7ff));
  Value *sticky =
      b.CreateSelect(b.CreateICmpEQ(low, zeroLike(x)), zeroLike(x), numberLike(x, 0x800));
  Value *kept = b.CreateOr(b.CreateAnd(x, numberLike(x, ~std::uint64_t{0x7ff})), sticky);
  // Below 2^53 in magnitude every integer is exact as it is.
  Value *shifted = b.CreateAdd(x, numberLike(x, std::uint64_t{1} << 53));
  Value *isSmall = isSigned ? b.CreateICmpULE(shifted, numberLike(x, std::uint64_t{1} << 54))
                            : b.CreateICmpULE(x, numberLike(x, std::uint64_t{1} << 53));
  Value *chosen = b.CreateSelect(isSmall, x, kept);
  llvm::Type *wide = lanesLike(x->getType(), b.getDoubleTy());
  return isSigned ? b.CreateSIToFP(chosen, wide) : b.CreateUIToFP(chosen, wide);
}

/// Drop the bits of the magnitude for which a double has no room; the rest converts exactly.
Value *integerToF64TowardZero(Builder &b, Value *x, bool isSigned) {
  Value *magnitude = isSigned ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
  Value *unused = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, magnitude, b.getFalse());
  constexpr std::uint64_t kSpare = 64 - 53;
  Value *excess = b.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, numberLike(x, kSpare), unused);
  Value *kept = b.CreateShl(b.CreateLShr(magnitude, excess), excess);
  Value *result = b.CreateUIToFP(kept, lanesLike(x->getType(), b.getDoubleTy()));
  if (!isSigned) return result;
  return b.CreateSelect(b.CreateICmpSLT(x, zeroLike(x)), b.CreateFNeg(result), result);
}

/// An f16 that an integer became, as infinity where that is so. LLVM 22 takes
/// fpext(fptrunc(sitofp)) for sitofp where the integer has few significant bits, and forgets that a
/// half overflows (InstCombine, fpext of an integer's conversion); this it cannot look through.
Value *overflowed(Builder &b, Value *x, bool isSigned, Value *half) {
  constexpr std::uint64_t kLargest = 65519; // the last integer that rounds to a finite half
  Value *bound = numberLike(x, kLargest);
  Value *isAbove = isSigned ? b.CreateICmpSGT(x, bound) : b.CreateICmpUGT(x, bound);
  Value *result = b.CreateSelect(isAbove, splatBits(half->getType(), 0x7c00), half);
  if (!isSigned) return result;
  Value *isBelow = b.CreateICmpSLT(x, numberLike(x, -kLargest));
  return b.CreateSelect(isBelow, splatBits(half->getType(), 0xfc00), result);
}

/// An integer of up to 16 bits is exact in f32, and a byte in a half too: of bf16 it is the upper
/// half of the bits.
Value *fromShortInteger(Builder &b, ElementKind from, ElementKind to, ir::Rounding rounding,
                        Value *exact, const NativeInstructions &natives) {
  if (to != ElementKind::BF16 || !isExactInBf16(from))
    return emitCast(b, ElementKind::F32, to, rounding, exact, natives);
  return upperHalf(b, b.CreateBitCast(exact, integersLike(b, exact)));
}

Value *integerToFloat(Builder &b, ElementKind from, ElementKind to, ir::Rounding rounding, Value *x,
                      const NativeInstructions &natives) {
  const bool isSigned = ir::isSigned(from);
  const auto convert = [&](llvm::Type *element) {
    llvm::Type *floats = lanesLike(x->getType(), element);
    return isSigned ? b.CreateSIToFP(x, floats) : b.CreateUIToFP(x, floats);
  };
  const bool towardZero = rounding == ir::Rounding::TowardZero;
  if (to == ElementKind::F64 && (info(from).bits < 64 || !towardZero))
    return convert(b.getDoubleTy());
  if (to == ElementKind::F64) return integerToF64TowardZero(b, x, isSigned);
  if (to == ElementKind::F32 && !towardZero) return convert(b.getFloatTy());
  if (info(from).bits <= 16)
    return fromShortInteger(b, from, to, rounding, convert(b.getFloatTy()), natives);
  Value *wide = info(from).bits < 64 ? convert(b.getDoubleTy()) : integerToOddF64(b, x, isSigned);
  Value *result = emitCast(b, ElementKind::F64, to, rounding, wide, natives);
  const bool mayOverflow = to == ElementKind::F16 && info(from).bits > 16;
  return mayOverflow && !towardZero ? overflowed(b, x, isSigned, result) : result;
}

Value *fromBool(Builder &b, ElementKind to, Value *x, const NativeInstructions &natives) {
  if (isInteger(to))
    return b.CreateZExt(x,
                        lanesLike(x->getType(), b.getIntNTy(static_cast<unsigned>(info(to).bits))));
  Value *number = b.CreateUIToFP(x, lanesLike(x->getType(), b.getFloatTy()));
  return floatToFloat(b, ElementKind::F32, to, number, natives);
}

Value *toBool(Builder &b, ElementKind from, Value *x) {
  if (!isFloat(from)) return b.CreateICmpNE(x, zeroLike(x));
  Value *wide = widened(b, from, x);
  return b.CreateFCmpUNE(wide, zeroLike(wide));
}

} // namespace

Value *emitWiden(Builder &b, ElementKind from, Value *bits) {
  if (from == ElementKind::F16)
    return b.CreateFPExt(b.CreateBitCast(bits, lanesLike(bits->getType(), b.getHalfTy())),
                         lanesLike(bits->getType(), b.getFloatTy()));
  Value *wide = b.CreateZExt(bits, lanesLike(bits->getType(), b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(wide, 16), lanesLike(bits->getType(), b.getFloatTy()));
}

Value *emitNarrow(Builder &b, ElementKind to, Value *f32, const NativeInstructions &natives) {
  const bool isBf16 = to == ElementKind::BF16;
  if (isBf16 && !natives.rounds(to, "cast")) return toBf16(b, f32);
  llvm::Type *half = isBf16 ? b.getBFloatTy() : b.getHalfTy();
  return b.CreateBitCast(b.CreateFPTrunc(f32, lanesLike(f32->getType(), half)),
                         lanesLike(f32->getType(), b.getInt16Ty()));
}

Value *emitCast(Builder &b, ElementKind from, ElementKind to, ir::Rounding rounding, Value *x,
                const NativeInstructions &natives) {
  if (from == to) return x;
  IMBREX_CHECK(!isNarrowFloat(from) && !isNarrowFloat(to),
               "a pass expands the conversion of {0} to {1}", info(from).name, info(to).name);
  if (from == ElementKind::Bool) return fromBool(b, to, x, natives);
  if (to == ElementKind::Bool) return toBool(b, from, x);
  if (isFloat(from) && isFloat(to))
    return rounding == ir::Rounding::TowardZero ? floatToFloatTowardZero(b, from, to, x, natives)
                                                : floatToFloat(b, from, to, x, natives);
  if (isFloat(from)) return floatToInteger(b, from, to, x);
  if (isFloat(to)) return integerToFloat(b, from, to, rounding, x, natives);
  llvm::Type *integers = lanesLike(x->getType(), b.getIntNTy(static_cast<unsigned>(info(to).bits)));
  return ir::isSigned(from) ? b.CreateSExtOrTrunc(x, integers) : b.CreateZExtOrTrunc(x, integers);
}

} // namespace imbrex::lower
