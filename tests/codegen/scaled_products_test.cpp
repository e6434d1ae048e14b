// Products with block scales on the matrix units of every kind of machine: all pairs of elements,
// with both scales, one or none, extents that are no powers of two, batches, factors that are
// transposed, loaded as they are or ahead, against the interpreter; exactly, and as badly as the
// units may add up.

#include "backend/analysis/matrix_product.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/ADT/STLExtras.h"
#include "tests/codegen/kernel_table.h"
#include "tests/codegen/matrix_text.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

constexpr const char *kNarrow[] = {"f4e2m1", "f8e4m3fn", "f8e5m2"};
constexpr const char *kElements[] = {"f4e2m1", "f8e4m3fn", "f8e5m2", "f16", "bf16"};

struct Pair {
  std::string a, b;
  bool hasF4() const { return a == "f4e2m1" || b == "f4e2m1"; }
  bool has(std::string_view element) const { return a == element || b == element; }
  bool isNarrow() const { return !has("f16") && !has("bf16"); }
};

/// One product of a view's only tiles, or of as many along k as there are steps.
struct Case {
  Pair elements;
  bool isAScaled, isBScaled;
  std::int64_t batches, m, n, k, steps;
  bool isATransposed, isBTransposed;
  int slots; ///< 0: not loaded ahead.
  std::string scaleA = "e8m0", scaleB = "e8m0";

  std::int64_t scalesOfA() const { return blocksOf(scaleA); }
  std::int64_t scalesOfB() const { return blocksOf(scaleB); }

private:
  std::int64_t blocksOf(std::string_view scale) const { return k / (scale == "e8m0" ? 32 : 16); }
};

Case randomCase(const Pair &elements, std::mt19937 &rng) {
  const auto one = [&](std::initializer_list<std::int64_t> of) { return oneOf(rng, of); };
  return {.elements = elements,
          .isAScaled = one({0, 1, 1, 1}) == 1,
          .isBScaled = one({0, 1, 1, 1}) == 1,
          .batches = one({0, 0, 0, 2, 3}),
          .m = one({2, 8, 16, 48, 64}),
          .n = one({2, 8, 16, 48, 80, 100}),
          .k = one({32, 32, 64, 96, 128}),
          .steps = one({1, 3}),
          .isATransposed = one({0, 0, 1}) == 1,
          .isBTransposed = one({0, 1, 1}) == 1,
          .slots = static_cast<int>(one({0, 3}))};
}

/// Of either kind for elements of 4 and 8 bits; now and then of both in one product.
Case withRandomScales(Case of, std::mt19937 &rng) {
  const auto scaleFor = [&](std::string_view element) {
    return element == "f16" || element == "bf16" || rng() % 4 == 0 ? "e8m0" : "f8e4m3fn";
  };
  of.scaleA = scaleFor(of.elements.a);
  of.scaleB = scaleFor(of.elements.b);
  return of;
}

/// The text of a kernel and the arrays that it takes.
class CaseText : MatrixText {
public:
  explicit CaseText(const Case &of) : MatrixText(of.batches), of_(of) {}

