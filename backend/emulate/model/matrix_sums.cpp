#include "backend/emulate/model/matrix_sums.h"

#include "backend/emulate/model/exact_sum.h"
#include "backend/math/native.h"
#include "backend/math/small_float.h"
#include "backend/support/check.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace imbrex::emulate {

using machine::MatrixElement;
using machine::Summation;

namespace {

constexpr unsigned kTf32Dropped = 13;

template <math::SmallFormat format>
double decoded(std::uint64_t bits) {
  return math::floatOf(math::decode<format>(static_cast<std::uint32_t>(bits)));
}

template <math::SmallFormat format>
std::uint64_t encoded(double number) {
  return math::encode<format>(math::bitsOf(static_cast<float>(number)));
}

/// Toward zero, but what is too large for the type is infinity all the same.
double cutToF32(double x) {
  const auto nearest = static_cast<float>(x);
  if (!std::isfinite(nearest) || std::fabs(double{nearest}) <= std::fabs(x)) return nearest;
  return std::nextafter(nearest, 0.0f);
}

template <math::SmallFormat format>
double narrowedTo(double x, bool cuts) {
  const std::uint32_t nearest = math::encode<format>(math::bitsOf(math::roundedToOdd(x)));
  if (!cuts || nearest == math::infinityCode(format)) return decoded<format>(nearest);
  const auto bits = math::bitsOf(static_cast<float>(cutToF32(x)));
  return decoded<format>(math::encode<format, math::Rounding::TowardZero>(bits));
}

/// The smallest number that is not subnormal; 0 where nothing is said to be flushed.
double smallestNormal(MatrixElement element) {
  if (element == MatrixElement::F16) return 0x1p-14;
  return element == MatrixElement::BF16 || element == MatrixElement::F32 ? 0x1p-126 : 0;
}

/// Numbers of the seed's, of which one says what comes next.
std::vector<std::size_t> shuffled(std::size_t count, std::mt19937_64 &random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

} // namespace

double numberOf(MatrixElement element, std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  switch (element) {
  case MatrixElement::F16: return decoded<math::kF16>(bits);
  case MatrixElement::BF16: return decoded<math::kBF16>(bits);
  case MatrixElement::Tf32: return math::floatOf(word >> kTf32Dropped << kTf32Dropped);
  case MatrixElement::F32: return math::floatOf(word);
  case MatrixElement::F64: return math::floatOf(bits);
  case MatrixElement::I8: return static_cast<std::int8_t>(bits);
  case MatrixElement::U8: return static_cast<std::uint8_t>(bits);
  case MatrixElement::I32: return static_cast<std::int32_t>(word);
  case MatrixElement::F8E4M3FN: return decoded<math::kF8E4M3FN>(bits);
  case MatrixElement::F8E5M2: return decoded<math::kF8E5M2>(bits);
  case MatrixElement::F8E4M3FNUZ: return decoded<math::kF8E4M3FNUZ>(bits);
  case MatrixElement::F8E5M2FNUZ: return decoded<math::kF8E5M2FNUZ>(bits);
  case MatrixElement::F4E2M1: return decoded<math::kF4E2M1>(bits);
  case MatrixElement::E8M0: return decoded<math::kE8M0>(bits);
  }
  IMBREX_UNREACHABLE("element");
}

std::uint64_t bitsOf(MatrixElement element, double number) {
  switch (element) {
  case MatrixElement::F16: return encoded<math::kF16>(number);
  case MatrixElement::BF16: return encoded<math::kBF16>(number);
  case MatrixElement::Tf32:
  case MatrixElement::F32: return math::bitsOf(static_cast<float>(number));
  case MatrixElement::F64: return math::bitsOf(number);
  case MatrixElement::I8:
  case MatrixElement::U8:
  case MatrixElement::I32: return static_cast<std::uint32_t>(static_cast<std::int64_t>(number));
  case MatrixElement::F8E4M3FN: return encoded<math::kF8E4M3FN>(number);
  case MatrixElement::F8E5M2: return encoded<math::kF8E5M2>(number);
  case MatrixElement::F8E4M3FNUZ: return encoded<math::kF8E4M3FNUZ>(number);
  case MatrixElement::F8E5M2FNUZ: return encoded<math::kF8E5M2FNUZ>(number);
  case MatrixElement::F4E2M1: return encoded<math::kF4E2M1>(number);
  case MatrixElement::E8M0: return encoded<math::kE8M0>(number);
  }
  IMBREX_UNREACHABLE("element");
}

MatrixSums::MatrixSums(const machine::MmaInstruction &instruction, const SeededNumerics &numerics)
    : sums_(instruction.sums), rules_(instruction.sumRules),
      isAdversarial_(numerics.kind == Numerics::Adversarial) {
  if (!isAdversarial_) return;
  std::mt19937_64 random(numerics.seed);
  cuts_ = (random() & 1) != 0;
  roundsTf32_ = (random() & 1) != 0;
  order_ = shuffled(static_cast<std::size_t>(instruction.k), random);
}

double MatrixSums::flushed(MatrixElement element, double number) const {
  const bool flushes = isAdversarial_ && rules_.flushesSubnormals;
  return flushes && std::fabs(number) < smallestNormal(element) ? std::copysign(0.0, number)
                                                                : number;
}

double MatrixSums::taken(MatrixElement element, std::uint64_t bits) const {
  if (element == MatrixElement::Tf32 && roundsTf32_) {
    const auto word = static_cast<std::uint32_t>(bits);
    const bool isFinite = std::isfinite(math::floatOf(word));
    const auto rounded =
        math::shiftedRight<math::Rounding::NearestEven>(word & 0x7fffffff, kTf32Dropped)
        << kTf32Dropped;
    if (isFinite) return numberOf(element, rounded | (word & 0x80000000));
  }
  return flushed(element, numberOf(element, bits));
}

/// From an exact number, or one that is rounded to odd, to the type of the sums.
double MatrixSums::narrowed(double number) const {
  switch (sums_) {
  case MatrixElement::F16: return narrowedTo<math::kF16>(number, cuts_);
  case MatrixElement::BF16: return narrowedTo<math::kBF16>(number, cuts_);
  case MatrixElement::F32: return cuts_ ? cutToF32(number) : static_cast<float>(number);
  case MatrixElement::F64:
  case MatrixElement::I32:
  case MatrixElement::Tf32:
  case MatrixElement::I8:
  case MatrixElement::U8:
  case MatrixElement::F8E4M3FN:
  case MatrixElement::F8E5M2:
  case MatrixElement::F8E4M3FNUZ:
  case MatrixElement::F8E5M2FNUZ:
  case MatrixElement::F4E2M1:
  case MatrixElement::E8M0: break;
  }
  return number;
}

double MatrixSums::toF32(double number) const {
  return flushed(MatrixElement::F32, static_cast<float>(number));
}

/// An fma for each k.
double MatrixSums::chained(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, double c) const {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t k = order_.empty() ? i : order_[i];
    c = sums_ == MatrixElement::F64
            ? std::fma(a[k], b[k], c)
            : std::fma(static_cast<float>(a[k]), static_cast<float>(b[k]), static_cast<float>(c));
  }
  return c;
}

