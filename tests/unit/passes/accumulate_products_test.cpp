#include "backend/interpret/interpret.h"
#include "backend/ir/verify.h"
#include "backend/passes/accumulate_products.h"
#include "backend/pipeline.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace imbrex;
using namespace imbrex::ir;
using testing::parsedKernel;

namespace {

void accumulateIn(Kernel &kernel) {
  Diagnostics diagnostics;
  passes::accumulateProducts(kernel, {diagnostics, machine::hostMachine()});
  REQUIRE_MESSAGE(verify(kernel, diagnostics), diagnostics.render());
}

std::int64_t opCount(const Kernel &kernel, OpKind kind) {
  std::int64_t found = 0;
  walk(kernel.body(), [&](const Op &op) { found += op.kind == kind ? 1 : 0; });
  return found;
}

/// Ways to add products to sums: `a`, `b` are factors, `zero` and `c` sums. What is left of each is
/// as many ops of these kinds.
struct Addition {
  std::string ops;
  bool isOfFloats = false;  ///< Alone.
  bool negatesSums = false; ///< Of integers, in place of a factor.
  std::int64_t sums = 0;    ///< add, sub and fma that stay.
  std::int64_t products = 1;
};

const std::string kProduct = "%p = dot %a, %b, %zero : S\n";
const std::string kOther = "%q = dot %e, %b, %zero : S\n";

const std::vector<Addition> kAdditions = {
    {kProduct + "%r = add %c, %p : S\n"},
    {kProduct + "%r = add %p, %c : S\n"},
    {kProduct + "%r = sub %c, %p : S\n", false, true},
    {kProduct + "%r = sub %p, %c : S\n"},
    {kProduct + "%r = fma %c, %d, %p : S\n", true},
    {kProduct + "%two = constant 2 : S\n%s = mul %c, %two : S\n%r = add %s, %p : S\n"},
    {kProduct + "%one = constant 1 : S\n%r = add %one, %p : S\n"},
    {kProduct + kOther + "%s = add %p, %q : S\n%r = add %c, %s : S\n", false, false, 0, 2},
    {kProduct + kOther + "%s = add %c, %p : S\n%r = add %s, %q : S\n", false, false, 0, 2},
    {kProduct + kOther + "%s = sub %p, %q : S\n%r = add %c, %s : S\n", true, false, 0, 2},
};

/// Ways that stay as they are.
const std::vector<std::string> kOthers = {
    kProduct + "%s = add %c, %p : S\n%r = add %s, %p : S\n",           // asked for twice
    kProduct + "%s = add %c, %p : S\nprint %p\n%r = add %s, %s : S\n", // seen
    "%p = dot %a, %b, %d : S\n%r = add %c, %p : S\n",                  // begins with sums
    kProduct + "%r = add %l, %p : S\n",                                // what was loaded
    kProduct + "%r = mul %c, %p : S\n",
    kProduct + "%r = if %yes {\n%s = add %c, %p : S\nyield %s\n} else {\nyield %c\n} : S\n",
};

struct Elements {
  std::string factor, sum;
};

/// Two trips of a loop that carries `c` and `d` on, with r for the next c.
std::string additionText(const std::string &ops, const Elements &elements,
                         const std::string &header = "") {
  const std::string factors = elements.factor + "[4x8]", others = elements.factor + "[8x4]";
  std::string text =
      "kernel @k(%x: view<const " + elements.factor + ", 2>, %y: view<const " + elements.factor +
      ", 2>, %z: view<" + elements.sum + ", 2>, %yes: bool) stage tiles" + header + " {\n" +
      "%i0 = constant 0 : i32\n%i1 = constant 1 : i32\n%i2 = constant 2 : i32\n" +
      "%zero = constant 0 : S\n%first = view.load %z, %i0, %i0 : S\n" +
      "%l = view.load %z, %i1, %i0 : S\n" +
      "%end, %other = for %i0, %i2, %i1, %first, %first (%i: i32, %c: S, %d: S) {\n" +
      "%a = view.load %x, %i, %i0 : " + factors + "\n%e = view.load %x, %i1, %i : " + factors +
      "\n%b = view.load %y, %i, %i0 : " + others + "\n" + ops + "yield %r, %d\n} : S, S\n" +
      "view.store %z, %end, %i0, %i0\n}\n";
  for (std::size_t at = 0; (at = text.find(" S", at)) != std::string::npos;)
    if (const char behind = text[at + 2]; behind == '\n' || behind == ',' || behind == ')')
      text.replace(at + 1, 1, elements.sum + "[4x4]");
    else
      ++at;
  return text;
}

Kernel additionKernel(const std::string &ops, const Elements &elements,
                      const std::string &header = "") {
  CAPTURE(additionText(ops, elements, header));
  return parsedKernel(additionText(ops, elements, header));
}

/// A matrix of 8 x 16 of an element that takes so many bytes.
template <class T>
Argument matrixOf8x16(std::vector<T> &numbers) {
  return {.data = reinterpret_cast<std::byte *>(numbers.data()),
          .bytes = static_cast<std::int64_t>(numbers.size() * sizeof(T)),
          .extents = {8, 16},
          .strides = {16, 1}};
}

template <class T, class Sum>
std::vector<Sum> runAddition(const Kernel &kernel, std::vector<T> x, std::vector<T> y,
                             std::vector<Sum> z) {
  Diagnostics diagnostics;
  const std::vector<Argument> arguments{matrixOf8x16(x), matrixOf8x16(y), matrixOf8x16(z),
                                        Argument{.scalar = 1}};
  REQUIRE_MESSAGE(interpret::run(kernel, {}, arguments, diagnostics), diagnostics.render());
  return z;
}

template <class T, class Number>
std::vector<T> numbersFor(std::mt19937 &random, Number &&number) {
  std::vector<T> made;
  for (int i = 0; i < 8 * 16; ++i) made.push_back(static_cast<T>(number(random)));
  return made;
}

} // namespace