  TableKernel kernel() const {
    const std::int32_t rank = of_.batches > 0 ? 3 : 2;
    const std::string views = ", " + std::to_string(rank) + ">", batch = rank == 3 ? ", %0" : "";
    const std::string result = "f32" + extents(of_.m, of_.n);
    std::string text = "kernel @product(%a: view<const " + of_.elements.a + views +
                       ", %b: view<const " + of_.elements.b + views + ", %sa: view<const " +
                       of_.scaleA + views + ", %sb: view<const " + of_.scaleB + views +
                       ", %c: view<f32" + views +
                       ") stage tiles {\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n" +
                       "%n = constant " + std::to_string(of_.steps) +
                       " : i64\n%z = constant 0.0 : " + result + "\n%s = for %0, %n, %1, %z";
    if (of_.slots > 0) text += " [pipelined = " + std::to_string(of_.slots) + "]";
    text += " (%k: i64, %sum: " + result + ") {\n" +
            loaded("a", of_.elements.a, of_.isATransposed, {of_.m, of_.k}) +
            loaded("b", of_.elements.b, of_.isBTransposed, {of_.k, of_.n});
    std::string operands = "%ta, %tb, %sum";
    const auto scaleBy = [&](const std::string &name, const std::string &type) {
      operands += ", %f" + name;
      text += "%f" + name + " = view.load %s" + name + batch + ", %0, %k : " + type + "\n";
    };
    if (of_.isAScaled) scaleBy("a", of_.scaleA + extents(of_.m, of_.scalesOfA()));
    if (of_.isBScaled) scaleBy("b", of_.scaleB + extents(of_.n, of_.scalesOfB()));
    text += "%d = dot_scaled " + operands + " [scale_a = " + (of_.isAScaled ? "true" : "false") +
            ", scale_b = " + (of_.isBScaled ? "true" : "false") + "] : " + result +
            "\nyield %d\n} : " + result + "\nview.store %c, %s" + batch + ", %0, %0\n}\n";
    const std::int64_t k = of_.k * of_.steps;
    return {.name = "product",
            .kernel = parsedKernel(text),
            .grid = {.extents = {1, 1, 1}},
            .arguments = {random(of_.isATransposed, of_.m, k), random(of_.isBTransposed, k, of_.n),
                          "zeros:" + array(of_.m, of_.scalesOfA() * of_.steps),
                          "zeros:" + array(of_.n, of_.scalesOfB() * of_.steps),
                          "zeros:" + array(of_.m, of_.n)}};
  }

private:
  const Case &of_;
};

/// Whether the product is one of floats of 8 bits without scales, on a unit that keeps fewer bits
/// of their sums than f32 has.
bool keepsFewBits(const machine::Machine &machine, const Case &of) {
  return !of.isAScaled && !of.isBScaled && of.elements.isNarrow() &&
         llvm::any_of(mmaInstructionsOf(machine), [](const machine::MmaInstruction *row) {
           return machine::bitsOf(row->a) == 8 && row->sums == machine::MatrixElement::F32 &&
                  sumsInFewBits(*row);
         });
}

/// Scales about 2^-4 to 2^4, those that have a sign of either, and now and then a NaN.
void fillScales(const TableLaunch &launch, std::uint32_t seed) {
  std::mt19937 rng(seed);
  const auto power = [&] { return rng() % 200 == 0 ? 255U : 123U + rng() % 9; };
  const auto signedScale = [&] {
    return rng() % 200 == 0 ? 127U : 24U + rng() % 64 + rng() % 2 * 128;
  };
  for (const TableLaunch::Piece &piece : launch.pieces())
    if (piece.name == "sa" || piece.name == "sb")
      for (std::int64_t i = 0; i < piece.argument.bytes; ++i)
        piece.argument.data[i] = static_cast<std::byte>(
            piece.element == ir::ElementKind::E8M0 ? power() : signedScale());
}

/// Exactly, and as badly as the machine may add up.
void checkOn(const char *machine, const Case &of, std::uint32_t seed) {
  const machine::Machine &on = *machine::findMachine(machine);
  if (target::findGpuTarget(on) == nullptr) return;
  checkAsInterpreter(CaseText(of).kernel(), machine,
                     {.prepare = [&](const TableLaunch &launch) { fillScales(launch, seed); },
                      .agreesAtWorst = !keepsFewBits(on, of)});
}

/// A pair of narrow ones, or any.
std::vector<Pair> pairsFor(std::mt19937 &rng) {
  std::vector<Pair> pairs;
  for (const char *a : kNarrow)
    for (const char *b : kNarrow) pairs.push_back({a, b});
  for (int i = 0; i < 3; ++i) {
    Pair other{kElements[rng() % 5], kElements[3 + rng() % 2]};
    if (rng() % 2 == 0) std::swap(other.a, other.b);
    pairs.push_back(other);
  }
  return pairs;
}

