#include "backend/analysis/axis_facts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::analysis::facts {
namespace {

using namespace ir;

/// What a pointer's, or a number's, "one more" adds to it.
std::int64_t stepOf(const Type &type) {
  return type.isPointerTile() ? storageBits(type.element()) / 8 : 1;
}

/// What divides the first value of each group of so many.
std::int64_t divisibilityAt(const AxisFacts &facts, std::int64_t group, const Type &type) {
  if (group >= facts.contiguity) return facts.divisibility;
  return std::min(facts.divisibility, group * stepOf(type));
}

std::int64_t divisibilityAt(const OperandFacts &x, std::int64_t group) {
  return divisibilityAt(x.facts, group, x.type);
}

/// Groups that certainly go up by one, from a multiple of their size.
std::int64_t certainGroup(const OperandFacts &x) {
  return std::min(x.facts.contiguity, x.facts.divisibility);
}

bool isPowerOfTwo(std::optional<std::int64_t> number) {
  return number && *number > 0 && *number <= kMost &&
         llvm::has_single_bit(static_cast<std::uint64_t>(*number));
}

void add(AxisFacts &result, const OperandFacts &a, const OperandFacts &b, std::int64_t group) {
  result.contiguity = group;
  const std::int64_t unit = a.type.isPointerTile() ? stepOf(a.type) : 1;
  result.divisibility = std::min(divisibilityAt(a, group), product(divisibilityAt(b, group), unit));
}

void sum(AxisFacts &result, const OperandFacts &a, const OperandFacts &b) {
  add(result, a, b,
      std::max(std::min(a.facts.contiguity, b.facts.constancy),
               std::min(a.facts.constancy, b.facts.contiguity)));
}

/// x / c rounded down, for a power of two.
void quotient(AxisFacts &result, const OperandFacts &x, std::int64_t divisor) {
  result.constancy = std::max(result.constancy, std::min(certainGroup(x), divisor));
  result.divisibility = std::max<std::int64_t>(divisibilityAt(x, 1) / divisor, 1);
}

/// x mod c, not negative, for a power of two.
void remainder(AxisFacts &result, const OperandFacts &x, std::int64_t divisor) {
  result.contiguity = std::min(certainGroup(x), divisor);
  result.divisibility = divisibilityAt(x, result.contiguity);
}

/// low < high, or its opposite: all alike in a group of one side that lies between two multiples
/// of its size, if the other side is such a multiple.
void compare(AxisFacts &result, const OperandFacts &low, const OperandFacts &high) {
  result.constancy =
      std::max(result.constancy,
               std::min({certainGroup(low), high.facts.constancy, divisibilityAt(high, 1)}));
}

void choose(AxisFacts &result, const OperandFacts &condition, const OperandFacts &a,
            const OperandFacts &b) {
  result.contiguity = std::min({a.facts.contiguity, b.facts.contiguity, condition.facts.constancy});
  result.divisibility =
      std::min(divisibilityAt(a, result.contiguity), divisibilityAt(b, result.contiguity));
}

void cast(AxisFacts &result, const OperandFacts &x, const Type &to) {
  if (!isInteger(x.type.element()) || !isInteger(to.element())) return;
  const std::int32_t bits = std::min(info(x.type.element()).bits, info(to.element()).bits);
  result.contiguity = std::min(x.facts.contiguity, std::int64_t{1} << std::min(bits - 1, 32));
  result.divisibility = divisibilityAt(x, result.contiguity);
}

void shift(AxisFacts &result, const OperandFacts &x, const OperandFacts &amount, bool isLeft) {
  const std::int64_t by = amount.constant.value_or(-1);
  if (by < 0 || by >= info(x.type.element()).bits || by > 20) return;
  const std::int64_t factor = std::int64_t{1} << by;
  if (isLeft)
    result.divisibility = product(divisibilityAt(x, 1), factor);
  else
    quotient(result, x, factor);
}

void divide(AxisFacts &result, OpKind kind, const OperandFacts &x, const OperandFacts &by) {
  if (!isPowerOfTwo(by.constant) || (!x.isNeverNegative && isSigned(x.type.element()))) return;
  if (kind == OpKind::Div) quotient(result, x, *by.constant);
  if (kind == OpKind::Rem) remainder(result, x, *by.constant);
}

void mask(AxisFacts &result, const OperandFacts &x, const OperandFacts &bits) {
  result.divisibility = std::max(divisibilityAt(x, 1), divisibilityAt(bits, 1));
  if (!bits.constant || *bits.constant < 0 || *bits.constant >= kMost) return;
  if (isPowerOfTwo(*bits.constant + 1)) remainder(result, x, *bits.constant + 1);
}

} // namespace

AxisInfo unknown(const Shape &shape) {
  return AxisInfo(static_cast<size_t>(std::max(shape.rank(), 1)));
}

AxisInfo ofScalar(std::int64_t divisibility) { return {{.divisibility = divisibility}}; }

std::int64_t divisorOf(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  const std::uint64_t divisor = bits & (~bits + 1);
  return divisor == 0 || divisor > static_cast<std::uint64_t>(kMost)
             ? kMost
             : static_cast<std::int64_t>(divisor);
}

std::int64_t groupOf(const Shape &shape, std::int32_t axis) {
  if (shape.rank() == 0) return 1;
  const auto whole = llvm::bit_ceil(static_cast<std::uint64_t>(shape[axis]));
  return std::min(static_cast<std::int64_t>(whole), kMost);
}