TEST_CASE("an addition to sums leaves no product beside them") {
  for (const Elements &elements :
       {Elements{"f32", "f32"}, Elements{"bf16", "f32"}, Elements{"f64", "f64"},
        Elements{"i8", "i32"}, Elements{"f8e4m3fn", "f32"}})
    for (const Addition &addition : kAdditions) {
      const bool isInteger = elements.sum == "i32";
      if (isInteger && addition.isOfFloats) continue;
      const bool isNarrow = elements.factor == "f8e4m3fn"; // which has no negation
      if (isNarrow && (addition.negatesSums || addition.products == 2)) continue;
      Kernel kernel = additionKernel(addition.ops, elements);
      CAPTURE(print(kernel));
      accumulateIn(kernel);
      CAPTURE(print(kernel));
      CHECK(opCount(kernel, OpKind::Add) + opCount(kernel, OpKind::Sub) +
                opCount(kernel, OpKind::Fma) ==
            0);
      CHECK(opCount(kernel, OpKind::Dot) == addition.products);
      walk(kernel.body(), [&](const Op &op) {
        if (op.kind == OpKind::Dot) CHECK(constantBits(kernel, op.operand(2)) != 0);
      });
    }
}

TEST_CASE("sums of integers stay the same to the bit, also where they wrap") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial)
    for (const Addition &addition : kAdditions) {
      if (addition.isOfFloats) continue;
      CAPTURE(addition.ops);
      const auto any = [](std::mt19937 &r) { return r(); };
      const auto x = numbersFor<std::int8_t>(random, any), y = numbersFor<std::int8_t>(random, any);
      const auto z = numbersFor<std::int32_t>(random, any);
      Kernel kernel = additionKernel(addition.ops, {"i8", "i32"});
      const auto before = runAddition(kernel, x, y, z);
      accumulateIn(kernel);
      CHECK(runAddition(kernel, x, y, z) == before);
    }
}

TEST_CASE("sums of floats are as near, and the same where no sum rounds") {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> any(-1, 1);
  for (int trial = 0; trial < 20; ++trial)
    for (const Addition &addition : kAdditions) {
      CAPTURE(addition.ops);
      Kernel kernel = additionKernel(addition.ops, {"f32", "f32"});
      Kernel changed = kernel.clone();
      accumulateIn(changed);
      const auto whole = [](std::mt19937 &r) { return static_cast<int>(r() % 17) - 8; };
      const auto x = numbersFor<float>(random, whole), y = numbersFor<float>(random, whole);
      const auto z = numbersFor<float>(random, whole);
      const auto before = runAddition(kernel, x, y, z), after = runAddition(changed, x, y, z);
      // Zeros with their signs.
      CHECK(std::memcmp(before.data(), after.data(), before.size() * sizeof(float)) == 0);
      const auto u = numbersFor<float>(random, any), v = numbersFor<float>(random, any);
      const auto w = numbersFor<float>(random, any);
      const auto meant = runAddition(kernel, u, v, w), found = runAddition(changed, u, v, w);
      for (std::size_t i = 0; i < meant.size(); ++i)
        CHECK(std::abs(meant[i] - found[i]) <= 64 * 0x1p-24F);
    }
}

TEST_CASE("what others ask for, or what is held otherwise, stays") {
  for (const std::string &ops : kOthers) {
    Kernel kernel = additionKernel(ops, {"f32", "f32"});
    const std::string before = print(kernel);
    accumulateIn(kernel);
    CHECK(print(kernel) == before);
  }
}

TEST_CASE("without contraction floats stay, and integers do not, being exact") {
  Kernel floats = additionKernel(kAdditions.front().ops, {"f32", "f32"}, " [contract = off]");
  const std::string before = print(floats);
  accumulateIn(floats);
  CHECK(print(floats) == before);
  Kernel integers = additionKernel(kAdditions.front().ops, {"i8", "i32"}, " [contract = off]");
  accumulateIn(integers);
  CHECK(opCount(integers, OpKind::Add) == 0);
}

TEST_CASE("every pipeline makes of a product that is added what it makes of one with its sums") {
  const std::string added = additionText(kAdditions.front().ops, {"bf16", "f32"});
  const std::string begun = additionText("%r = dot %a, %b, %c : S\n", {"bf16", "f32"});
  for (const llvm::ArrayRef<Pass> pipeline : {hostPipeline(), gpuPipeline()})
    for (const char *name : {"sm_80", "sm_90a"}) {
      Diagnostics diagnostics;
      std::vector<std::string> made;
      for (const std::string &text : {added, begun}) {
        Kernel kernel = parsedKernel(text);
        REQUIRE_MESSAGE(runPasses(kernel, pipeline, {diagnostics, *machine::findMachine(name)}),
                        diagnostics.render());
        made.push_back(print(kernel));
      }
      CHECK(made[0] == made[1]);
    }
}