const ir::Op &productIn(const ir::Kernel &kernel) {
  const ir::Op *found = nullptr;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (ir::isProduct(op)) found = &op;
  });
  REQUIRE(found);
  return *found;
}

bool hasRow(const machine::Machine &machine, const Pair &elements,
            const machine::BlockScale &scale) {
  const auto a = machine::matrixElementNamed(elements.a),
             b = machine::matrixElementNamed(elements.b);
  return llvm::any_of(mmaInstructionsOf(machine), [&](const machine::MmaInstruction *row) {
    return row->a == a && row->b == b && row->sums == machine::MatrixElement::F32 &&
           row->scale == scale;
  });
}

} // namespace

TEST_CASE("products with block scales are those of the interpreter, on every emulated machine") {
  std::mt19937 rng(22);
  for (const char *machine : kMachinesWithUnits) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    for (const Pair &elements : pairsFor(rng)) {
      const Case random = randomCase(elements, rng);
      checkOn(machine, random, static_cast<std::uint32_t>(rng()));
    }
  }
}

TEST_CASE("and so are those with scales of f8e4m3fn, whose signs do not count") {
  std::mt19937 rng(4);
  for (const char *machine : kMachinesWithUnits) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    std::vector<Pair> pairs{{"f4e2m1", "f4e2m1"}, {"f4e2m1", "f4e2m1"}};
    pairs.push_back({kNarrow[rng() % 3], kNarrow[rng() % 3]});
    pairs.push_back({kElements[rng() % 5], "f4e2m1"});
    for (const Pair &elements : pairs) {
      const Case random = withRandomScales(randomCase(elements, rng), rng);
      checkOn(machine, random, static_cast<std::uint32_t>(rng()));
    }
  }
}

TEST_CASE("scales are read in slots, the right byte of a word for each instruction") {
  struct Kind {
    const char *a, *b, *scale;
  };
  std::vector<Kind> kinds{{"f4e2m1", "f4e2m1", "f8e4m3fn"}};
  for (const char *a : kNarrow)
    for (const char *b : {"f4e2m1", "f8e4m3fn"}) kinds.push_back({a, b, "e8m0"});
  for (const auto &[a, b, scale] : kinds) {
    const Case deep{.elements = {.a = a, .b = b},
                    .isAScaled = true,
                    .isBScaled = true,
                    .batches = 0,
                    .m = 64,
                    .n = 48,
                    .k = 128,
                    .steps = 3,
                    .isATransposed = false,
                    .isBTransposed = true,
                    .slots = 3,
                    .scaleA = scale,
                    .scaleB = scale};
    checkOn("sm_120a", deep, 5);
  }
}

