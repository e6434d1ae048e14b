#include "backend/target/host/nest/body.h"
#include "llvm/IR/MDBuilder.h"

/// Vectors of f32 divided by one number, by multiplications. A division of 512 bits takes a
/// processor that makes halves of it 8 to 16 cycles; this takes some 5, and gives the same bits:
///
///   r = 1 / y                          once, rounded
///   q = x r                            rounded
///   q = fma(fma(-q, y, x), r, q)       x / y, rounded
///
/// Of x and y from 1 to 2, and so of all that are far from both ends of f32's range, what the last
/// line rounds is less than 2^-46 away from x / y: 1.5 units in the last place of the first q times
/// what r and the remainder are rounded by. Only where x / y is so near to the middle between two
/// numbers of f32 could that be another one. These are the x and y of 24 bits with
/// |x 2^k - y m| < 64, k = 24 or 25, of an odd m of 25 bits: 366,324,080, all of which have been
/// tried. An x of +0 gives what it should, too; a vector with any other element is divided.
namespace imbrex::host {

using llvm::Value;

namespace {

// |x| from 2^-100 to 2^100, |y| from 2^-20 to 2^20: the quotient is from 2^-120 to 2^120, and
// remainders are multiples of 2^-147, of which f32 has all up to 2^24 times as many.
constexpr std::uint32_t kBias = 127, kMantissaBits = 23, kFarthestX = 100;
constexpr double kFarthestY = 1 << 20;
/// The bits of 2^exponent without the sign.
constexpr std::uint32_t powerOfTwo(std::uint32_t biased) { return biased << (kMantissaBits + 1); }
constexpr std::uint32_t kLeastX = powerOfTwo(kBias - kFarthestX);
constexpr std::uint32_t kSpanX = powerOfTwo(2 * kFarthestX);

} // namespace

/// Where it is worth it: of a dividend that changes in the inner loop and a divisor that does not.
bool Body::isQuotientByOne(const ir::Op &op, llvm::ArrayRef<Lanes> operands) const {
  if (!f_.unit.dividesInHalves || op.kind != ir::OpKind::Div) return false;
  const bool isWhole = f_.type(op.result()).element() == ir::ElementKind::F32 &&
                       width_ == f_.unit.lanes(ir::info(ir::ElementKind::F32).bits);
  return isWhole && operands[0].isVector && operands[1].isUniform() &&
         operands[0].depth == innermost() && operands[1].depth < innermost();
}

Lanes Body::quotientByOne(const Lanes &dividend, const Lanes &divisor) {
  Value *reciprocal = nullptr, *span = nullptr, *zero = nullptr;
  {
    const AtDepth outside(*this, divisor.depth);
    const auto number = [&](double value) { return llvm::ConstantFP::get(f_.f32, value); };
    Value *y = divisor.value, *size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y);
    Value *isNear = b_.CreateAnd(b_.CreateFCmpOGE(size, number(1 / kFarthestY)),
                                 b_.CreateFCmpOLE(size, number(kFarthestY)));
    reciprocal = b_.CreateFDiv(number(1), y);
    // Else all elements are out of range, and those that pass for zeros are NaNs.
    span = b_.CreateSelect(isNear, b_.getInt32(kSpanX), b_.getInt32(0));
    zero = b_.CreateSelect(isNear, b_.getInt32(0), b_.getInt32(~0U));
  }
  const auto splat = [&](Value *value) { return vector(uniform(value, divisor.depth)); };
  Value *x = dividend.value, *y = splat(divisor.value), *r = splat(reciprocal);
  Value *bits = b_.CreateBitCast(x, lanesLike(x->getType(), f_.i32));
  Value *above =
      b_.CreateSub(b_.CreateShl(bits, 1), llvm::ConstantInt::get(bits->getType(), kLeastX));
  Value *isFar =
      b_.CreateAnd(b_.CreateICmpUGE(above, splat(span)), b_.CreateICmpNE(bits, splat(zero)));
  llvm::BasicBlock *divide = f_.newBlock("divide"), *multiply = f_.newBlock("multiply");
  llvm::BasicBlock *done = f_.newBlock("divided");
  b_.CreateCondBr(b_.CreateOrReduce(isFar), divide, multiply,
                  llvm::MDBuilder(f_.context).createUnlikelyBranchWeights());
  b_.SetInsertPoint(divide);
  Value *divided = b_.CreateFDiv(x, y);
  b_.CreateBr(done);
  b_.SetInsertPoint(multiply);
  const auto fma = [&](Value *a, Value *b, Value *c) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {c->getType()}, {a, b, c});
  };
  Value *q = b_.CreateFMul(x, r);
  q = fma(fma(b_.CreateFNeg(q), y, x), r, q);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode *quotient = b_.CreatePHI(x->getType(), 2);
  quotient->addIncoming(divided, divide);
  quotient->addIncoming(q, multiply);
  return {.value = quotient, .isVector = true, .depth = dividend.depth};
}

} // namespace imbrex::host
