#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "tests/support/random_agreement.h"
#include "tests/support/random_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

using namespace imbrex;
using namespace imbrex::ir;
using testing::randomKernel;

namespace {

constexpr std::uint32_t kSeeds = 500;

testing::RandomKernelOptions optionsOf(std::uint32_t seed) {
  return {.size = static_cast<std::int32_t>(seed % 60),
          .stage = seed % 3 == 0 ? Stage::Traced : Stage::Tiles,
          .runnable = seed % 2 == 0,
          .exact = seed % 5 != 0};
}

LayoutId randomLayout(Kernel &kernel, const Shape &shape, std::mt19937 &rng) {
  llvm::SmallVector<std::int32_t, 5> order;
  for (std::int32_t axis = 0; axis < shape.rank(); ++axis) order.push_back(axis);
  std::ranges::shuffle(order, rng);
  return kernel.addLayout(layout::blockedLayout(shape.extents(), kernel.threads(),
                                                std::int64_t{1} << rng() % 4, order));
}

/// The kernel at stage laid, its tiles in layouts that fit them but not always each other.
Kernel laid(Kernel kernel, std::uint32_t seed) {
  std::mt19937 rng(seed);
  kernel.setStage(Stage::Laid);
  kernel.setThreads({.lanes = 1 << rng() % 7, .warps = 1 << rng() % 4});
  const auto lay = [&](ValueId value) {
    const Type &type = kernel.type(value);
    if (type.isTileOrPointers() && type.rank() > 0)
      kernel.setLayout(value, randomLayout(kernel, type.shape(), rng));
  };
  walk(kernel.body(), [&](Op &op) {
    std::ranges::for_each(op.results, lay);
    for (const Block &region : op.regions) std::ranges::for_each(region.arguments, lay);
  });
  return kernel;
}

/// Whether two kernels are one but for the numbers of their values and layouts.
class Comparison {
public:
  Comparison(const Kernel &a, const Kernel &b) : a_(a), b_(b) {}

  bool areSame() {
    return a_.name() == b_.name() && a_.stage() == b_.stage() && a_.where() == b_.where() &&
           (!a_.hasLayouts() || a_.threads() == b_.threads()) && isSame(a_.body(), b_.body());
  }

private:
  bool isSame(llvm::ArrayRef<ValueId> a, llvm::ArrayRef<ValueId> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (partners_.try_emplace(a[i], b[i]).first->second != b[i] ||
          a_.type(a[i]) != b_.type(b[i]) || layoutOf(a_, a[i]) != layoutOf(b_, b[i]))
        return false;
    return true;
  }

  static std::optional<layout::LinearLayout> layoutOf(const Kernel &kernel, ValueId value) {
    const LayoutId layout = kernel.layoutOf(value);
    if (!layout.valid()) return std::nullopt;
    return kernel.layout(layout);
  }

  bool isSame(const Block &a, const Block &b) {
    return isSame(a.arguments, b.arguments) &&
           std::ranges::equal(a.ops, b.ops,
                              [&](const auto &x, const auto &y) { return isSame(*x, *y); });
  }

  bool isSame(const Op &a, const Op &b) {
    return a.kind == b.kind && isSame(a.operands, b.operands) && isSame(a.results, b.results) &&
           a.attributes == b.attributes && a.where == b.where &&
           std::ranges::equal(a.regions, b.regions,
                              [&](const Block &x, const Block &y) { return isSame(x, y); });
  }

