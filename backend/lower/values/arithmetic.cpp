#include "backend/lower/values/arithmetic.h"

#include "backend/machine/machine.h"
#include "backend/support/check.h"
#include "llvm/IR/Intrinsics.h"

namespace imbrex::lower {
namespace {

using ir::ElementKind;
using ir::OpKind;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

std::uint32_t bitsOf(Value *x) { return x->getType()->getScalarSizeInBits(); }

// --- integers ---

/// A divisor that no CPU traps on: 1 in place of 0, and of -1 under the lowest dividend (x / 1 is
/// then the wrapped quotient, and x % 1 the remainder).
Value *safeDivisor(Builder &b, Value *x, Value *y, bool isSigned) {
  Value *unsafe = b.CreateICmpEQ(y, zeroLike(y));
  if (isSigned) {
    Value *lowest = llvm::ConstantInt::get(x->getType(), llvm::APInt::getSignedMinValue(bitsOf(x)));
    Value *minusOne = llvm::Constant::getAllOnesValue(y->getType());
    unsafe =
        b.CreateOr(unsafe, b.CreateAnd(b.CreateICmpEQ(x, lowest), b.CreateICmpEQ(y, minusOne)));
  }
  return b.CreateSelect(unsafe, numberLike(y, 1), y);
}

/// Vectors have no integer division. Up to 32 bits a quotient of doubles is exact after truncation:
/// the nearest quotient below an integer is farther from it than a double's rounding reaches.
Value *quotient(Builder &b, Value *x, Value *y, bool isSigned) {
  if (!x->getType()->isVectorTy() || bitsOf(x) > 32 || llvm::isa<llvm::Constant>(y))
    return isSigned ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
  llvm::Type *wide = lanesLike(x->getType(), b.getDoubleTy());
  const auto convert = [&](Value *v) {
    return isSigned ? b.CreateSIToFP(v, wide) : b.CreateUIToFP(v, wide);
  };
  Value *ratio = b.CreateFDiv(convert(x), convert(y));
  return isSigned ? b.CreateFPToSI(ratio, x->getType()) : b.CreateFPToUI(ratio, x->getType());
}

Value *divide(Builder &b, Value *x, Value *y, bool isSigned) {
  Value *q = quotient(b, x, safeDivisor(b, x, y, isSigned), isSigned);
  return b.CreateSelect(b.CreateICmpEQ(y, zeroLike(y)), zeroLike(x), q);
}

Value *remainder(Builder &b, Value *x, Value *y, bool isSigned) {
  Value *safe = safeDivisor(b, x, y, isSigned);
  return b.CreateSub(x, b.CreateMul(quotient(b, x, safe, isSigned), safe));
}

Value *ceilDivide(Builder &b, Value *x, Value *y, bool isSigned) {
  Value *safe = safeDivisor(b, x, y, isSigned);
  Value *q = quotient(b, x, safe, isSigned);
  Value *inexact = b.CreateICmpNE(b.CreateMul(q, safe), x);
  // Truncation rounded up already where the exact quotient is negative.
  if (isSigned) inexact = b.CreateAnd(inexact, b.CreateICmpSGE(b.CreateXor(x, safe), zeroLike(x)));
  Value *up = b.CreateAdd(q, b.CreateZExt(inexact, q->getType()));
  return b.CreateSelect(b.CreateICmpEQ(y, zeroLike(y)), zeroLike(x), up);
}

Value *mulHigh(Builder &b, Value *x, Value *y) {
  const std::uint32_t bits = bitsOf(x);
  llvm::Type *wide = lanesLike(x->getType(), b.getIntNTy(2 * bits));
  Value *product = b.CreateMul(b.CreateZExt(x, wide), b.CreateZExt(y, wide));
  return b.CreateTrunc(b.CreateLShr(product, bits), x->getType());
}

Value *shift(Builder &b, OpKind kind, Value *x, Value *y, bool isSigned) {
  Value *inRange = b.CreateICmpULT(y, numberLike(y, bitsOf(x)));
  if (kind == OpKind::Shr && isSigned) {
    Value *amount = b.CreateSelect(inRange, y, numberLike(y, bitsOf(x) - 1));
    return b.CreateAShr(x, amount);
  }
  Value *amount = b.CreateSelect(inRange, y, zeroLike(y));
  Value *shifted = kind == OpKind::Shl ? b.CreateShl(x, amount) : b.CreateLShr(x, amount);
  return b.CreateSelect(inRange, shifted, zeroLike(x));
}

Value *integerOp(Builder &b, OpKind kind, bool isSigned, llvm::ArrayRef<Value *> x) {
  using Predicate = llvm::CmpInst::Predicate;
  const auto compare = [&](Predicate forSigned, Predicate forUnsigned) {
    return b.CreateICmp(isSigned ? forSigned : forUnsigned, x[0], x[1]);
  };
  const auto choose = [&](Value *first) { return b.CreateSelect(first, x[0], x[1]); };
  if (kind == OpKind::Neg) return b.CreateNeg(x[0]);
  if (kind == OpKind::Abs)
    return isSigned ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x[0], b.getFalse()) : x[0];
  if (kind == OpKind::Not) return b.CreateNot(x[0]);
  if (kind == OpKind::Add) return b.CreateAdd(x[0], x[1]);
  if (kind == OpKind::Sub) return b.CreateSub(x[0], x[1]);
  if (kind == OpKind::Mul) return b.CreateMul(x[0], x[1]);
  if (kind == OpKind::Div) return divide(b, x[0], x[1], isSigned);
  if (kind == OpKind::Rem) return remainder(b, x[0], x[1], isSigned);
  if (kind == OpKind::CeilDiv) return ceilDivide(b, x[0], x[1], isSigned);
  if (kind == OpKind::MulHigh) return mulHigh(b, x[0], x[1]);
  if (kind == OpKind::And) return b.CreateAnd(x[0], x[1]);
  if (kind == OpKind::Or) return b.CreateOr(x[0], x[1]);
  if (kind == OpKind::Xor) return b.CreateXor(x[0], x[1]);
  if (kind == OpKind::Shl || kind == OpKind::Shr) return shift(b, kind, x[0], x[1], isSigned);
  if (kind == OpKind::Eq) return b.CreateICmpEQ(x[0], x[1]);
  if (kind == OpKind::Ne) return b.CreateICmpNE(x[0], x[1]);
  if (kind == OpKind::Lt) return compare(Predicate::ICMP_SLT, Predicate::ICMP_ULT);
  if (kind == OpKind::Le) return compare(Predicate::ICMP_SLE, Predicate::ICMP_ULE);
  if (kind == OpKind::Gt) return compare(Predicate::ICMP_SGT, Predicate::ICMP_UGT);
  if (kind == OpKind::Ge) return compare(Predicate::ICMP_SGE, Predicate::ICMP_UGE);
  if (kind == OpKind::Min) return choose(compare(Predicate::ICMP_SLT, Predicate::ICMP_ULT));
  if (kind == OpKind::Max) return choose(compare(Predicate::ICMP_SGT, Predicate::ICMP_UGT));
  return nullptr;
}

// --- floats ---

/// `sum`, which is x + y rounded to nearest, rounded to odd instead: where it is inexact, its last
/// bit is set, so that rounding it again to fewer bits is as if x + y had been rounded once.
Value *toOdd(Builder &b, Value *sum, Value *x, Value *y) {
  Value *yPart = b.CreateFSub(sum, x);
  Value *error = b.CreateFAdd(b.CreateFSub(x, b.CreateFSub(sum, yPart)), b.CreateFSub(y, yPart));
  llvm::Type *integers = lanesLike(sum->getType(), b.getIntNTy(bitsOf(sum)));
  Value *bits = b.CreateBitCast(sum, integers);
  Value *isEven = b.CreateICmpEQ(b.CreateAnd(bits, numberLike(bits, 1)), zeroLike(bits));
  Value *zero = zeroLike(error);
  // An infinite or NaN sum has a NaN error, which is ordered with nothing.
  Value *adjust = b.CreateAnd(isEven, b.CreateFCmpONE(error, zero));
  // The true sum lies beyond `sum` in magnitude when the error has its sign.
  Value *outward =
      b.CreateICmpSGE(b.CreateXor(bits, b.CreateBitCast(error, integers)), zeroLike(bits));
  Value *odd = b.CreateSelect(outward, b.CreateAdd(bits, numberLike(bits, 1)),
                              b.CreateSub(bits, numberLike(bits, 1)));
  return b.CreateBitCast(b.CreateSelect(adjust, odd, bits), sum->getType());
}

/// In f32, where the product of two halves is exact, but for some of bf16 that overflow or fall
/// below the subnormals. These spoil nothing: the fused sum is right in f32 whatever the product
/// is. Where an infinite product leaves it finite, it is exact (both terms are multiples of 2^113,
/// and less than 2^128 is left), and no error is seen. Where bits are lost below 2^-149, a product
/// of 16 bits is less than 2^-134, half the least bf16, and so next to c, whose last place is
/// 2^-133 at least, the sum is not half way between two bf16: no second rounding errs.
Value *fmaOfHalves(Builder &b, ElementKind element, llvm::ArrayRef<Value *> x,
                   const NativeInstructions &natives) {
  llvm::SmallVector<Value *, 3> wide;
  for (Value *v : x) wide.push_back(emitWiden(b, element, v));
  Value *sum = b.CreateIntrinsic(llvm::Intrinsic::fma, wide[0]->getType(), wide);
  return emitNarrow(b, element, toOdd(b, sum, b.CreateFMul(wide[0], wide[1]), wide[2]), natives);
}

/// A number, other than 0, that every lane shares.
bool isPlainConstant(Value *x) {
  const auto *constant = llvm::dyn_cast<llvm::Constant>(x);
  if (constant && x->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto *number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number && !number->isZero() && !number->isNaN();
}

/// The larger (smaller) of two floats, -0 below 0. LLVM 22 loses a number against a NaN in its own
/// `maximumnum` when it knows that one operand is a number, hence our own: of CPUs' maximum, which
/// is the second operand where nothing is greater, we choose the order of the operands such that a
/// zero of the right sign comes second, and take back a NaN that came second.
Value *extremum(Builder &b, bool isMax, bool propagatesNan, llvm::ArrayRef<Value *> x,
                const NativeInstructions &natives, bool firstIsQuiet = false) {
  const auto winner = [&](Value *first, Value *second) {
    Value *wins = isMax ? b.CreateFCmpOGT(first, second) : b.CreateFCmpOLT(first, second);
    return b.CreateSelect(wins, first, second);
  };
  if (propagatesNan) {
    // A NaN is not beaten by a number.
    if (natives.keepsNaN && x[0]->getType()->isFloatTy())
      return b.CreateBinaryIntrinsic(isMax ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum,
                                     x[0], x[1]);
    if (isPlainConstant(x[1])) return winner(x[1], x[0]);
    if (isPlainConstant(x[0])) return winner(x[0], x[1]);
  } else {
    if (!natives.takesConstants && isPlainConstant(x[1])) return winner(x[0], x[1]);
    if (!natives.takesConstants && isPlainConstant(x[0])) return winner(x[1], x[0]);
    Value *native = natives.extremum ? natives.extremum(b, isMax, firstIsQuiet, x) : nullptr;
    if (native) return native;
  }
  Value *bits = b.CreateBitCast(x[0], lanesLike(x[0]->getType(), b.getIntNTy(bitsOf(x[0]))));
  Value *isNegative = b.CreateICmpSLT(bits, zeroLike(bits));
  Value *first = b.CreateSelect(isNegative, x[isMax ? 0 : 1], x[isMax ? 1 : 0]);
  Value *second = b.CreateSelect(isNegative, x[isMax ? 1 : 0], x[isMax ? 0 : 1]);
  Value *best = winner(first, second);
  if (!propagatesNan) return b.CreateSelect(b.CreateFCmpUNO(best, best), first, best);
  // The second operand is the result already where it is the NaN.
  return b.CreateSelect(b.CreateFCmpUNO(first, first), first, best);
}

Value *floatOp(Builder &b, OpKind kind, llvm::ArrayRef<Value *> x,
               const NativeInstructions &natives) {
  namespace Intrinsic = llvm::Intrinsic;
  const auto unary = [&](Intrinsic::ID id) { return b.CreateUnaryIntrinsic(id, x[0]); };
  if (kind == OpKind::Floor) return unary(Intrinsic::floor);
  if (kind == OpKind::Ceil) return unary(Intrinsic::ceil);
  if (kind == OpKind::Round) return unary(Intrinsic::round);
  if (kind == OpKind::Rint) return unary(Intrinsic::rint);
  if (kind == OpKind::Trunc) return unary(Intrinsic::trunc);
  if (kind == OpKind::Sqrt) return unary(Intrinsic::sqrt);
  if (kind == OpKind::Rsqrt)
    return b.CreateFDiv(llvm::ConstantFP::get(x[0]->getType(), 1.0), unary(Intrinsic::sqrt));
  if (kind == OpKind::Add) return b.CreateFAdd(x[0], x[1]);
  if (kind == OpKind::Sub) return b.CreateFSub(x[0], x[1]);
  if (kind == OpKind::Mul) return b.CreateFMul(x[0], x[1]);
  if (kind == OpKind::Div) return b.CreateFDiv(x[0], x[1]);
  if (kind == OpKind::Rem) return b.CreateFRem(x[0], x[1]);
  if (kind == OpKind::Min) return extremum(b, false, false, x, natives);
  if (kind == OpKind::Max) return extremum(b, true, false, x, natives);
  if (kind == OpKind::MinNan) return extremum(b, false, true, x, natives);
  if (kind == OpKind::MaxNan) return extremum(b, true, true, x, natives);
  if (kind == OpKind::Fma) return b.CreateIntrinsic(Intrinsic::fma, x[0]->getType(), x);
  if (kind == OpKind::Eq) return b.CreateFCmpOEQ(x[0], x[1]);
  if (kind == OpKind::Ne) return b.CreateFCmpUNE(x[0], x[1]);
  if (kind == OpKind::Lt) return b.CreateFCmpOLT(x[0], x[1]);
  if (kind == OpKind::Le) return b.CreateFCmpOLE(x[0], x[1]);
  if (kind == OpKind::Gt) return b.CreateFCmpOGT(x[0], x[1]);
  if (kind == OpKind::Ge) return b.CreateFCmpOGE(x[0], x[1]);
  return nullptr;
}

/// Sign-bit ops on any float, on its bits.
Value *signOp(Builder &b, OpKind kind, Value *x) {
  llvm::Type *integers = lanesLike(x->getType(), b.getIntNTy(bitsOf(x)));
  Value *bits = b.CreateBitCast(x, integers);
  const llvm::APInt sign = llvm::APInt::getSignMask(bitsOf(x));
  Value *result = kind == OpKind::Neg ? b.CreateXor(bits, llvm::ConstantInt::get(integers, sign))
                                      : b.CreateAnd(bits, llvm::ConstantInt::get(integers, ~sign));
  return b.CreateBitCast(result, x->getType());
}

/// By the machine's own instruction.
Value *nativeHalfOp(Builder &b, OpKind kind, ElementKind element, llvm::ArrayRef<Value *> x,
                    const NativeInstructions &natives) {
  llvm::Type *half = element == ElementKind::F16 ? b.getHalfTy() : b.getBFloatTy();
  llvm::SmallVector<Value *, 3> halves;
  for (Value *v : x) halves.push_back(b.CreateBitCast(v, lanesLike(v->getType(), half)));
  return b.CreateBitCast(floatOp(b, kind, halves, natives), x[0]->getType());
}

/// The f32 result of +, -, *, /, sqrt on f16 or bf16 has more than twice their bits, so that
/// rounding it again gives the exact result rounded once; of the others it is exact.
Value *halfOp(Builder &b, OpKind kind, ElementKind element, llvm::ArrayRef<Value *> x,
              const NativeInstructions &natives) {
  if (natives.rounds(element, info(kind).mnemonic))
    return nativeHalfOp(b, kind, element, x, natives);
  if (kind == OpKind::Fma) return fmaOfHalves(b, element, x, natives);
  llvm::SmallVector<Value *, 2> wide;
  for (Value *v : x) wide.push_back(emitWiden(b, element, v));
  Value *result = floatOp(b, kind, wide, natives);
  if (!result || info(kind).typeRule == ir::TypeRule::Comparison) return result;
  return emitNarrow(b, element, result, natives);
}

} // namespace

bool NativeInstructions::rounds(ElementKind element, std::string_view mnemonic) const {
  return machine::lists(element == ElementKind::F16 ? f16Ops : bf16Ops, mnemonic);
}

llvm::Type *laneType(llvm::LLVMContext &context, const ir::Type &type) {
  if (type.isPointerTile()) return llvm::Type::getInt64Ty(context);
  switch (type.element()) {
  case ElementKind::F32: return llvm::Type::getFloatTy(context);
  case ElementKind::F64: return llvm::Type::getDoubleTy(context);
  case ElementKind::Bool: return llvm::Type::getInt1Ty(context);
  case ElementKind::I8:
  case ElementKind::U8:
  case ElementKind::I16:
  case ElementKind::U16:
  case ElementKind::I32:
  case ElementKind::U32:
  case ElementKind::I64:
  case ElementKind::U64:
  case ElementKind::F16:
  case ElementKind::BF16:
  case ElementKind::F8E4M3FN:
  case ElementKind::F8E5M2:
  case ElementKind::F8E4M3FNUZ:
  case ElementKind::F8E5M2FNUZ:
  case ElementKind::F4E2M1:
  case ElementKind::E8M0:
    return llvm::IntegerType::get(context,
                                  static_cast<unsigned>(std::max(8, info(type.element()).bits)));
  }
  IMBREX_UNREACHABLE("an element of no kind");
}

llvm::Value *zeroLike(llvm::Value *like) { return llvm::Constant::getNullValue(like->getType()); }

llvm::Value *numberLike(llvm::Value *like, std::uint64_t number) {
  return llvm::ConstantInt::get(like->getType(), number);
}

Value *vectorTakenApart(llvm::ArrayRef<Value *> elements) {
  Value *whole = nullptr;
  for (const auto [i, element] : llvm::enumerate(elements)) {
    auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(element);
    const auto *place =
        extract ? llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand()) : nullptr;
    if (!place || place->getZExtValue() != i) return nullptr;
    if (i != 0 && extract->getVectorOperand() != whole) return nullptr;
    whole = extract->getVectorOperand();
  }
  const auto *type = llvm::cast<llvm::FixedVectorType>(whole->getType());
  return type->getNumElements() == elements.size() ? whole : nullptr;
}