/// Of a unit of which nothing is known: one product after the other, rounded or cut to f32.
double MatrixSums::stepwise(llvm::ArrayRef<double> products, double c) const {
  for (const double product : products) {
    const double sum = exactSum({c, product});
    c = cuts_ ? cutToF32(sum) : static_cast<float>(sum);
  }
  return narrowed(c);
}

double MatrixSums::pairwise(llvm::ArrayRef<double> products, double c) const {
  const auto terms = static_cast<std::size_t>(rules_.terms);
  for (; !products.empty(); products = products.drop_front(terms)) {
    llvm::SmallVector<double, 8> level(products.take_front(terms));
    for (; level.size() > 1; level.resize(level.size() / 2))
      for (std::size_t i = 0; i < level.size() / 2; ++i)
        level[i] = toF32(exactSum({level[2 * i], level[2 * i + 1]}));
    c = toF32(exactSum({c, level.front()}));
  }
  return c;
}

/// Everything is cut off as far behind the largest term's point as the unit keeps bits.
double alignedSum(llvm::ArrayRef<double> terms, int fractionBits) {
  double largest = 0;
  bool areFinite = true;
  for (const double term : terms) {
    largest = std::max(largest, std::fabs(term));
    areFinite &= std::isfinite(term);
  }
  if (largest == 0 || !areFinite) return exactSum(terms);
  const int last = std::ilogb(largest) - fractionBits;
  const double scale = std::ldexp(1.0, -last);
  double total = 0; // of whole numbers far below 2^53
  for (const double term : terms) total += std::trunc(term * scale);
  const int excess = total == 0 ? 0 : std::ilogb(total) - fractionBits;
  if (excess > 0) total = std::ldexp(std::trunc(std::ldexp(total, -excess)), excess);
  return std::ldexp(total, last);
}

double MatrixSums::aligned(llvm::ArrayRef<double> products, double c) const {
  const auto terms = static_cast<std::size_t>(rules_.terms);
  for (; !products.empty(); products = products.drop_front(terms)) {
    llvm::SmallVector<double, 65> group(products.take_front(terms));
    group.push_back(c);
    c = narrowed(alignedSum(group, rules_.fractionBits));
  }
  return c;
}

namespace {

double moduloSum(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, double c) {
  auto sum = static_cast<std::uint32_t>(static_cast<std::int32_t>(c));
  for (std::size_t k = 0; k < a.size(); ++k)
    sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(a[k] * b[k]));
  return static_cast<std::int32_t>(sum);
}

} // namespace

double MatrixSums::sum(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, double c) const {
  if (sums_ == MatrixElement::I32) return moduloSum(a, b, c);
  const bool isChain = isAdversarial_ && rules_.summation == Summation::Chained;
  if (isChain || sums_ == MatrixElement::F64) return chained(a, b, c);
  if (!isAdversarial_) return narrowed(exactSum(c, a, b));
  llvm::SmallVector<double, 128> products;
  for (const std::size_t k : order_) products.push_back(a[k] * b[k]);
  switch (rules_.summation) {
  case Summation::NotKnown:
  case Summation::SaidToBeF32: return stepwise(products, c);
  case Summation::Pairwise: return pairwise(products, c);
  case Summation::Aligned: return aligned(products, c);
  case Summation::Exact:
  case Summation::Chained: break;
  }
  IMBREX_UNREACHABLE("summation");
}

} // namespace imbrex::emulate
