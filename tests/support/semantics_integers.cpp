#include "tests/support/semantics.h"

#include <algorithm>

// What integer arithmetic gives, said once more in numbers of 128 bits, which overflow nowhere.
namespace imbrex::semantics {
namespace {

using ir::ElementKind;
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

struct Width {
  ElementKind element;
  std::int32_t bits = ir::info(element).bits;
  bool isSigned = ir::isSigned(element);

  Wide lowest() const { return isSigned ? -(Wide{1} << (bits - 1)) : 0; }
  Wide highest() const { return (Wide{1} << (bits - (isSigned ? 1 : 0))) - 1; }
  std::uint64_t wrap(Wide value) const {
    return static_cast<std::uint64_t>(static_cast<UnsignedWide>(value) &
                                      ((UnsignedWide{1} << bits) - 1));
  }
  UnsignedWide asUnsigned(Wide value) const { return wrap(value); }
};

struct Meaning {
  const char *op;
  Wide (*value)(Wide a, Wide b, const Width &width);
};

Wide floorQuotient(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

constexpr Meaning kBinary[] = {
    {"add", [](Wide a, Wide b, const Width &) { return a + b; }},
    {"sub", [](Wide a, Wide b, const Width &) { return a - b; }},
    {"mul",
     [](Wide a, Wide b, const Width &) {
       return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
     }},
    {"div", [](Wide a, Wide b, const Width &) { return b == 0 ? 0 : a / b; }},
    {"rem", [](Wide a, Wide b, const Width &) { return b == 0 ? 0 : a - a / b * b; }},
    {"cdiv", [](Wide a, Wide b, const Width &) { return b == 0 ? 0 : -floorQuotient(-a, b); }},
    {"min", [](Wide a, Wide b, const Width &) { return std::min(a, b); }},
    {"max", [](Wide a, Wide b, const Width &) { return std::max(a, b); }},
    {"umulhi",
     [](Wide a, Wide b, const Width &width) {
       return static_cast<Wide>(width.asUnsigned(a) * width.asUnsigned(b) >> width.bits);
     }},
    {"and", [](Wide a, Wide b, const Width &) { return a & b; }},
    {"or", [](Wide a, Wide b, const Width &) { return a | b; }},
    {"xor", [](Wide a, Wide b, const Width &) { return a ^ b; }},
    {"shl",
     [](Wide a, Wide b, const Width &width) {
       const UnsignedWide amount = width.asUnsigned(b);
       return amount < static_cast<UnsignedWide>(width.bits)
                  ? static_cast<Wide>(static_cast<UnsignedWide>(a) << static_cast<int>(amount))
                  : 0;
     }},
    {"shr",
     [](Wide a, Wide b, const Width &width) {
       const UnsignedWide amount = width.asUnsigned(b);
       if (amount < static_cast<UnsignedWide>(width.bits)) return a >> static_cast<int>(amount);
       return a < 0 ? Wide{-1} : Wide{0};
     }},
};

constexpr Meaning kIntegerComparisons[] = {
    {"eq", [](Wide a, Wide b, const Width &) { return Wide{a == b}; }},
    {"ne", [](Wide a, Wide b, const Width &) { return Wide{a != b}; }},
    {"lt", [](Wide a, Wide b, const Width &) { return Wide{a < b}; }},
    {"le", [](Wide a, Wide b, const Width &) { return Wide{a <= b}; }},
    {"gt", [](Wide a, Wide b, const Width &) { return Wide{a > b}; }},
    {"ge", [](Wide a, Wide b, const Width &) { return Wide{a >= b}; }},
};

constexpr Meaning kUnary[] = {
    {"neg", [](Wide a, Wide, const Width &) { return -a; }},
    {"abs", [](Wide a, Wide, const Width &) { return a < 0 ? -a : a; }},
    {"not", [](Wide a, Wide, const Width &) { return ~a; }},
};

/// All numbers of 8 bits; of wider integers those around which something changes.
std::vector<Wide> numbersOf(const Width &width) {
  std::vector<Wide> numbers;
  if (width.bits == 8) {
    for (Wide i = width.lowest(); i <= width.highest(); ++i) numbers.push_back(i);
    return numbers;
  }
  for (const Wide near : {width.lowest(), Wide{0}, width.highest(), Wide{width.bits},
                          width.highest() / 3, Wide{1} << width.bits / 2})
    for (Wide i = near - 3; i <= near + 3; ++i)
      if (width.lowest() <= i && i <= width.highest()) numbers.push_back(i);
  return numbers;
}

ElementwiseCase binary(const Meaning &meaning, const Width &width, ElementKind result) {
  ElementwiseCase question{meaning.op, {width.element, width.element}, result, {}};
  const Width resultWidth{result};
  for (const Wide a : numbersOf(width))
    for (const Wide b : numbersOf(width))
      question.rows.push_back(
          {width.wrap(a), width.wrap(b), resultWidth.wrap(meaning.value(a, b, width))});
  return question;
}

ElementwiseCase unary(const Meaning &meaning, const Width &width) {
  ElementwiseCase question{meaning.op, {width.element}, width.element, {}};
  for (const Wide a : numbersOf(width))
    question.rows.push_back({width.wrap(a), width.wrap(meaning.value(a, 0, width))});
  return question;
}

void addBools(std::vector<Case> &cases) {
  const auto bools = [&](const char *op, std::vector<std::vector<std::uint64_t>> rows) {
    const std::vector operands(rows[0].size() - 1, ElementKind::Bool);
    cases.push_back(toCase(ElementwiseCase{op, operands, ElementKind::Bool, std::move(rows)}));
  };
  bools("and", {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 1}});
  bools("or", {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}});
  bools("xor", {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}});
  bools("eq", {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {1, 1, 1}});
  bools("ne", {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}});
  bools("not", {{0, 1}, {1, 0}});
}

} // namespace

std::vector<Case> integerCases() {
  std::vector<Case> cases;
  for (const ElementKind element : ir::allElementKinds()) {
    if (!ir::isInteger(element)) continue;
    const Width width{element};
    for (const Meaning &meaning : kBinary) cases.push_back(toCase(binary(meaning, width, element)));
    for (const Meaning &meaning : kIntegerComparisons)
      cases.push_back(toCase(binary(meaning, width, ElementKind::Bool)));
    for (const Meaning &meaning : kUnary) cases.push_back(toCase(unary(meaning, width)));
  }
  addBools(cases);
  return cases;
}

} // namespace imbrex::semantics
