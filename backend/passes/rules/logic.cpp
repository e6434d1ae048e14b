#include "backend/passes/rules/rule.h"

namespace imbrex::passes::rules {
namespace {

constexpr auto kLogicRules = std::to_array<Rule>({
    rule("x & x == x", kBits, both(x, x), x),
    rule("x & 0 == 0", kBits, both(x, zero), zero),
    rule("x & ~0 == x", kBits, both(x, allOnes), x),
    rule("x & ~x == 0", kBits, both(x, inverted(x)), zero),
    rule("(x & c) & d == x & (c & d)", kBits, both(both(x, c), d), both(x, both(c, d))),
    rule("(x & y) & y == x & y", kBits, both(both(x, y), y), both(x, y)),
    rule("x & (x | y) == x", kBits, both(x, either(x, y)), x),

    rule("x | x == x", kBits, either(x, x), x),
    rule("x | 0 == x", kBits, either(x, zero), x),
    rule("x | ~0 == ~0", kBits, either(x, allOnes), allOnes),
    rule("x | ~x == ~0", kBits, either(x, inverted(x)), allOnes),
    rule("(x | c) | d == x | (c | d)", kBits, either(either(x, c), d), either(x, either(c, d))),
    rule("(x | y) | y == x | y", kBits, either(either(x, y), y), either(x, y)),
    rule("x | (x & y) == x", kBits, either(x, both(x, y)), x),

    rule("x ^ x == 0", kBits, differ(x, x), zero),
    rule("x ^ 0 == x", kBits, differ(x, zero), x),
    rule("(x ^ c) ^ d == x ^ (c ^ d)", kBits, differ(differ(x, c), d), differ(x, differ(c, d))),
    rule("(x ^ y) ^ y == x", kBits, differ(differ(x, y), y), x),
    rule("~x ^ ~y == x ^ y", kBits, differ(inverted(x), inverted(y)), differ(x, y)),
    rule("~~x == x", kBits, inverted(inverted(x)), x),
    rule("~(x ^ c) == x ^ ~c", kBits, inverted(differ(x, c)), differ(x, inverted(c))),
});
static_assert(allSimplify(kLogicRules), "each rule must lessen the work, or rewriting may not end");

} // namespace

llvm::ArrayRef<Rule> logic() { return kLogicRules; }

} // namespace imbrex::passes::rules
