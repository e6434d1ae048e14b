#include "backend/target/host/scale_by_powers.h"

#include "backend/math/exponential.h"
#include "backend/target/host/avx512.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/PatternMatch.h"

#include <optional>

namespace imbrex::host {
namespace {

using namespace llvm::PatternMatch;
using llvm::Instruction;
using llvm::Value;

/// p 2^n.
struct Scaled {
  Value *p;
  Value *shifted; ///< n + `offset`.
  double offset;
  double vanishing; ///< 2^n and what is below it is no number but 0.
};

/// The two ways to multiply by a power of two.
template <class P>
class PowersOf {
public:
  static std::optional<Scaled> in(Instruction &product) {
    if (const auto found = lifted(product)) return found;
    return halved(product);
  }

private:
  static constexpr std::uint64_t kShift = math::kMantissaBits<P>;
  /// p is below 1.5, and half of the least number rounds to 0.
  static constexpr double kVanishing = -(math::kBias<P> + math::kMantissaBits<P> + 1);

  /// As expOfNonePositive does.
  static std::optional<Scaled> lifted(Instruction &product) {
    Value *p = nullptr, *shifted = nullptr;
    const auto power = m_BitCast(m_Shl(m_BitCast(m_Value(shifted)), m_SpecificInt(kShift)));
    const double back = math::powerOf2<P>(-math::kExpLift);
    if (!match(&product, m_c_FMul(m_c_FMul(m_Value(p), power), m_SpecificFP(back))))
      return std::nullopt;
    return Scaled{p, shifted, math::kRoundAndExpLift<P>, kVanishing};
  }

  /// As scaledByPowerOf2 does.
  static std::optional<Scaled> halved(Instruction &product) {
    Value *p = nullptr, *biased = nullptr, *half = nullptr, *shifted = nullptr;
    const auto first = m_BitCast(m_Shl(m_Value(half), m_SpecificInt(kShift)));
    const auto second =
        m_BitCast(m_Shl(m_Sub(m_Value(biased), m_Deferred(half)), m_SpecificInt(kShift)));
    if (!match(&product, m_c_FMul(m_c_FMul(m_Value(p), first), second)) ||
        !match(half, m_LShr(m_Specific(biased), m_One())) ||
        !match(biased, m_BitCast(m_Value(shifted))))
      return std::nullopt;
    return Scaled{p, shifted, math::kRoundAndBias<P>, kVanishing};
  }
};

/// n as a float, which p is made of.
Value *exponentOf(const Scaled &scaled) {
  for (llvm::User *user : scaled.shifted->users())
    if (match(user, m_FSub(m_Specific(scaled.shifted), m_SpecificFP(scaled.offset)))) return user;
  return nullptr;
}

/// Whether what is computed from the value goes into the product and nowhere else.
bool isForAlone(Instruction &value, const Instruction &product) {
  llvm::SetVector<Instruction *> reached;
  reached.insert(&value);
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (llvm::User *user : reached[i]->users()) {
      auto *next = llvm::cast<Instruction>(user);
      if (next == &product) continue;
      if (next->mayHaveSideEffects() || next->isTerminator() || llvm::isa<llvm::PHINode>(next))
        return false;
      reached.insert(next);
    }
  return true;
}

/// Takes away the bound below which all vanishes.
void unbind(const Scaled &scaled, const Instruction &product) {
  Value *bounded = nullptr;
  const llvm::APFloat *low = nullptr, *factor = nullptr;
  double scale = 1;
  if (match(scaled.shifted,
            m_Intrinsic<llvm::Intrinsic::fma>(m_Value(bounded), m_APFloat(factor), m_Value())))
    scale = factor->convertToDouble();
  else if (!match(scaled.shifted, m_FAdd(m_Value(bounded), m_SpecificFP(scaled.offset))))
    return;
  auto *choice = llvm::dyn_cast<llvm::SelectInst>(bounded);
  if (choice == nullptr || !match(choice->getTrueValue(), m_APFloat(low)) ||
      low->convertToDouble() * scale > scaled.vanishing)
    return;
  Value *const x = choice->getFalseValue();
  const auto isBelow =
      m_SpecificFCmp(llvm::CmpInst::FCMP_OGT, m_Specific(choice->getTrueValue()), m_Specific(x));
  if (match(choice->getCondition(), isBelow) && isForAlone(*choice, product))
    choice->replaceAllUsesWith(x);
}

constexpr Avx512Instruction kScale{
    {llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
     llvm::Intrinsic::x86_avx512_mask_scalef_ps_512},
    {llvm::Intrinsic::x86_avx512_mask_scalef_pd_128, llvm::Intrinsic::x86_avx512_mask_scalef_pd_256,
     llvm::Intrinsic::x86_avx512_mask_scalef_pd_512}};

void scaleAtOnce(Instruction &product) {
  llvm::Type &type = *product.getType();
  if (product.getOpcode() != Instruction::FMul || !fillsAvx512(type)) return;
  const auto scaled = type.getScalarType()->isDoubleTy() ? PowersOf<math::Double>::in(product)
                                                         : PowersOf<math::Single>::in(product);
  Value *const exponent = scaled ? exponentOf(*scaled) : nullptr;
  if (exponent == nullptr) return;
  unbind(*scaled, product);
  llvm::IRBuilder<> b(&product);
  Value *const remains = b.CreateFCmpUGT(exponent, llvm::ConstantFP::get(&type, scaled->vanishing));
  product.replaceAllUsesWith(emitAvx512(b, kScale, {scaled->p, exponent}, remains));
}

} // namespace

void scaleByPowers(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (Instruction &instruction : llvm::instructions(function)) scaleAtOnce(instruction);
}

} // namespace imbrex::host