TEST_CASE("a scaled product has the unit with scales, else that of the least exact elements") {
  constexpr machine::BlockScale kNone{}, kOfMx{machine::MatrixElement::E8M0, 32},
      kOfNvfp4{machine::MatrixElement::F8E4M3FN, 16};
  for (const machine::Machine &machine : machine::allMachines())
    for (const char *a : kElements)
      for (const char *b : kElements)
        for (const machine::BlockScale scale : {kOfMx, kOfNvfp4}) {
          const Pair elements{a, b};
          if (scale == kOfNvfp4 && (elements.a == "f16" || elements.a == "bf16")) continue;
          const Case plain{.elements = elements,
                           .isAScaled = true,
                           .isBScaled = false,
                           .batches = 0,
                           .m = 64,
                           .n = 64,
                           .k = 64,
                           .steps = 1,
                           .isATransposed = false,
                           .isBTransposed = false,
                           .slots = 0,
                           .scaleA = scale == kOfMx ? "e8m0" : "f8e4m3fn"};
          ir::Kernel kernel = CaseText(plain).kernel().kernel.clone();
          Diagnostics diagnostics;
          REQUIRE(runPasses(kernel, gpuPipeline(), {diagnostics, machine}, "choose-units"));
          CAPTURE(std::string(machine.name));
          CAPTURE(elements.a);
          CAPTURE(elements.b);
          const ir::Op &product = productIn(kernel);
          const machine::MmaInstruction *unit = analysis::unitOf(kernel, product, machine);
          const auto isOf = [&](machine::MatrixElement element) {
            return unit && unit->a == element && unit->b == element && !unit->isScaled();
          };
          if (elements.isNarrow() && hasRow(machine, elements, scale))
            CHECK((unit && unit->scale == scale));
          else if (!elements.has("f16") && hasRow(machine, {"bf16", "bf16"}, kNone))
            CHECK(isOf(machine::MatrixElement::BF16));
          else if (hasRow(machine, {"tf32", "tf32"}, kNone))
            CHECK(isOf(machine::MatrixElement::Tf32));
          else if (hasRow(machine, {"f32", "f32"}, kNone))
            CHECK(isOf(machine::MatrixElement::F32));
          else
            CHECK(!unit);
        }
}

namespace {

/// A loop that loads ahead, as all passes leave it for a machine.
ir::Kernel pipelined(const machine::Machine &machine, const Pair &elements, std::int64_t k) {
  const Case loop{.elements = elements,
                  .isAScaled = true,
                  .isBScaled = true,
                  .batches = 0,
                  .m = 128,
                  .n = 128,
                  .k = k,
                  .steps = 8,
                  .isATransposed = false,
                  .isBTransposed = true,
                  .slots = 3};
  ir::Kernel kernel = CaseText(loop).kernel().kernel.clone();
  const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(runPasses(kernel, gpuPipeline(), {diagnostics, machine, usual}),
                  diagnostics.render());
  return kernel;
}

std::int64_t ringsIn(const ir::Kernel &kernel) {
  std::int64_t rings = 0;
  ir::walk(kernel.body(), [&](const ir::Op &op) { rings += op.kind == ir::OpKind::RingNew; });
  return rings;
}

} // namespace

TEST_CASE(
    "f4e2m1 and scales are read in their slots, and scales no copy brings come in registers") {
  struct Question {
    const char *machine;
    std::int64_t k;
    bool hasScalesInSlots; ///< Rows of 4 bytes; a copy takes 4, or 16.
  };
  for (const auto &[name, k, hasScalesInSlots] :
       {Question{"sm_120a", 128, true}, {"sm_120a", 64, false}, {"gfx950", 128, false}})
    for (const char *b : kNarrow) {
      CAPTURE(std::string(name));
      CAPTURE(k);
      CAPTURE(std::string(b));
      const ir::Kernel kernel = pipelined(*machine::findMachine(name), {.a = "f4e2m1", .b = b}, k);
      CHECK(ringsIn(kernel) == (hasScalesInSlots ? 4 : 2));
      for (const std::size_t i : {0, 1, 3, 4})
        CHECK(kernel.type(productIn(kernel).operand(i)).isShared() == (i < 2 || hasScalesInSlots));
    }
}

TEST_CASE("large tiles are scaled by hand where a thread has no registers for their fragments") {
  for (const char *name : {"sm_80", "sm_90a", "gfx942", "gfx1201"}) {
    CAPTURE(std::string(name));
    const machine::Machine &machine = *machine::findMachine(name);
    const ir::Kernel kernel = pipelined(machine, {.a = "f8e4m3fn", .b = "f4e2m1"}, 128);
    const ir::Op &product = productIn(kernel);
    CHECK(product.kind == ir::OpKind::Dot);
    CHECK(analysis::unitOf(kernel, product, machine) != nullptr);
    CHECK(ringsIn(kernel) >= (machine.asyncCopies.leastBytes > 0 ? 2 : 0));
  }
}
