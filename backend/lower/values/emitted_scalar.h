#pragma once

#include "backend/math/native.h"
#include "llvm/IR/IRBuilder.h"

#include <concepts>
#include <type_traits>

/// Numbers of a thread that write what is done with them: the vocabulary of backend/math (native.h)
/// spoken in LLVM IR. A template of that folder, called with these, writes the instructions that
/// compute it; of vectors, lane by lane.
namespace imbrex::lower {

template <class Scalar>
llvm::Type *typeOf(llvm::IRBuilder<> &b) {
  if constexpr (std::is_same_v<Scalar, float>) return b.getFloatTy();
  if constexpr (std::is_same_v<Scalar, double>) return b.getDoubleTy();
  if constexpr (std::is_same_v<Scalar, bool>) return b.getInt1Ty();
  return b.getIntNTy(8 * sizeof(Scalar));
}

/// Of as many lanes as another.
template <class Scalar>
llvm::Type *typeLike(llvm::IRBuilder<> &b, llvm::Type *other) {
  return other->getWithNewType(typeOf<Scalar>(b));
}

template <class Scalar>
struct EmittedScalar {
  EmittedScalar(llvm::IRBuilder<> &builder, llvm::Value *number) : b(&builder), value(number) {}
  /// A constant, which knows no builder: what is done with constants alone is computed here.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit EmittedScalar(Number number) : constant(static_cast<Scalar>(number)) {}

  llvm::Value *in(llvm::IRBuilder<> &builder) const { return in(builder, builder.getInt1Ty()); }
  /// A constant in as many lanes as another has.
  llvm::Value *in(llvm::IRBuilder<> &builder, llvm::Type *other) const {
    if (value != nullptr) return value;
    llvm::Type *type = typeLike<Scalar>(builder, other);
    if constexpr (std::is_floating_point_v<Scalar>)
      return llvm::ConstantFP::get(type, static_cast<double>(constant));
    else
      return llvm::ConstantInt::get(type, constant);
  }

  llvm::IRBuilder<> *b = nullptr;
  llvm::Value *value = nullptr;
  Scalar constant = {};
};

/// What `emit` makes of the instructions' results, or of constants alone `compute` of the numbers.
template <class Result, class Emit, class Compute, class S, class... More>
EmittedScalar<Result> emittedOrComputed(Emit emit, Compute compute, const EmittedScalar<S> &first,
                                        const EmittedScalar<More> &...more) {
  llvm::IRBuilder<> *b = first.b;
  llvm::Value *known = first.value;
  ((b = b != nullptr ? b : more.b), ...);
  ((known = known != nullptr ? known : more.value), ...);
  if (b != nullptr)
    return {*b, emit(*b, first.in(*b, known->getType()), more.in(*b, known->getType())...)};
  return EmittedScalar<Result>(compute(first.constant, more.constant...));
}

#define IMBREX_EMITTED(symbol, Result, forFloats, forIntegers)                                     \
  template <class S>                                                                               \
  EmittedScalar<Result> operator symbol(const EmittedScalar<S> &x, const EmittedScalar<S> &y) {    \
    return emittedOrComputed<Result>(                                                              \
        [](llvm::IRBuilder<> &b, llvm::Value *p, llvm::Value *q) {                                 \
          if constexpr (std::is_floating_point_v<S>)                                               \
            return b.forFloats(p, q);                                                              \
          else                                                                                     \
            return b.forIntegers(p, q);                                                            \
        },                                                                                         \
        [](S p, S q) { return p symbol q; }, x, y);                                                \
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
    return emittedOrComputed<S>(                                                                   \
        [](llvm::IRBuilder<> &b, llvm::Value *p, llvm::Value *q) { return b.create(p, q); },       \
        [](S p, S q) { return p symbol q; }, x, y);                                                \
  }
IMBREX_EMITTED(&, CreateAnd)
IMBREX_EMITTED(|, CreateOr)
IMBREX_EMITTED(^, CreateXor)
#undef IMBREX_EMITTED

#define IMBREX_EMITTED(symbol, create)                                                             \
  template <std::unsigned_integral S>                                                              \
  EmittedScalar<S> operator symbol(const EmittedScalar<S> &x, int amount) {                        \
    return emittedOrComputed<S>(                                                                   \
        [=](llvm::IRBuilder<> &b, llvm::Value *p) {                                                \
          return b.create(p, static_cast<std::uint64_t>(amount));                                  \
        },                                                                                         \
        [=](S p) { return p symbol amount; }, x);                                                  \
  }
IMBREX_EMITTED(<<, CreateShl)
IMBREX_EMITTED(>>, CreateLShr)
#undef IMBREX_EMITTED

template <std::floating_point S>
EmittedScalar<S> operator-(const EmittedScalar<S> &x) {
  return emittedOrComputed<S>([](llvm::IRBuilder<> &b, llvm::Value *p) { return b.CreateFNeg(p); },
                              [](S p) { return -p; }, x);
}

template <std::floating_point S>
EmittedScalar<S> fma(const EmittedScalar<S> &x, const EmittedScalar<S> &y,
                     const EmittedScalar<S> &z) {
  return emittedOrComputed<S>(
      [](llvm::IRBuilder<> &b, llvm::Value *p, llvm::Value *q, llvm::Value *r) {
        return b.CreateIntrinsic(llvm::Intrinsic::fma, p->getType(), {p, q, r});
      },
      [](S p, S q, S r) { return math::fma(p, q, r); }, x, y, z);
}
template <std::floating_point S>
EmittedScalar<S> abs(const EmittedScalar<S> &x) {
  return emittedOrComputed<S>(
      [](llvm::IRBuilder<> &b, llvm::Value *p) {
        return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, p);
      },
      [](S p) { return math::abs(p); }, x);
}
template <class S>
EmittedScalar<S> select(const EmittedScalar<bool> &condition, const EmittedScalar<S> &x,
                        const EmittedScalar<S> &y) {
  return emittedOrComputed<S>([](llvm::IRBuilder<> &b, llvm::Value *p, llvm::Value *q,
                                 llvm::Value *r) { return b.CreateSelect(p, q, r); },
                              [](bool p, S q, S r) { return p ? q : r; }, condition, x, y);
}

#define IMBREX_EMITTED(name, From, To, create)                                                     \
  inline EmittedScalar<To> name(const EmittedScalar<From> &x) {                                    \
    return emittedOrComputed<To>(                                                                  \
        [](llvm::IRBuilder<> &b, llvm::Value *p) {                                                 \
          return b.create(p, typeLike<To>(b, p->getType()));                                       \
        },                                                                                         \
        [](From p) { return math::name(p); }, x);                                                  \
  }
IMBREX_EMITTED(bitsOf, float, std::uint32_t, CreateBitCast)
IMBREX_EMITTED(bitsOf, double, std::uint64_t, CreateBitCast)
IMBREX_EMITTED(floatOf, std::uint32_t, float, CreateBitCast)
IMBREX_EMITTED(floatOf, std::uint64_t, double, CreateBitCast)
IMBREX_EMITTED(toF64, float, double, CreateFPExt)
IMBREX_EMITTED(toF32, double, float, CreateFPTrunc)
#undef IMBREX_EMITTED

} // namespace imbrex::lower