  const Kernel &a_, &b_;
  std::map<ValueId, ValueId> partners_;
};

// What a mutation puts in.
constexpr auto kPieces = std::to_array<std::string_view>({"%0",
                                                          "%99999",
                                                          "{",
                                                          "}",
                                                          "(",
                                                          ")",
                                                          "[",
                                                          "]",
                                                          ",",
                                                          ":",
                                                          "=",
                                                          "\"",
                                                          "@",
                                                          "else",
                                                          "yield",
                                                          "-1",
                                                          "0x",
                                                          "-",
                                                          "f32",
                                                          "i64[3]",
                                                          "[0x0]",
                                                          "\\",
                                                          "ptr<f4e2m1>",
                                                          "stage",
                                                          "%",
                                                          "1e999999999",
                                                          "#",
                                                          "var<",
                                                          "[axis = 7]",
                                                          "[order = [9, -9]]",
                                                          "18446744073709551616",
                                                          "\xff",
                                                          "view<f32, 5>",
                                                          "#0",
                                                          "lanes",
                                                          "warp [[0]]",
                                                          "layout #0 = of [4]"});

/// Texts that people and programs get wrong: bytes changed, lines moved, words put elsewhere.
std::string mutated(std::string text, std::mt19937 &rng) {
  const auto position = [&] { return rng() % (text.size() + 1); };
  for (std::size_t edits = 1 + rng() % 3; edits > 0; --edits) {
    const std::size_t at = position();
    switch (rng() % 10) {
    case 0: text.erase(at, rng() % 8); break;
    case 1: text.insert(at, kPieces[rng() % std::size(kPieces)]); break;
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(rng());
      break;
    case 3: text.insert(at, text.substr(position(), rng() % 60)); break;
    case 4: // one element for another
    case 5: {
      const std::size_t type = text.find(": ", at);
      if (type == std::string::npos) break;
      const std::size_t end = std::min(text.find_first_of("[,) \n", type + 2), text.size());
      text.replace(type + 2, end - type - 2,
                   info(allElementKinds()[rng() % allElementKinds().size()]).name);
      break;
    }
    default: { // one digit for another: a value, an extent, an attribute
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit != std::string::npos) text[digit] = static_cast<char>('0' + rng() % 10);
      break;
    }
    }
  }
  return text;
}

} // namespace

TEST_CASE("random kernels keep every rule, print, and parse to the same text") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const Kernel kernel = randomKernel(seed, optionsOf(seed)).kernel;
    const std::string text = print(kernel);
    Diagnostics diagnostics;
    INFO(text);
    REQUIRE_MESSAGE(verify(kernel, diagnostics), diagnostics.render());
    const auto parsed = parse(text, "random.imx", diagnostics);
    REQUIRE_MESSAGE(parsed, diagnostics.render());
    REQUIRE(print(*parsed) == text);
    REQUIRE_MESSAGE(verify(*parsed, diagnostics), diagnostics.render());
  }
}

TEST_CASE("a parsed kernel is the one that was printed: each op, type, layout, attribute, place") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    Kernel kernel = randomKernel(seed, optionsOf(seed)).kernel;
    if (seed % 2 == 0) kernel = laid(std::move(kernel), seed);
    std::uint32_t line = 0;
    kernel.setWhere({.file = "k.cpp", .line = 3});
    walk(kernel.body(), [&](Op &op) {
      if (++line % 5 != 0) op.where = {.file = "k.cpp", .line = line};
    });
    Diagnostics diagnostics;
    const std::string text = print(kernel, {.locations = true});
    const auto parsed = parse(text, "random.imx", diagnostics);
    REQUIRE_MESSAGE(parsed, diagnostics.render());
    REQUIRE(Comparison(kernel, *parsed).areSame());
    REQUIRE(print(*parsed, {.locations = true}) == text);
  }
}

TEST_CASE("no text makes the parser or the verifier crash, and what passes both prints alike") {
  constexpr std::uint32_t kMutants = 4000;
  std::uint32_t parsedCount = 0, validCount = 0;
  for (std::uint32_t seed = 0; seed < kMutants; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    Kernel kernel = randomKernel(seed % 90, optionsOf(seed % 90)).kernel;
    if (seed % 4 == 0) kernel = laid(std::move(kernel), seed);
    Diagnostics diagnostics;
    const auto parsed = parse(mutated(print(kernel), rng), "mutant.imx", diagnostics);
    REQUIRE(parsed.has_value() == !diagnostics.hasErrors());
    if (!parsed) continue;
    ++parsedCount;
    const std::string text = print(*parsed);
    const auto again = parse(text, "mutant.imx", diagnostics);
    REQUIRE_MESSAGE(again, diagnostics.render());
    REQUIRE(print(*again) == text);
    const bool isValid = verify(*parsed, diagnostics);
    REQUIRE(isValid == !diagnostics.hasErrors());
    validCount += isValid ? 1 : 0;
  }
  // The mutants reach behind each check: some pass the parser alone, some both.
  CHECK(parsedCount > kMutants / 20);
  CHECK(validCount > kMutants / 50);
  CHECK(validCount < parsedCount);
}