Value *vectorOf(Builder &b, llvm::ArrayRef<Value *> elements) {
  if (elements[0]->getType()->isIntegerTy())
    if (Value *whole = vectorTakenApart(elements)) return whole;
  const auto count = static_cast<unsigned>(elements.size());
  Value *vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(elements[0]->getType(), count));
  for (unsigned i = 0; i < count; ++i) vector = b.CreateInsertElement(vector, elements[i], i);
  return vector;
}

std::array<Value *, 2> halvesOf(Builder &b, Value *pair) {
  return {b.CreateExtractElement(pair, std::uint64_t{0}),
          b.CreateExtractElement(pair, std::uint64_t{1})};
}

llvm::Type *lanesLike(llvm::Type *like, llvm::Type *element) {
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

llvm::Constant *splatBits(llvm::Type *type, std::uint64_t bits) {
  llvm::Type *integers =
      lanesLike(type, llvm::IntegerType::get(type->getContext(), type->getScalarSizeInBits()));
  llvm::Constant *value = llvm::ConstantInt::get(integers, bits, false, true);
  return llvm::ConstantExpr::getBitCast(value, type);
}

Value *emitAccumulatedExtremum(Builder &b, bool isMax, Value *accumulator, Value *x,
                               const NativeInstructions &natives) {
  constexpr bool kPropagatesNan = false, kIsQuiet = true;
  return extremum(b, isMax, kPropagatesNan, {accumulator, x}, natives, kIsQuiet);
}

Value *emitElementwise(Builder &b, OpKind kind, ElementKind element, llvm::ArrayRef<Value *> x,
                       const NativeInstructions &natives) {
  if (kind == OpKind::Select) return b.CreateSelect(x[0], x[1], x[2]);
  Value *result = nullptr;
  if (!isFloat(element))
    result = integerOp(b, kind, isSigned(element), x);
  else if (kind == OpKind::Neg || kind == OpKind::Abs)
    result = signOp(b, kind, x[0]);
  else if (isHalf(element))
    result = halfOp(b, kind, element, x, natives);
  else
    result = floatOp(b, kind, x, natives);
  IMBREX_CHECK(result, "no target has '{0}': a pass expands it", info(kind).mnemonic);
  return result;
}

Value *emitTripCount(Builder &b, Value *low, Value *high, Value *step, bool isSigned) {
  Value *zero = zeroLike(low), *one = numberLike(low, 1);
  Value *up = isSigned ? b.CreateICmpSGT(step, zero) : b.CreateICmpNE(step, zero);
  Value *down = isSigned ? b.CreateICmpSLT(step, zero) : b.getFalse();
  const auto below = [&](Value *x, Value *y) {
    return isSigned ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
  };
  Value *runs = b.CreateOr(b.CreateAnd(up, below(low, high)), b.CreateAnd(down, below(high, low)));
  Value *distance = b.CreateSelect(up, b.CreateSub(high, low), b.CreateSub(low, high));
  Value *size = b.CreateSelect(runs, b.CreateSelect(up, step, b.CreateNeg(step)), one);
  Value *trips = b.CreateAdd(b.CreateUDiv(b.CreateSub(distance, one), size), one);
  return b.CreateSelect(runs, trips, zero);
}

} // namespace imbrex::lower
