// Products of every element type on the matrix units of every kind of machine: extents that are no
// powers of two, batches, factors that are transposed, loaded as they are or ahead, against the
// interpreter; exactly, and as badly as the units may add up. And of small integers, bit for bit.

#include "backend/analysis/matrix_product.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/kernel_table.h"
#include "tests/codegen/matrix_text.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// What is multiplied, and how it is added up.
struct Elements {
  std::string a, b, sums;
  std::string attributes = {};
  std::string cast = {}; ///< What tiles are cast to before they are multiplied; empty: nothing.
};
const std::vector<Elements> &allElements() {
  static const std::vector<Elements> all{
      {"f16", "f16", "f32"},
      {"bf16", "bf16", "f32"},
      {"f32", "f32", "f32"},
      // With no more bits than tf32 has, or than its parts have together.
      {"f16", "f16", "f32", " [precision = tf32]", "f32"},
      {"bf16", "bf16", "f32", " [precision = tf32x3]", "f32"},
      {"bf16", "bf16", "f32", " [precision = bf16x3]", "f32"},
      {"f64", "f64", "f64"},
      {"i8", "i8", "i32"},
      {"u8", "u8", "i32"},
      {"f8e4m3fn", "f8e5m2", "f32", " [promote_every = 64]"},
      {"f8e5m2fnuz", "f8e4m3fnuz", "f32"},
  };
  return all;
}

/// One product of a view's only tiles, or of as many along k as there are steps.
struct Case {
  Elements elements;
  std::int64_t batches = 0, m = 64, n = 64, k = 64, steps = 1;
  bool isATransposed = false, isBTransposed = false;
  int slots = 0;           ///< 0: not loaded ahead.
  std::string stored = {}; ///< What the sums are cast to, exactly; empty: nothing.
  bool isStoredTransposed = false;
};

Case randomCase(const Elements &elements, std::mt19937 &rng) {
  const auto one = [&](std::initializer_list<std::int64_t> of) { return oneOf(rng, of); };
  return {.elements = elements,
          .batches = one({0, 0, 0, 2, 3}),
          .m = one({1, 7, 16, 48, 64}),
          .n = one({1, 7, 16, 48, 80, 100}),
          .k = one({1, 7, 16, 32, 48, 80}),
          .steps = one({1, 3}),
          .isATransposed = one({0, 0, 1}) == 1,
          .isBTransposed = one({0, 1}) == 1,
          .slots = static_cast<int>(one({0, 3}))};
}

/// The text of a kernel and the arrays that it takes.
class CaseText : MatrixText {
public:
  explicit CaseText(const Case &of) : MatrixText(of.batches), of_(of) {}

  TableKernel kernel() const {
    const auto &[a, b, sums, attributes, cast] = of_.elements;
    const std::int32_t rank = of_.batches > 0 ? 3 : 2;
    const std::string views = ", " + std::to_string(rank) + ">";
    const std::string result = sums + extents(of_.m, of_.n);
    std::string text = "kernel @product(%a: view<const " + a + views + ", %b: view<const " + b +
                       views + ", %c: view<" + (of_.stored.empty() ? sums : of_.stored) + views +
                       ") stage tiles {\n" +
                       "%0 = constant 0 : i64\n%1 = constant 1 : i64\n%n = constant " +
                       std::to_string(of_.steps) + " : i64\n%z = constant " +
                       (sums == "i32" ? "0" : "0.0") + " : " + result + "\n%s = for %0, %n, %1, %z";
    if (of_.slots > 0) text += " [pipelined = " + std::to_string(of_.slots) + "]";
    text +=
        " (%k: i64, %sum: " + result + ") {\n" + loaded("a", a, of_.isATransposed, {of_.m, of_.k}) +
        loaded("b", b, of_.isBTransposed, {of_.k, of_.n}) + castTo("a", cast, {of_.m, of_.k}) +
        castTo("b", cast, {of_.k, of_.n}) + "%d = dot %" + (cast.empty() ? "ta, %tb" : "ca, %cb") +
        ", %sum" + attributes + " : " + result + "\nyield %d\n} : " + result + "\n" +
        storeOfSums() + (rank == 3 ? ", %0" : "") + ", %0, %0\n}\n";
    return {.name = "product",
            .kernel = parsedKernel(text),
            .grid = {.extents = {1, 1, 1}},
            .arguments = {
                random(of_.isATransposed, of_.m, of_.k * of_.steps),
                random(of_.isBTransposed, of_.k * of_.steps, of_.n),
                "zeros:" + (of_.isStoredTransposed ? array(of_.n, of_.m) : array(of_.m, of_.n))}};
  }

private:
  /// But for where.
  std::string storeOfSums() const {
    std::string text, element = of_.elements.sums, sums = "%s";
    if (!of_.stored.empty()) {
      element = of_.stored;
      text += "%r = cast %s : " + element + extents(of_.m, of_.n) + "\n";
      sums = "%r";
    }
    if (of_.isStoredTransposed) {
      text += "%t = permute " + sums + " [order = " + (of_.batches > 0 ? "[0, 2, 1]" : "[1, 0]") +
              "] : " + element + extents(of_.n, of_.m) + "\n";
      sums = "%t";
    }
    return text + "view.store %c, " + sums;
  }

