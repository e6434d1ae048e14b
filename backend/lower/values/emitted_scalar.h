#pragma once

#include "backend/math/precision.h"
#include "llvm/IR/IRBuilder.h"

#include <concepts>
#include <type_traits>

/// Numbers of a thread that write what is done with them: the vocabulary of backend/math (native.h)
/// spoken in LLVM IR. A template of that folder, called with these, writes the instructions that
/// compute it.
namespace imbrex::lower {

template <class Scalar>
llvm::Type *typeOf(llvm::IRBuilder<> &b) {
  if constexpr (std::is_same_v<Scalar, float>) return b.getFloatTy();
  if constexpr (std::is_same_v<Scalar, double>) return b.getDoubleTy();
  if constexpr (std::is_same_v<Scalar, bool>) return b.getInt1Ty();
  return b.getIntNTy(8 * sizeof(Scalar));
}

template <class Scalar>
struct EmittedScalar {
  EmittedScalar(llvm::IRBuilder<> &builder, llvm::Value *number) : b(&builder), value(number) {}
  /// A constant, which knows no builder.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit EmittedScalar(Number number) : constant(static_cast<Scalar>(number)) {}

  llvm::Value *in(llvm::IRBuilder<> &builder) const {
    if (value != nullptr) return value;
    if constexpr (std::is_floating_point_v<Scalar>)
      return llvm::ConstantFP::get(typeOf<Scalar>(builder), static_cast<double>(constant));
    else
      return llvm::ConstantInt::get(typeOf<Scalar>(builder), constant);
  }

  llvm::IRBuilder<> *b = nullptr;
  llvm::Value *value = nullptr;
  Scalar constant = {};
};

template <class S>
llvm::IRBuilder<> &builderOf(const EmittedScalar<S> &x, const EmittedScalar<S> &y) {
  return x.b != nullptr ? *x.b : *y.b;
}

#define IMBREX_EMITTED(symbol, Result, forFloats, forIntegers)                                     \
  template <class S>                                                                               \
  EmittedScalar<Result> operator symbol(const EmittedScalar<S> &x, const EmittedScalar<S> &y) {    \
    llvm::IRBuilder<> &b = builderOf(x, y);                                                        \
    if constexpr (std::is_floating_point_v<S>)                                                     \
      return {b, b.forFloats(x.in(b), y.in(b))};                                                   \
    else                                                                                           \
      return {b, b.forIntegers(x.in(b), y.in(b))};                                                 \
  }
IMBREX_EMITTED(*, S, CreateFMul, CreateMul)
IMBREX_EMITTED(-, S, CreateFSub, CreateSub)
IMBREX_EMITTED(+, S, CreateFAdd, CreateAdd)
IMBREX_EMITTED(==, bool, CreateFCmpOEQ, CreateICmpEQ)
IMBREX_EMITTED(<, bool, CreateFCmpOLT, CreateICmpULT)
#undef IMBREX_EMITTED

#define IMBREX_EMITTED(symbol, create)                                                             \
  template <std::unsigned_integral S>                                                              \
  EmittedScalar<S> operator symbol(const EmittedScalar<S> &x, const EmittedScalar<S> &y) {         \
    llvm::IRBuilder<> &b = builderOf(x, y);                                                        \
    return {b, b.create(x.in(b), y.in(b))};                                                        \
  }
IMBREX_EMITTED(&, CreateAnd)
IMBREX_EMITTED(|, CreateOr)
IMBREX_EMITTED(^, CreateXor)
#undef IMBREX_EMITTED

template <std::unsigned_integral S>
EmittedScalar<S> operator<<(const EmittedScalar<S> &x, int amount) {
  return {*x.b, x.b->CreateShl(x.value, static_cast<std::uint64_t>(amount))};
}
template <std::unsigned_integral S>
EmittedScalar<S> operator>>(const EmittedScalar<S> &x, int amount) {
  return {*x.b, x.b->CreateLShr(x.value, static_cast<std::uint64_t>(amount))};
}
template <std::floating_point S>
EmittedScalar<S> operator-(const EmittedScalar<S> &x) {
  return {*x.b, x.b->CreateFNeg(x.value)};
}

template <std::floating_point S>
EmittedScalar<S> fma(const EmittedScalar<S> &x, const EmittedScalar<S> &y,
                     const EmittedScalar<S> &z) {
  llvm::IRBuilder<> &b = x.b != nullptr ? *x.b : builderOf(y, z);
  return {b, b.CreateIntrinsic(llvm::Intrinsic::fma, typeOf<S>(b), {x.in(b), y.in(b), z.in(b)})};
}
template <std::floating_point S>
EmittedScalar<S> abs(const EmittedScalar<S> &x) {
  return {*x.b, x.b->CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.value)};
}
template <class S>
EmittedScalar<S> select(const EmittedScalar<bool> &condition, const EmittedScalar<S> &x,
                        const EmittedScalar<S> &y) {
  llvm::IRBuilder<> &b = *condition.b;
  return {b, b.CreateSelect(condition.value, x.in(b), y.in(b))};
}

inline EmittedScalar<std::uint32_t> bitsOf(const EmittedScalar<float> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getInt32Ty())};
}
inline EmittedScalar<std::uint64_t> bitsOf(const EmittedScalar<double> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getInt64Ty())};
}
inline EmittedScalar<float> floatOf(const EmittedScalar<std::uint32_t> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getFloatTy())};
}
inline EmittedScalar<double> floatOf(const EmittedScalar<std::uint64_t> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getDoubleTy())};
}
inline EmittedScalar<double> toF64(const EmittedScalar<float> &x) {
  return {*x.b, x.b->CreateFPExt(x.value, x.b->getDoubleTy())};
}
inline EmittedScalar<float> toF32(const EmittedScalar<double> &x) {
  return {*x.b, x.b->CreateFPTrunc(x.value, x.b->getFloatTy())};
}

} // namespace imbrex::lower
