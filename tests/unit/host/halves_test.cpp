#include "backend/interpret/scalar.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

namespace imbrex::host {
namespace {

using ir::ElementKind;

constexpr std::int64_t kElements = 1 << 18;

/// A kernel that applies an op of three operands to f16 or bf16, element by element.
ir::Kernel kernelOf(const std::string &op, const std::string &element) {
  const std::string tile = element + "[4096]";
  const std::string text = "kernel @k(%a: view<const " + element + ", 1>, %b: view<const " +
                           element + ", 1>, %c: view<const " + element + ", 1>, %y: view<" +
                           element + ", 1>) stage tiles {\n" +
                           "  %i = program_id : i32\n"
                           "  %p = view.load %a, %i : " +
                           tile + "\n" + "  %q = view.load %b, %i : " + tile + "\n" +
                           "  %r = view.load %c, %i : " + tile + "\n" + "  %z = " + op +
                           " %p, %q, %r : " + tile + "\n" + "  view.store %y, %z, %i\n}\n";
  return testing::parsedKernel(text);
}

/// The bits with an exponent that is `above` more than the format's bias.
std::uint16_t withExponent(ElementKind element, std::uint16_t bits, int above) {
  const int mantissa = element == ElementKind::F16 ? 10 : 7;
  const int largest = (1 << (15 - mantissa)) - 2;
  const int exponent = std::clamp(above + largest / 2, 0, largest);
  const auto others = static_cast<std::uint16_t>(0x8000 | ((1 << mantissa) - 1));
  return static_cast<std::uint16_t>((bits & others) | (exponent << mantissa));
}

/// Any bits at all; and such that products cancel against the third operand, that they are half
/// way between two results or next to it, and that they are near both ends of f32's range.
std::vector<std::vector<std::uint16_t>> operands(ElementKind element) {
  std::mt19937 random(3);
  std::vector<std::vector<std::uint16_t>> all(3, std::vector<std::uint16_t>(kElements));
  for (std::size_t i = 0; i < kElements; ++i) {
    std::uint16_t &a = all[0][i], &b = all[1][i], &c = all[2][i];
    for (std::uint16_t *x : {&a, &b, &c}) *x = static_cast<std::uint16_t>(random());
    const std::uint64_t product = interpret::evaluate(ir::OpKind::Mul, element, {a, b});
    const int part = static_cast<int>(random() % 128);
    if (i % 6 == 1) c = static_cast<std::uint16_t>(product ^ 0x8000 ^ (random() & 3));
    if (i % 6 == 2) c &= 0x8003; // lost next to most products, and decides about ties
    if (i % 6 == 3)
      for (std::uint16_t *x : {&a, &b}) *x &= static_cast<std::uint16_t>(0xffe0 | (random() & 31));
    if (i % 6 >= 4) { // products from 2^-160 to 2^-120, and from 2^124 to 2^132
      const int sum = i % 6 == 4 ? -160 + part / 3 : 124 + part / 16;
      a = withExponent(element, a, sum / 2 - part % 8);
      b = withExponent(element, b, sum - sum / 2 + part % 8);
      c = withExponent(element, c, i % 6 == 4 ? -127 + part % 12 : 127 - part % 4);
    }
  }
  return all;
}

} // namespace

TEST_CASE("a product and a sum of halves are rounded once") {
  for (const ElementKind element : {ElementKind::F16, ElementKind::BF16}) {
    const std::string name(ir::info(element).name);
    CAPTURE(name);
    auto inputs = operands(element);
    std::vector<std::uint16_t> results(kElements);
    launch(kernelOf("fma", name), {{kElements / 4096, 1, 1}},
           {viewOf(inputs[0], {kElements}), viewOf(inputs[1], {kElements}),
            viewOf(inputs[2], {kElements}), viewOf(results, {kElements})});
    std::int64_t wrong = 0, numbers = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      const std::uint64_t expected =
          interpret::evaluate(ir::OpKind::Fma, element, {inputs[0][i], inputs[1][i], inputs[2][i]});
      const bool isNan = interpret::evaluate(ir::OpKind::Ne, element, {expected, expected}) != 0;
      const bool gotNan =
          interpret::evaluate(ir::OpKind::Ne, element, {results[i], results[i]}) != 0;
      numbers += !isNan;
      wrong += isNan ? !gotNan : results[i] != expected;
    }
    CHECK(wrong == 0);
    CHECK(numbers > kElements / 2);
  }
}

} // namespace imbrex::host