std::int64_t product(std::int64_t a, std::int64_t b) { return std::min(a * divisorOf(b), kMost); }

std::int64_t elementsIn(std::int64_t bytes, const Type &memory) {
  return std::max<std::int64_t>(bytes * 8 / storageBits(memory.element()), 1);
}

std::int64_t everywhere(const AxisInfo &info, const Type &type) {
  std::int64_t most = 1;
  for (const AxisFacts &facts : info) most = std::max(most, divisibilityAt(facts, 1, type));
  return most;
}

AxisInfo meet(const AxisInfo &a, const AxisInfo &b, const Type &type) {
  AxisInfo common = a;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    const std::int64_t group = std::min(a[axis].contiguity, b[axis].contiguity);
    common[axis] = {.contiguity = group,
                    .divisibility = std::min(divisibilityAt(a[axis], group, type),
                                             divisibilityAt(b[axis], group, type)),
                    .constancy = std::min(a[axis].constancy, b[axis].constancy)};
  }
  return common;
}

AxisFacts elementwise(OpKind kind, const Type &result, llvm::ArrayRef<OperandFacts> x) {
  AxisFacts facts{.constancy = kMost};
  for (const OperandFacts &operand : x)
    facts.constancy = std::min(facts.constancy, operand.facts.constancy);
  const bool counts =
      result.isPointerTile() || !(isFloat(result.element()) || isNarrowFloat(result.element()));
  if (!counts) return facts;
  // Not a switch: of all the elementwise ops these keep more than the constancy.
  using enum OpKind;
  if (kind == Add || kind == PointerAdd) sum(facts, x[0], x[1]);
  if (kind == Sub) add(facts, x[0], x[1], std::min(x[0].facts.contiguity, x[1].facts.constancy));
  if (kind == Mul) facts.divisibility = product(divisibilityAt(x[0], 1), divisibilityAt(x[1], 1));
  if (kind == Div || kind == Rem) divide(facts, kind, x[0], x[1]);
  if (kind == Shl || kind == Shr) shift(facts, x[0], x[1], kind == Shl);
  if (kind == And) mask(facts, x[0], x[1]);
  if (kind == Or || kind == Xor || kind == Min || kind == Max)
    facts.divisibility = std::min(divisibilityAt(x[0], 1), divisibilityAt(x[1], 1));
  if (kind == Neg || kind == Abs) facts.divisibility = divisibilityAt(x[0], 1);
  if (kind == Lt || kind == Ge) compare(facts, x[0], x[1]);
  if (kind == Gt || kind == Le) compare(facts, x[1], x[0]);
  if (kind == Select) choose(facts, x[0], x[1], x[2]);
  if (kind == Cast) cast(facts, x[0], result);
  return facts;
}

AxisInfo arange(const ArangeAttrs &attrs, const Shape &shape) {
  const std::int64_t start = divisorOf(attrs.start);
  if (attrs.step == 1) return {{.contiguity = groupOf(shape, 0), .divisibility = start}};
  return {{.divisibility = std::min(start, divisorOf(attrs.step)),
           .constancy = attrs.step == 0 ? groupOf(shape, 0) : 1}};
}

AxisInfo broadcast(const AxisInfo &info, const Shape &from, const Shape &to) {
  AxisInfo result = unknown(to);
  for (std::int32_t axis = 0; axis < to.rank(); ++axis) {
    const bool isScalar = from.rank() == 0;
    const AxisFacts &facts = info[isScalar ? 0 : static_cast<size_t>(axis)];
    const bool isRepeated = isScalar || from[axis] != to[axis];
    result[static_cast<size_t>(axis)] =
        isRepeated ? AxisFacts{.divisibility = facts.divisibility, .constancy = groupOf(to, axis)}
                   : facts;
  }
  return result;
}

AxisInfo reshape(const AxisInfo &info, const Type &from, const Shape &to) {
  const Shape &shape = from.shape();
  const std::int64_t always = everywhere(info, from);
  AxisInfo result = unknown(to);
  for (AxisFacts &facts : result) facts.divisibility = always;
  llvm::SmallVector<std::int32_t, 5> before, after; // the axes that count
  for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] != 1) before.push_back(axis);
  for (std::int32_t axis = 0; axis < to.rank(); ++axis)
    if (to[axis] != 1) after.push_back(axis);
  const bool areSame =
      llvm::equal(before, after, [&](std::int32_t a, std::int32_t b) { return shape[a] == to[b]; });
  if (areSame) {
    for (size_t i = 0; i < after.size(); ++i)
      result[static_cast<size_t>(after[i])] = info[static_cast<size_t>(before[i])];
  } else {
    // Groups of the last axis stay groups where both axes are cut between them.
    const AxisFacts &last = info[static_cast<size_t>(before.back())];
    const std::int64_t whole =
        std::min(divisorOf(shape[before.back()]), divisorOf(to[after.back()]));
    const std::int64_t group = std::min(last.contiguity, whole);
    result[static_cast<size_t>(after.back())] = {.contiguity = group,
                                                 .divisibility = divisibilityAt(last, group, from),
                                                 .constancy = std::min(last.constancy, whole)};
  }
  return result;
}

AxisInfo permute(const AxisInfo &info, llvm::ArrayRef<std::int64_t> order) {
  AxisInfo result;
  for (const std::int64_t axis : order) result.push_back(info[static_cast<size_t>(axis)]);
  return result;
}

} // namespace imbrex::analysis::facts
