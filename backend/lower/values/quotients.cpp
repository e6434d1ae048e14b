#include "backend/lower/values/quotients.h"

#include "backend/lower/values/emitted_scalar.h"
#include "backend/math/quotient.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/MDBuilder.h"

namespace imbrex::lower {
namespace {

using llvm::Value;
using Single = EmittedScalar<float>;
using Double = EmittedScalar<double>;
using Word = EmittedScalar<std::uint32_t>;

// With fewer quotients, what they share costs more than they save.
constexpr std::size_t kFewestQuotients = 4;

/// Of a divisor that is known, and tame.
std::optional<float> knownReciprocal(Value *divisor) {
  const auto *constant = llvm::dyn_cast<llvm::ConstantFP>(divisor);
  if (constant == nullptr) return std::nullopt;
  return 1.0F / constant->getValueAPF().convertToFloat();
}

/// Whether a divisor is known, and its reciprocal no number to divide with.
bool isKnownAndWild(Value *divisor) {
  const auto *constant = llvm::dyn_cast<llvm::ConstantFP>(divisor);
  return constant != nullptr &&
         !math::isTameDivisor(math::bitsOf(constant->getValueAPF().convertToFloat()));
}

/// The exact reciprocal of a power of two; null where there is none.
llvm::Constant *exactReciprocal(Value *divisor) {
  const auto *constant = llvm::dyn_cast<llvm::ConstantFP>(divisor);
  llvm::APFloat inverse(0.0F);
  if (constant == nullptr || !constant->getValueAPF().getExactInverse(&inverse)) return nullptr;
  return llvm::ConstantFP::get(divisor->getContext(), inverse);
}

/// Quotients of several dividends by one divisor.
class Quotients {
public:
  Quotients(Emitter &e, Registers dividends, Value *divisor)
      : e_(e), dividends_(std::move(dividends)), divisor_(divisor) {}

  Registers run() {
    const Registers fast = inRange();
    Value *const isFast = isInRange();
    llvm::BasicBlock *const before = e_.b.GetInsertBlock();
    llvm::BasicBlock *const rare = e_.newBlock("rare"), *const done = e_.newBlock("done");
    llvm::MDBuilder metadata(e_.context);
    e_.b.CreateCondBr(isFast, done, rare, metadata.createLikelyBranchWeights());
    e_.b.SetInsertPoint(rare);
    const Registers slow = oneByOne();
    llvm::BasicBlock *const end = e_.b.GetInsertBlock();
    e_.b.SetInsertPoint(done);
    endOfLoop_->setSuccessor(1, done);
    Registers chosen;
    for (std::size_t i = 0; i < fast.size(); ++i) {
      llvm::PHINode *phi = e_.b.CreatePHI(e_.b.getFloatTy(), 2);
      phi->addIncoming(fast[i], before);
      phi->addIncoming(slow[i], end);
      chosen.push_back(phi);
    }
    return chosen;
  }

private:
  Single single(Value *x) { return {e_.b, x}; }

  Registers inRange() {
    const Single b = single(divisor_);
    const auto known = knownReciprocal(divisor_);
    const Single reciprocal =
        known ? Single(*known)
              : math::reciprocalFrom(single(e_.words.nearReciprocal(e_.b, divisor_)), b);
    if (e_.words.hasFloatPairs() && dividends_.size() % 2 == 0)
      return inPairs(reciprocal.in(e_.b), divisor_);
    Registers quotients;
    for (Value *a : dividends_)
      quotients.push_back(math::quotientBy(reciprocal, single(a), b).in(e_.b));
    return quotients;
  }

  Registers inPairs(Value *reciprocal, Value *divisor) {
    const Single reciprocals = single(e_.b.CreateVectorSplat(2, reciprocal));
    const Single divisors = single(e_.b.CreateVectorSplat(2, divisor));
    Registers quotients;
    for (std::size_t i = 0; i < dividends_.size(); i += 2) {
      Value *both = vectorOf(e_.b, {dividends_[i], dividends_[i + 1]});
      both = math::quotientBy(reciprocals, single(both), divisors).in(e_.b);
      llvm::append_range(quotients, halvesOf(e_.b, both));
    }
    return quotients;
  }