  std::string castTo(const std::string &name, const std::string &element, Extents tile) const {
    if (element.empty()) return "";
    return "%c" + name + " = cast %t" + name + " : " + element + extents(tile.rows, tile.columns) +
           "\n";
  }

  const Case &of_;
};

/// Whether the machine's units have sums of these elements with fewer bits than f32 has.
bool keepsFewBits(const machine::Machine &machine, const Elements &elements) {
  return llvm::any_of(mmaInstructionsOf(machine), [&](const machine::MmaInstruction *row) {
    return machine::nameOf(row->a) == elements.a && sumsInFewBits(*row);
  });
}

/// On an emulated machine, also where its units add up as badly as they may.
void checkCase(const Case &of, const char *machine) {
  checkAsInterpreter(CaseText(of).kernel(), machine,
                     {.agreesAtWorst = !keepsFewBits(*machine::findMachine(machine), of.elements)});
}

/// The instruction that a machine's unit multiplies by; null where it is multiply-adds.
const machine::MmaInstruction *unitOf(const Case &of, const machine::Machine &machine) {
  ir::Kernel kernel = CaseText(of).kernel().kernel.clone();
  Diagnostics diagnostics;
  REQUIRE(runPasses(kernel, gpuPipeline(), {diagnostics, machine}, "choose-units"));
  const machine::MmaInstruction *unit = nullptr;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::Dot) unit = analysis::unitOf(kernel, op, machine);
  });
  return unit;
}

/// Whether the machine has a row for elements as they are.
bool hasUnitFor(const machine::Machine &machine, std::string_view element, std::string_view sums) {
  const auto wanted = machine::matrixElementNamed(element);
  return llvm::any_of(mmaInstructionsOf(machine), [&](const machine::MmaInstruction *row) {
    return row->a == wanted && row->b == wanted && machine::nameOf(row->sums) == sums;
  });
}

/// Together every extent of `kOddExtents` along each axis on each machine's unit, and all 8-bit
/// elements by themselves. The large ones are of i8, which every unit takes, and quickest to run.
std::vector<Case> oddCases() {
  const auto onto = [](const std::string &element) {
    return Elements{element, element, element == "i8" || element == "u8" ? "i32" : "f32"};
  };
  return {
      {.elements = onto("i8"), .m = 192, .n = 100, .k = 80},
      {.elements = onto("i8"), .m = 80, .n = 192, .k = 100, .isBTransposed = true},
      {.elements = onto("f16"), .m = 100, .n = 80, .k = 192},
      {.elements = onto("f8e4m3fn"), .m = 48, .n = 16, .k = 80, .isBTransposed = true},
      {.elements = onto("f8e5m2"), .m = 16, .n = 80, .k = 48},
      {.elements = onto("f8e4m3fnuz"), .batches = 2, .m = 16, .n = 7, .k = 7},
      {.elements = onto("f8e5m2fnuz"), .batches = 2, .m = 7, .n = 16, .k = 48},
      {.elements = onto("u8"), .m = 48, .n = 16, .k = 16, .steps = 3, .slots = 3},
      {.elements = onto("bf16"), .batches = 3, .m = 16, .n = 48, .k = 16},
      {.elements = onto("f16"), .m = 48, .n = 1, .k = 192},
      {.elements = onto("f16"), .m = 1, .n = 192, .k = 192},
      {.elements = onto("f16"), .m = 80, .n = 48, .k = 1},
      {.elements = onto("f32"), .m = 80, .n = 48, .k = 1},
  };
}
const std::set<std::int64_t> kOddExtents{1, 7, 16, 48, 80, 100, 192};

} // namespace

TEST_CASE("small integers are multiplied to the same bits by interpreter, host and every emulated "
          "machine, whatever the extents") {
  for (const Case &of : oddCases()) checkBitForBit(CaseText(of).kernel());
}

