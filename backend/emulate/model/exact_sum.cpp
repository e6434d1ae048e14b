#include "backend/emulate/model/exact_sum.h"

#include "backend/support/check.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace imbrex::emulate {
namespace {

/// A number of 640 bits, in digits of 32 that may overflow until the value is asked for.
class SuperAccumulator {
public:
  void add(double x) {
    if (x == 0) return;
    int exponent = 0;
    auto bits = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
    int lowest = exponent - 53 - kLowest;
    if (lowest < 0) {
      IMBREX_CHECK(std::countr_zero(bits) >= -lowest, "a term is too small");
      bits >>= -lowest;
      lowest = 0;
    }
    const auto digit = static_cast<std::size_t>(lowest / 32);
    IMBREX_CHECK(digit + 3 < kDigits, "a term is too large");
    const std::uint64_t low = (bits & kMask) << lowest % 32, high = (bits >> 32) << lowest % 32;
    const std::int64_t sign = x < 0 ? -1 : 1;
    digits_[digit] += sign * static_cast<std::int64_t>(low & kMask);
    digits_[digit + 1] += sign * static_cast<std::int64_t>((low >> 32) + (high & kMask));
    digits_[digit + 2] += sign * static_cast<std::int64_t>(high >> 32);
  }

  double value() {
    carry();
    const bool isNegative = digits_.back() < 0;
    if (isNegative) {
      for (std::int64_t &digit : digits_) digit = -digit;
      carry();
    }
    return isNegative ? -magnitude() : magnitude();
  }

private:
  static constexpr int kLowest = -320;
  static constexpr std::size_t kDigits = 21;
  static constexpr std::uint64_t kMask = 0xffffffff;

  /// All digits but the last from 0 to 2^32 - 1.
  void carry() {
    for (std::size_t i = 0; i + 1 < kDigits; ++i) {
      digits_[i + 1] += digits_[i] >> 32;
      digits_[i] &= static_cast<std::int64_t>(kMask);
    }
  }

  std::uint64_t digit(std::ptrdiff_t i) const {
    return i < 0 ? 0 : static_cast<std::uint64_t>(digits_[static_cast<std::size_t>(i)]);
  }

  double magnitude() const {
    std::ptrdiff_t first = std::ptrdiff_t{kDigits} - 1;
    while (first >= 0 && digit(first) == 0) --first;
    if (first < 0) return 0;
    const int zeros = std::countl_zero(static_cast<std::uint32_t>(digit(first)));
    const std::uint64_t below = digit(first - 2) << zeros;
    const std::uint64_t bits = (digit(first) << 32 | digit(first - 1)) << zeros | below >> 32;
    constexpr int kDropped = 64 - 53;
    bool isInexact = (bits & ((1u << kDropped) - 1)) != 0 || (below & kMask) != 0;
    for (std::ptrdiff_t i = first - 3; i >= 0 && !isInexact; --i) isInexact = digit(i) != 0;
    const std::uint64_t kept = bits >> kDropped | (isInexact ? 1 : 0);
    const int exponent = static_cast<int>(32 * (first - 1)) - zeros + kDropped + kLowest;
    return std::ldexp(static_cast<double>(kept), exponent);
  }

  std::array<std::int64_t, kDigits> digits_{};
};

/// Adds up, and knows whether a sum was rounded: Knuth's sum says what is lost of each.
class PlainSum {
public:
  explicit PlainSum(double first) : sum_(first) {}

  void add(double term) {
    const double next = sum_ + term, ofTerm = next - sum_;
    lost_ += std::fabs((sum_ - (next - ofTerm)) + (term - ofTerm));
    sum_ = next;
  }
  /// What is no number has lost one.
  bool isExact() const { return lost_ == 0; }
  double value() const { return sum_; }

private:
  double sum_, lost_ = 0;
};

} // namespace

double exactSum(llvm::ArrayRef<double> terms) {
  PlainSum sum(terms.front());
  for (const double term : terms.drop_front()) sum.add(term);
  if (sum.isExact() || !std::isfinite(sum.value())) return sum.value();
  SuperAccumulator all;
  for (const double term : terms) all.add(term);
  return all.value();
}

double exactSum(double c, llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  PlainSum sum(c);
  for (std::size_t k = 0; k < a.size(); ++k) sum.add(a[k] * b[k]);
  if (sum.isExact() || !std::isfinite(sum.value())) return sum.value();
  SuperAccumulator all;
  all.add(c);
  for (std::size_t k = 0; k < a.size(); ++k) all.add(a[k] * b[k]);
  return all.value();
}

} // namespace imbrex::emulate