  Value *isInRange() {
    const Word divisorBits = bitsOf(single(divisor_));
    const Word allowance = math::allowanceForZero(divisorBits);
    Value *least = nullptr, *largest = nullptr;
    for (Value *a : dividends_) {
      Value *size = math::sizeOfDividend(bitsOf(single(a)), allowance).in(e_.b);
      Value *magnitude = abs(single(a)).in(e_.b);
      least = least ? e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, least, size) : size;
      largest = largest ? emitElementwise(e_.b, ir::OpKind::Max, ir::ElementKind::F32,
                                          {largest, magnitude}, e_.natives)
                        : magnitude;
    }
    return e_.allOf({math::areLargeEnough(Word(e_.b, least)).in(e_.b),
                     math::areSmallEnough(single(largest)).in(e_.b),
                     math::isTameDivisor(divisorBits).in(e_.b)});
  }

  /// The dividends go round in a loop, whose body is there once, and come out of it as quotients.
  Registers oneByOne() {
    const Double divisor = toF64(single(divisor_));
    const auto wide =
        math::wideDivisor(Double(e_.b, e_.words.nearReciprocal(e_.b, divisor.in(e_.b))), divisor);
    llvm::BasicBlock *const before = e_.b.GetInsertBlock(), *const loop = e_.newBlock("one");
    e_.b.CreateBr(loop);
    e_.b.SetInsertPoint(loop);
    llvm::PHINode *const turn = e_.b.CreatePHI(e_.b.getInt32Ty(), 2);
    llvm::SmallVector<llvm::PHINode *, 8> ring;
    for (std::size_t i = 0; i < dividends_.size(); ++i)
      ring.push_back(e_.b.CreatePHI(e_.b.getFloatTy(), 2));
    Registers next(std::next(ring.begin()), ring.end());
    next.push_back(math::quotientIn(wide, single(ring[0])).in(e_.b));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      ring[i]->addIncoming(dividends_[i], before);
      ring[i]->addIncoming(next[i], loop);
    }
    Value *const turns = e_.b.CreateAdd(turn, e_.i32(1));
    turn->addIncoming(e_.i32(0), before);
    turn->addIncoming(turns, loop);
    Value *const goesOn = e_.b.CreateICmpULT(turns, e_.i32(static_cast<std::int64_t>(ring.size())));
    endOfLoop_ = e_.b.CreateCondBr(goesOn, loop, loop);
    forbidUnrolling(*endOfLoop_);
    return next;
  }

  Emitter &e_;
  Registers dividends_;
  Value *divisor_;
  llvm::BranchInst *endOfLoop_ = nullptr;
};

Registers quotientsBy(Emitter &e, Value *divisor, Registers dividends) {
  const auto each = [&](auto quotient) {
    for (Value *&x : dividends) x = quotient(x);
    return std::move(dividends);
  };
  if (llvm::Constant *inverse = exactReciprocal(divisor))
    return each([&](Value *x) { return e.b.CreateFMul(x, inverse); });
  if (dividends.size() < kFewestQuotients || isKnownAndWild(divisor))
    return each([&](Value *x) { return e.b.CreateFDiv(x, divisor); });
  return Quotients(e, std::move(dividends), divisor).run();
}

} // namespace

Registers emitQuotients(Emitter &e, const Registers &dividends, const Registers &divisors) {
  llvm::MapVector<Value *, llvm::SmallVector<std::size_t, 8>> byDivisor;
  for (std::size_t r = 0; r < dividends.size(); ++r)
    byDivisor[divisors[divisors.size() == 1 ? 0 : r]].push_back(r);
  Registers results(dividends.size());
  for (const auto &[divisor, places] : byDivisor) {
    Registers of;
    for (const std::size_t r : places) of.push_back(dividends[r]);
    const Registers quotients = quotientsBy(e, divisor, std::move(of));
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = quotients[i];
  }
  return results;
}

} // namespace imbrex::lower
