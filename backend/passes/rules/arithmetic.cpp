#include "backend/passes/rules/rule.h"

#include <bit>

namespace imbrex::passes::rules {
namespace {

/// 1 / c has a power of two for a mantissa, so that multiplying by it rounds just as dividing by c.
bool isPowerOfTwoWithReciprocal(ir::ElementKind kind, std::uint64_t bits) {
  const llvm::fltSemantics &format = ir::floatFormat(kind);
  const auto width = static_cast<unsigned>(ir::info(kind).bits);
  return llvm::APFloat(format, llvm::APInt(width, bits)).getExactInverse(nullptr);
}

bool reachesWidth(ir::ElementKind kind, std::uint64_t bits) {
  return bits >= static_cast<std::uint64_t>(ir::info(kind).bits);
}

// Mind the floats: x + 0 is not x where x is -0, x * 0 is not 0 where x is -1 or infinite, x - x is
// NaN where x is.
constexpr auto kArithmeticRules = std::to_array<Rule>({
    rule("x + 0 == x", kIntegers, add(x, zero), x),
    rule("x + -0 == x", kFloat, add(x, negativeZero), x),
    rule("x - 0 == x", kNumbers, sub(x, zero), x),
    rule("0 - x == -x", kIntegers, sub(zero, x), neg(x)),
    rule("-0 - x == -x", kFloat, sub(negativeZero, x), neg(x)),
    rule("x - x == 0", kIntegers, sub(x, x), zero),
    rule("(x + c) + d == x + (c + d)", kIntegers, add(add(x, c), d), add(x, add(c, d))),
    rule("x - c == x + -c", kIntegers, sub(x, c), add(x, neg(c))),
    rule("c - (x + d) == (c - d) - x", kIntegers, sub(c, add(x, d)), sub(sub(c, d), x)),
    rule("(c - x) + d == (c + d) - x", kIntegers, add(sub(c, x), d), sub(add(c, d), x)),
    rule("(x + y) - x == y", kIntegers, sub(add(x, y), x), y),
    rule("(x + y) - y == x", kIntegers, sub(add(x, y), y), x),
    rule("(x - y) + y == x", kIntegers, add(sub(x, y), y), x),
    rule("(x - y) - x == -y", kIntegers, sub(sub(x, y), x), neg(y)),

    rule("-(-x) == x", kNumbers, neg(neg(x)), x),
    rule("-(x - y) == y - x", kIntegers, neg(sub(x, y)), sub(y, x)),
    rule("x + -y == x - y", kNumbers, add(x, neg(y)), sub(x, y)),
    rule("x - -y == x + y", kNumbers, sub(x, neg(y)), add(x, y)),
    rule("-x * -y == x y", kNumbers, mul(neg(x), neg(y)), mul(x, y)),
    rule("-x * c == x * -c", kNumbers, mul(neg(x), c), mul(x, neg(c))),
    rule("|-x| == |x|", kSigned | kFloat, abs(neg(x)), abs(x)),
    rule("||x|| == |x|", kNumbers, abs(abs(x)), abs(x)),
    rule("|x| == x without sign", kUnsigned, abs(x), x),
    rule("|x| |x| == x x", kNumbers, mul(abs(x), abs(x)), mul(x, x)),

    rule("x * 1 == x", kNumbers, mul(x, one), x),
    rule("x * -1 == -x", kNumbers, mul(x, minusOne), neg(x)),
    rule("x * 0 == 0", kIntegers, mul(x, zero), zero),
    rule("(x c) d == x (c d)", kIntegers, mul(mul(x, c), d), mul(x, mul(c, d))),
    rule("umulhi(x, 0) == 0", kIntegers, umulhi(x, zero), zero),
    rule("umulhi(x, 1) == 0", kIntegers, umulhi(x, one), zero),
    rule("fma(x, 1, y) == x + y", kFloat, fma(x, one, y), add(x, y)),
    rule("fma(1, x, y) == x + y", kFloat, fma(one, x, y), add(x, y)),
    rule("fma(x, -1, y) == y - x", kFloat, fma(x, minusOne, y), sub(y, x)),
    rule("fma(-1, x, y) == y - x", kFloat, fma(minusOne, x, y), sub(y, x)),
    rule("fma(x, y, -0) == x y", kFloat, fma(x, y, negativeZero), mul(x, y)),
    rule("fma(-x, -y, z) == fma(x, y, z)", kFloat, fma(neg(x), neg(y), z), fma(x, y, z)),

    rule("x / 1 == x", kNumbers, div(x, one), x),
    rule("x / -1 == -x", kSigned | kFloat, div(x, minusOne), neg(x)),
    rule("x / 0 == 0", kIntegers, div(x, zero), zero),
    rule("0 / x == 0", kIntegers, div(zero, x), zero),
    rule("-x / -y == x / y", kFloat, div(neg(x), neg(y)), div(x, y)),
    rule("x / c == x (1 / c), c a power of two", kFloat, div(x, cWhere(isPowerOfTwoWithReciprocal)),
         mul(x, div(one, c))),
    rule("x % 1 == 0", kIntegers, rem(x, one), zero),
    rule("x % -1 == 0", kSigned, rem(x, minusOne), zero),
    rule("x % 0 == 0", kIntegers, rem(x, zero), zero),
    rule("0 % x == 0", kIntegers, rem(zero, x), zero),
    rule("x % x == 0", kIntegers, rem(x, x), zero),
    rule("(x % y) % y == x % y", kNumbers, rem(rem(x, y), y), rem(x, y)),
    rule("x cdiv 1 == x", kIntegers, cdiv(x, one), x),
    rule("x cdiv 0 == 0", kIntegers, cdiv(x, zero), zero),
    rule("0 cdiv x == 0", kIntegers, cdiv(zero, x), zero),

    rule("min(x, x) == x", kNumbers, min(x, x), x),
    rule("max(x, x) == x", kNumbers, max(x, x), x),
    rule("min.nan(x, x) == x", kFloat, minNan(x, x), x),
    rule("max.nan(x, x) == x", kFloat, maxNan(x, x), x),
    rule("min(min(x, y), y) == min(x, y)", kNumbers, min(min(x, y), y), min(x, y)),
    rule("max(max(x, y), y) == max(x, y)", kNumbers, max(max(x, y), y), max(x, y)),
    rule("min(min(x, c), d) == min(x, min(c, d))", kNumbers, min(min(x, c), d), min(x, min(c, d))),
    rule("max(max(x, c), d) == max(x, max(c, d))", kNumbers, max(max(x, c), d), max(x, max(c, d))),
    rule("min(max(x, y), y) == y", kIntegers, min(max(x, y), y), y),
    rule("max(min(x, y), y) == y", kIntegers, max(min(x, y), y), y),
    rule("min(x, 0) == 0 without sign", kUnsigned, min(x, zero), zero),
    rule("max(x, 0) == x without sign", kUnsigned, max(x, zero), x),
    rule("min(x, highest) == x", kUnsigned, min(x, allOnes), x),
    rule("max(x, highest) == highest", kUnsigned, max(x, allOnes), allOnes),

    rule("floor(floor(x)) == floor(x)", kFloat, floor(floor(x)), floor(x)),
    rule("ceil(ceil(x)) == ceil(x)", kFloat, ceil(ceil(x)), ceil(x)),
    rule("round(round(x)) == round(x)", kFloat, round(round(x)), round(x)),
    rule("rint(rint(x)) == rint(x)", kFloat, rint(rint(x)), rint(x)),
    rule("trunc(trunc(x)) == trunc(x)", kFloat, trunc(trunc(x)), trunc(x)),
    rule("trunc(floor(x)) == floor(x)", kFloat, trunc(floor(x)), floor(x)),
    rule("|trunc(|x|)| == trunc(|x|)", kFloat, abs(trunc(abs(x))), trunc(abs(x))),

    rule("x << 0 == x", kIntegers, shl(x, zero), x),
    rule("0 << x == 0", kIntegers, shl(zero, x), zero),
    rule("x << width == 0", kIntegers, shl(x, cWhere(reachesWidth)), zero),
    rule("x >> 0 == x", kIntegers, shr(x, zero), x),
    rule("0 >> x == 0", kIntegers, shr(zero, x), zero),
    rule("-1 >> x == -1", kSigned, shr(minusOne, x), minusOne),
    rule("x >> width == 0 without sign", kUnsigned, shr(x, cWhere(reachesWidth)), zero),
});
static_assert(allSimplify(kArithmeticRules),
              "each rule must lessen the work, or rewriting may not end");

} // namespace

llvm::ArrayRef<Rule> arithmetic() { return kArithmeticRules; }

} // namespace imbrex::passes::rules
