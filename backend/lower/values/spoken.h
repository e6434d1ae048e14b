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
struct Spoken {
  Spoken(llvm::IRBuilder<> &builder, llvm::Value *number) : b(&builder), value(number) {}
  /// A constant, which knows no builder.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit Spoken(Number number) : constant(static_cast<Scalar>(number)) {}

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
llvm::IRBuilder<> &builderOf(const Spoken<S> &x, const Spoken<S> &y) {
  return x.b != nullptr ? *x.b : *y.b;
}

#define IMBREX_SPOKEN(symbol, Result, forFloats, forIntegers)                                      \
  template <class S>                                                                               \
  Spoken<Result> operator symbol(const Spoken<S> &x, const Spoken<S> &y) {                         \
    llvm::IRBuilder<> &b = builderOf(x, y);                                                        \
    if constexpr (std::is_floating_point_v<S>)                                                     \
      return {b, b.forFloats(x.in(b), y.in(b))};                                                   \
    else                                                                                           \
      return {b, b.forIntegers(x.in(b), y.in(b))};                                                 \
  }
IMBREX_SPOKEN(*, S, CreateFMul, CreateMul)
IMBREX_SPOKEN(-, S, CreateFSub, CreateSub)
IMBREX_SPOKEN(+, S, CreateFAdd, CreateAdd)
IMBREX_SPOKEN(==, bool, CreateFCmpOEQ, CreateICmpEQ)
IMBREX_SPOKEN(<, bool, CreateFCmpOLT, CreateICmpULT)
#undef IMBREX_SPOKEN

#define IMBREX_SPOKEN(symbol, create)                                                              \
  template <std::unsigned_integral S>                                                              \
  Spoken<S> operator symbol(const Spoken<S> &x, const Spoken<S> &y) {                              \
    llvm::IRBuilder<> &b = builderOf(x, y);                                                        \
    return {b, b.create(x.in(b), y.in(b))};                                                        \
  }
IMBREX_SPOKEN(&, CreateAnd)
IMBREX_SPOKEN(|, CreateOr)
IMBREX_SPOKEN(^, CreateXor)
#undef IMBREX_SPOKEN

template <std::unsigned_integral S>
Spoken<S> operator<<(const Spoken<S> &x, int amount) {
  return {*x.b, x.b->CreateShl(x.value, static_cast<std::uint64_t>(amount))};
}
template <std::unsigned_integral S>
Spoken<S> operator>>(const Spoken<S> &x, int amount) {
  return {*x.b, x.b->CreateLShr(x.value, static_cast<std::uint64_t>(amount))};
}
template <std::floating_point S>
Spoken<S> operator-(const Spoken<S> &x) {
  return {*x.b, x.b->CreateFNeg(x.value)};
}

template <std::floating_point S>
Spoken<S> fma(const Spoken<S> &x, const Spoken<S> &y, const Spoken<S> &z) {
  llvm::IRBuilder<> &b = x.b != nullptr ? *x.b : builderOf(y, z);
  return {b, b.CreateIntrinsic(llvm::Intrinsic::fma, typeOf<S>(b), {x.in(b), y.in(b), z.in(b)})};
}
template <std::floating_point S>
Spoken<S> abs(const Spoken<S> &x) {
  return {*x.b, x.b->CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.value)};
}
template <class S>
Spoken<S> select(const Spoken<bool> &condition, const Spoken<S> &x, const Spoken<S> &y) {
  llvm::IRBuilder<> &b = *condition.b;
  return {b, b.CreateSelect(condition.value, x.in(b), y.in(b))};
}

inline Spoken<std::uint32_t> bitsOf(const Spoken<float> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getInt32Ty())};
}
inline Spoken<std::uint64_t> bitsOf(const Spoken<double> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getInt64Ty())};
}
inline Spoken<float> floatOf(const Spoken<std::uint32_t> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getFloatTy())};
}
inline Spoken<double> floatOf(const Spoken<std::uint64_t> &x) {
  return {*x.b, x.b->CreateBitCast(x.value, x.b->getDoubleTy())};
}
inline Spoken<double> toF64(const Spoken<float> &x) {
  return {*x.b, x.b->CreateFPExt(x.value, x.b->getDoubleTy())};
}
inline Spoken<float> toF32(const Spoken<double> &x) {
  return {*x.b, x.b->CreateFPTrunc(x.value, x.b->getFloatTy())};
}

} // namespace imbrex::lower
