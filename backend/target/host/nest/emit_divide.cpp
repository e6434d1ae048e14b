#include "backend/lower/values/emitted_scalar.h"
#include "backend/math/quotient.h"
#include "backend/target/host/nest/body.h"
#include "llvm/IR/MDBuilder.h"

/// Vectors of f32 divided by one number, by its reciprocal (backend/math/quotient.h), where all of
/// the vector is in range; else they are divided. A division of 512 bits takes a processor that
/// makes halves of it 8 to 16 cycles; this takes some 5, and gives the same bits.
namespace imbrex::host {

using llvm::Value;
using Single = lower::EmittedScalar<float>;
using Word = lower::EmittedScalar<std::uint32_t>;
using Flag = lower::EmittedScalar<bool>;

/// Where it is worth it: of a dividend that changes in the inner loop and a divisor that does not.
bool Body::isQuotientByOne(const ir::Op &op, llvm::ArrayRef<Lanes> operands) const {
  if (!f_.unit.dividesInHalves || op.kind != ir::OpKind::Div) return false;
  const bool isWhole = f_.type(op.result()).element() == ir::ElementKind::F32 &&
                       width_ == f_.unit.lanes(ir::info(ir::ElementKind::F32).bits);
  return isWhole && operands[0].isVector && operands[1].isUniform() &&
         operands[0].depth == innermost() && operands[1].depth < innermost();
}

Lanes Body::quotientByOne(const Lanes &dividend, const Lanes &divisor) {
  Value *reciprocal = nullptr, *isTame = nullptr, *allowance = nullptr;
  {
    const AtDepth outside(*this, divisor.depth);
    const auto bits = bitsOf(Single(b_, divisor.value));
    reciprocal = b_.CreateFDiv(Single(1).in(b_), divisor.value);
    isTame = math::isTameDivisor(bits).in(b_);
    allowance = math::allowanceForZero(bits).in(b_);
  }
  const auto splat = [&](Value *value) { return vector(uniform(value, divisor.depth)); };
  const Single x(b_, dividend.value), y(b_, splat(divisor.value)), r(b_, splat(reciprocal));
  const Flag isLarge =
      math::areLargeEnough(math::sizeOfDividend(bitsOf(x), Word(b_, splat(allowance))));
  const Flag isSmall = math::areSmallEnough(abs(x));
  Value *areInRange = b_.CreateAndReduce(b_.CreateAnd(isLarge.in(b_), isSmall.in(b_)));
  llvm::BasicBlock *divide = f_.newBlock("divide"), *multiply = f_.newBlock("multiply");
  llvm::BasicBlock *done = f_.newBlock("divided");
  b_.CreateCondBr(b_.CreateAnd(areInRange, isTame), multiply, divide,
                  llvm::MDBuilder(f_.context).createLikelyBranchWeights());
  b_.SetInsertPoint(divide);
  Value *divided = b_.CreateFDiv(x.value, y.value);
  b_.CreateBr(done);
  b_.SetInsertPoint(multiply);
  Value *multiplied = math::quotientBy(r, x, y).in(b_);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode *quotient = b_.CreatePHI(x.value->getType(), 2);
  quotient->addIncoming(divided, divide);
  quotient->addIncoming(multiplied, multiply);
  return {.value = quotient, .isVector = true, .depth = dividend.depth};
}

} // namespace imbrex::host