TEST_CASE("each machine's unit sees each odd extent along each axis, and bytes as they are") {
  for (const char *name : kMachinesWithUnits) {
    CAPTURE(std::string(name));
    const machine::Machine &machine = *machine::findMachine(name);
    std::set<std::int64_t> m, n, k;
    for (const Case &of : oddCases()) {
      const machine::MmaInstruction *unit = unitOf(of, machine);
      if (unit) m.insert(of.m), n.insert(of.n), k.insert(of.k);
      CAPTURE(of.elements.a);
      // Of one multiplication along k, deep instructions would be padding.
      if (hasUnitFor(machine, of.elements.a, of.elements.sums) && of.k > 1)
        CHECK((unit && machine::nameOf(unit->a) == of.elements.a));
    }
    CHECK(m == kOddExtents);
    CHECK(n == kOddExtents);
    CHECK(k == kOddExtents);
  }
}

TEST_CASE("products on matrix units are those of the interpreter, on every emulated machine") {
  std::mt19937 rng(22);
  for (const char *machine : kMachinesWithUnits) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    for (const Elements &elements : allElements())
      for (int i = 0; i < 2; ++i) checkCase(randomCase(elements, rng), machine);
  }
}

TEST_CASE("sums that are stored narrower arrive in rows and columns, on every emulated machine") {
  std::mt19937 rng(23);
  for (const char *machine : kMachinesWithUnits) {
    const machine::Machine &on = *machine::findMachine(machine);
    if (target::findGpuTarget(on) == nullptr) continue;
    for (int i = 0; i < (on.storesMatrices ? 12 : 2); ++i) {
      Case random = randomCase({"i8", "i8", "i32"}, rng);
      random.stored = oneOf(rng, {0, 0, 1}) == 0 ? "i16" : "i8";
      random.isStoredTransposed = oneOf(rng, {0, 1}) == 1;
      checkCase(random, machine);
    }
  }
}

TEST_CASE("each element type has a unit wherever the table has a row for it") {
  for (const machine::Machine &machine : machine::allMachines())
    for (const Elements &elements : allElements()) {
      const Case plain{.elements = elements};
      const bool isOnUnit = unitOf(plain, machine) != nullptr;
      const auto has = [&](std::string_view element) {
        return hasUnitFor(machine, element, elements.sums);
      };
      const bool isNarrow = elements.a.starts_with("f8"),
                 isTf32 = elements.attributes.find("tf32") != std::string::npos;
      CAPTURE(std::string(machine.name));
      CAPTURE(elements.attributes);
      // Where nothing rounds to bf16, parts would take longer than f32.
      const bool isBf16x3 = elements.attributes.find("bf16x3") != std::string::npos,
                 roundsToBf16 = machine::hasBf16Op(machine, "cast");
      CHECK(isOnUnit == (isTf32     ? has("tf32") || has("f32")
                         : isBf16x3 ? has("f32") || (has("bf16") && roundsToBf16)
                                    : has(isNarrow ? "f16" : elements.a)));
    }
}

TEST_CASE(
    "sums of 8-bit floats leave the unit as often as asked for, or where nobody says they are "
    "f32") {
  struct Row {
    const char *machine;
    std::string attributes;
    std::int64_t additions; ///< Of each sum, in a product 256 deep.
  };
  const Row rows[] = {{"gfx950", "", 0},  {"gfx950", " [promote_every = 128]", 2},
                      {"gfx1201", "", 0}, {"gfx1201", " [promote_every = 64]", 4},
                      {"sm_120a", "", 0}, {"sm_90a", "", 8}}; // of which nobody says so
  for (const auto &[machine, attributes, additions] : rows) {
    CAPTURE(std::string(machine));
    CAPTURE(attributes);
    const target::GpuTarget *target = target::findGpuTarget(*machine::findMachine(machine));
    if (target == nullptr) continue;
    const Case deep{.elements = {"f8e4m3fn", "f8e4m3fn", "f32", attributes}, .k = 256};
    ir::Kernel kernel = CaseText(deep).kernel().kernel.clone();
    const GpuCode code = codeOf(kernel, *target);
    std::int64_t added = 0;
    for (const llvm::Function &function : *code.module)
      for (const llvm::Instruction &instruction : llvm::instructions(function))
        if (instruction.getOpcode() == llvm::Instruction::FAdd) {
          const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
          added += vector ? vector->getNumElements() : 1;
        }
    const std::int64_t ofThread = 64 * 64 / kernel.threads().count();
    CHECK(added == additions * ofThread);
  }
}
