#include "backend/passes/rules/rule.h"

namespace imbrex::passes::rules {
namespace {

constexpr auto kComparisonRules = std::to_array<Rule>({
    rule("x == x", kBits, eq(x, x), yes),
    rule("not x != x", kBits, ne(x, x), no),
    rule("x <= x", kIntegers, le(x, x), yes),
    rule("x >= x", kIntegers, ge(x, x), yes),
    rule("not x < x", kNumbers, lt(x, x), no),
    rule("not x > x", kNumbers, gt(x, x), no),
    rule("not x < 0 without sign", kUnsigned, lt(x, zero), no),
    rule("x >= 0 without sign", kUnsigned, ge(x, zero), yes),
    rule("not x > highest", kUnsigned, gt(x, allOnes), no),
    rule("x <= highest", kUnsigned, le(x, allOnes), yes),

    // Of floats, neither x < y nor x >= y need hold.
    rule("not (x == y) == (x != y)", kPlain, inverted(eq(x, y)), ne(x, y)),
    rule("not (x != y) == (x == y)", kPlain, inverted(ne(x, y)), eq(x, y)),
    rule("not (x < y) == (x >= y)", kIntegers, inverted(lt(x, y)), ge(x, y)),
    rule("not (x <= y) == (x > y)", kIntegers, inverted(le(x, y)), gt(x, y)),
    rule("not (x > y) == (x <= y)", kIntegers, inverted(gt(x, y)), le(x, y)),
    rule("not (x >= y) == (x < y)", kIntegers, inverted(ge(x, y)), lt(x, y)),
    rule("(x == true) == x", kBool, eq(x, one), x),
    rule("(x == false) == not x", kBool, eq(x, zero), inverted(x)),
    rule("(x != false) == x", kBool, ne(x, zero), x),
    rule("(x != true) == not x", kBool, ne(x, one), inverted(x)),
    rule("(x + c == d) == (x == d - c)", kIntegers, eq(add(x, c), d), eq(x, sub(d, c))),
    rule("(x + c != d) == (x != d - c)", kIntegers, ne(add(x, c), d), ne(x, sub(d, c))),
    rule("(-x == -y) == (x == y)", kNumbers, eq(neg(x), neg(y)), eq(x, y)),

    rule("true ? x : y == x", kValues, select(yes, x, y), x),
    rule("false ? x : y == y", kValues, select(no, x, y), y),
    rule("p ? x : x == x", kValues, select(p, x, x), x),
    rule("not p ? x : y == p ? y : x", kValues, select(inverted(p), x, y), select(p, y, x)),
    rule("p ? (p ? x : y) : z == p ? x : z", kValues, select(p, select(p, x, y), z),
         select(p, x, z)),
    rule("p ? x : (p ? y : z) == p ? x : z", kValues, select(p, x, select(p, y, z)),
         select(p, x, z)),
    rule("p ? true : false == p", kBool, select(p, one, zero), p),
    rule("p ? false : true == not p", kBool, select(p, zero, one), inverted(p)),
});
static_assert(allSimplify(kComparisonRules),
              "each rule must lessen the work, or rewriting may not end");

} // namespace

llvm::ArrayRef<Rule> comparison() { return kComparisonRules; }

} // namespace imbrex::passes::rules