TEST_CASE("random kernels have every op but those that only passes make") {
  std::set<OpKind> seen;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed)
    walk(randomKernel(seed, optionsOf(seed)).kernel.body(),
         [&](const Op &op) { seen.insert(op.kind); });
  for (const OpKind kind : allOpKinds()) {
    CAPTURE(info(kind).mnemonic);
    CHECK(seen.contains(kind) == (firstStage(kind) < Stage::Laid));
  }
}

namespace {

/// What the kernels that every device runs are made of.
struct Ingredients {
  std::set<OpKind> ops;
  std::set<std::pair<OpKind, ElementKind>> elementwise;
  std::set<ElementKind> elements, products, scaledProducts;
  std::set<std::int64_t> extents;
  std::set<Combine> reductions, scans;
  std::set<AtomicKind> atomics;
  std::int64_t masked = 0, nested = 0;

  void add(const Kernel &kernel) {
    for (std::uint32_t i = 0; i < kernel.valueCount(); ++i) {
      const Type &type = kernel.type(ValueId(i));
      if (type.isTile()) elements.insert(type.element());
      if (type.isTileOrPointers())
        extents.insert(type.shape().extents().begin(), type.shape().extents().end());
    }
    walk(kernel.body(), [&](const Op &op) { add(kernel, op); });
  }

  void add(const Kernel &kernel, const Op &op) {
    ops.insert(op.kind);
    const auto element = [&](std::size_t i) { return kernel.type(op.operand(i)).element(); };
    if (isElementwise(op.kind)) elementwise.insert({op.kind, element(op.operands.size() - 1)});
    if (op.kind == OpKind::Dot) products.insert(element(0));
    if (op.kind == OpKind::DotScaled) scaledProducts.insert(element(0));
    if (op.kind == OpKind::Reduce) reductions.insert(op.attrs<ReduceAttrs>().combine);
    if (op.kind == OpKind::Scan) scans.insert(op.attrs<ScanAttrs>().combine);
    if (op.kind == OpKind::AtomicRmw) atomics.insert(op.attrs<AtomicAttrs>().kind);
    if (op.kind == OpKind::Store && op.operands.size() == 3) ++masked;
    for (const Block &body : op.regions)
      walk(body, [&](const Op &inner) { nested += inner.regions.empty() ? 0 : 1; });
  }
};

template <class Enum>
std::set<Enum> allBut(std::initializer_list<Enum> missing) {
  std::set<Enum> all;
  for (std::size_t i = 0; i < std::size(kNames<Enum>); ++i) all.insert(static_cast<Enum>(i));
  for (const Enum one : missing) all.erase(one);
  return all;
}

} // namespace

TEST_CASE("the random kernels that every device runs have all there is in them") {
  Ingredients found;
  for (std::uint32_t seed = 0; seed < testing::kAgreementSeeds; ++seed)
    found.add(randomKernel(seed, testing::agreementOptions(seed)).kernel);
  // What the first shows has no order; the second is for one machine.
  found.ops.insert({OpKind::Print, OpKind::InlineAsm});
  for (const OpKind kind : allOpKinds()) {
    CAPTURE(info(kind).mnemonic);
    CHECK(found.ops.contains(kind) == (firstStage(kind) < Stage::Laid));
  }
  for (const ElementKind kind : allElementKinds()) {
    CAPTURE(info(kind).name);
    CHECK(found.elements.contains(kind));
  }
  for (const std::int64_t extent : {1, 2, 3, 7, 16, 48, 100}) {
    CAPTURE(extent);
    CHECK(found.extents.contains(extent));
  }
  CHECK(found.reductions == allBut<Combine>({}));
  CHECK(found.scans == allBut<Combine>({Combine::ArgMin, Combine::ArgMax}));
  CHECK(found.atomics == allBut<AtomicKind>({}));
  CHECK(found.products.size() == 10);
  CHECK(found.scaledProducts.size() == 5);
  CHECK(found.masked > 100);
  CHECK(found.nested > 50);
  CHECK(found.elementwise.size() > 300);
}
