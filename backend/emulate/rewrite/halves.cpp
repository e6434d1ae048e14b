#include "backend/emulate/rewrite/halves.h"

#include "backend/emulate/run/calls.h"
#include "backend/math/native.h"
#include "backend/math/small_float.h"
#include "llvm/IR/IntrinsicInst.h"

#include <cmath>

/// A sum, product or quotient of halves, and a square root, is rounded twice, to f32 and then to
/// the half, without harm: f32 has more than twice as many bits and two more (S. Figueroa, "When is
/// double rounding innocuous?", 1995). What has no such room is rounded to odd first.
namespace imbrex::emulate {
namespace {

using llvm::Value;

// --- called by compiled code ---

template <math::SmallFormat format>
std::uint32_t narrow(double x) {
  return math::encode<format>(math::bitsOf(math::roundedToOdd(x)));
}

/// The f64 next to a sum, its last bit set if the sum is not exact; `error` is what is missing.
double toOdd(double sum, double error) {
  if (error == 0 || !std::isfinite(sum) || (math::bitsOf(sum) & 1) != 0) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

/// The product of two halves is exact in f64; Knuth's sum says what is lost of the rest.
double fuse(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  const double ofC = sum - product, ofProduct = sum - ofC;
  return toOdd(sum, (product - ofProduct) + (c - ofC));
}

double fromUnsigned(std::uint64_t x) {
  // Bits that f64 has no room for, and that only say whether there are any.
  constexpr std::uint64_t kLow = (1 << 11) - 1;
  const std::uint64_t kept = (x & ~kLow) | ((x & kLow) != 0 ? kLow + 1 : 0);
  return x < (std::uint64_t{1} << 53) ? static_cast<double>(x) : static_cast<double>(kept);
}

double fromSigned(std::int64_t x) {
  const auto magnitude = static_cast<std::uint64_t>(x);
  return x < 0 ? -fromUnsigned(0 - magnitude) : fromUnsigned(magnitude);
}

// --- their calls ---

bool isHalf(const llvm::Type *type) { return type->isHalfTy() || type->isBFloatTy(); }

Value *toDouble(Builder &b, Value *x) {
  return x->getType()->isDoubleTy() ? x : b.CreateFPExt(x, b.getDoubleTy());
}

Value *narrowed(Builder &b, Value *x, llvm::Type *to) {
  auto *function = to->isHalfTy() ? narrow<math::kF16> : narrow<math::kBF16>;
  Value *code = createCall(b, function, {toDouble(b, x)});
  return b.CreateBitCast(b.CreateTrunc(code, b.getInt16Ty()), to);
}

Value *ofCast(Builder &b, llvm::Instruction::CastOps cast, Value *x, llvm::Type *to) {
  if (cast == llvm::Instruction::FPTrunc) return narrowed(b, x, to);
  if (cast == llvm::Instruction::SIToFP)
    return narrowed(b, createCall(b, fromSigned, {b.CreateSExtOrTrunc(x, b.getInt64Ty())}), to);
  return narrowed(b, createCall(b, fromUnsigned, {b.CreateZExtOrTrunc(x, b.getInt64Ty())}), to);
}

Value *ofIntrinsic(Builder &b, llvm::Intrinsic::ID id, llvm::ArrayRef<Value *> x, llvm::Type *to) {
  if (id == llvm::Intrinsic::sqrt)
    return narrowed(b, b.CreateUnaryIntrinsic(id, b.CreateFPExt(x[0], b.getFloatTy())), to);
  return narrowed(b, createCall(b, fuse, {toDouble(b, x[0]), toDouble(b, x[1]), toDouble(b, x[2])}),
                  to);
}

bool rounds(const llvm::Instruction &instruction) {
  if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    const llvm::Intrinsic::ID id = call->getIntrinsicID();
    return id == llvm::Intrinsic::fma || id == llvm::Intrinsic::fmuladd ||
           id == llvm::Intrinsic::sqrt;
  }
  return llvm::isa<llvm::FPTruncInst>(instruction) || llvm::isa<llvm::SIToFPInst>(instruction) ||
         llvm::isa<llvm::UIToFPInst>(instruction) || llvm::isa<llvm::BinaryOperator>(instruction);
}

/// The result of the instruction for scalar operands.
Value *ofScalars(Builder &b, llvm::Instruction &instruction, llvm::ArrayRef<Value *> x) {
  llvm::Type *to = instruction.getType()->getScalarType();
  if (auto *cast = llvm::dyn_cast<llvm::CastInst>(&instruction))
    return ofCast(b, cast->getOpcode(), x[0], to);
  if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return ofIntrinsic(b, call->getIntrinsicID(), x, to);
  const auto operation = llvm::cast<llvm::BinaryOperator>(instruction).getOpcode();
  Value *left = b.CreateFPExt(x[0], b.getFloatTy()), *right = b.CreateFPExt(x[1], b.getFloatTy());
  return narrowed(b, b.CreateBinOp(operation, left, right), to);
}

llvm::SmallVector<Value *, 3> operandsOf(llvm::Instruction &instruction) {
  if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
    return {call->arg_begin(), call->arg_end()};
  return {instruction.op_begin(), instruction.op_end()};
}

} // namespace

bool rewriteHalf(Builder &b, llvm::Instruction &instruction) {
  llvm::Type *type = instruction.getType();
  if (!isHalf(type->getScalarType()) || !rounds(instruction)) return false;
  const llvm::SmallVector<Value *, 3> operands = operandsOf(instruction);
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) {
    instruction.replaceAllUsesWith(ofScalars(b, instruction, operands));
    return true;
  }
  Value *all = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    llvm::SmallVector<Value *, 3> elements;
    for (Value *operand : operands) elements.push_back(b.CreateExtractElement(operand, i));
    all = b.CreateInsertElement(all, ofScalars(b, instruction, elements), i);
  }
  instruction.replaceAllUsesWith(all);
  return true;
}

} // namespace imbrex::emulate
