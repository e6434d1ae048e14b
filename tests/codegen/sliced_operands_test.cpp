// Products of parts of a tile that is loaded ahead: gate and up projections in one load, halves of
// k, every other column. Against the interpreter, on the units of every kind of machine and by
// multiply-adds; and where a part can be read where the tile lies, nothing else is done with it.

#include "backend/analysis/assumptions.h"
#include "backend/compile.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/Support/MathExtras.h"
#include "tests/codegen/kernel_table.h"
#include "tests/codegen/matrix_text.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <string>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// What a product takes of an axis of a tile.
struct Part {
  std::int64_t offset, stride, extent;
  std::int64_t end() const { return offset + (extent - 1) * stride + 1; }
};

/// c = Σ a's part · b's part, for each of the two products, k at a time.
struct Sliced {
  std::string element, sums;
  std::array<Part, 2> rows, ofA, ofB, columns; ///< By product; ofA and ofB: along k.
  bool isTransposed;                           ///< Rows of b in memory lie along k.
  int slots;

  static std::int64_t extent(const std::array<Part, 2> &parts) {
    return std::max(parts[0].end(), parts[1].end());
  }
};

/// Bits of the tile's coordinates, or, of some, no matter which.
Part randomPart(std::int64_t extent, bool isOfBits, std::mt19937 &rng) {
  const std::int64_t stride = isOfBits ? oneOf(rng, {1, 1, 2}) : oneOf(rng, {1, 3});
  const std::int64_t number = oneOf(rng, {0, 1});
  const auto spanned = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent)));
  const std::int64_t within = oneOf(rng, {0, stride - 1});
  return {.offset = isOfBits ? number * spanned * stride + within : number * 7 + 1,
          .stride = stride,
          .extent = extent};
}

Sliced randomSliced(const std::string &element, std::mt19937 &rng) {
  const std::int64_t m = oneOf(rng, {16, 32, 48}), n = oneOf(rng, {16, 24, 32}),
                     k = oneOf(rng, {16, 32, 48});
  const bool isOfBits = oneOf(rng, {0, 1, 1, 1}) == 1;
  const auto two = [&](std::int64_t extent) {
    return std::array{randomPart(extent, isOfBits, rng), randomPart(extent, isOfBits, rng)};
  };
  return {.element = element,
          .sums = element == "i8" ? "i32" : "f32",
          .rows = two(m),
          .ofA = two(k),
          .ofB = two(k),
          .columns = two(n),
          .isTransposed = oneOf(rng, {0, 1}) == 1,
          .slots = static_cast<int>(oneOf(rng, {2, 3}))};
}

class SlicedText : MatrixText {
public:
  explicit SlicedText(const Sliced &of) : MatrixText(0), of_(of) {}

  TableKernel kernel() const {
    constexpr std::int64_t kSteps = 3;
    const std::string sums = of_.sums + extents(of_.rows[0].extent, of_.columns[0].extent);
    const std::string a = array(rows(), depth(of_.ofA)), b = of_.isTransposed
                                                                 ? array(columns(), depth(of_.ofB))
                                                                 : array(depth(of_.ofB), columns());
    const std::string text =
        "kernel @parts(%a: view<const " + of_.element + ", 2>, %b: view<const " + of_.element +
        ", 2>, %c: view<" + of_.sums + ", 2>, %d: view<" + of_.sums + ", 2>) stage tiles {\n" +
        "%0 = constant 0 : i64\n%1 = constant 1 : i64\n%n = constant " + std::to_string(kSteps) +
        " : i64\n%z = constant " + (of_.sums == "i32" ? "0" : "0.0") + " : " + sums +
        "\n%r, %s = for %0, %n, %1, %z, %z [pipelined = " + std::to_string(of_.slots) +
        "] (%k: i64, %sum0: " + sums + ", %sum1: " + sums +
        ") {\n%x = view.load %a, %0, %k : " + of_.element + "[" + a + "]\n%y = view.load %b, " +
        (of_.isTransposed ? "%0, %k" : "%k, %0") + " : " + of_.element + "[" + b + "]\n" +
        product(0, sums) + product(1, sums) + "yield %d0, %d1\n} : " + sums + ", " + sums +
        "\nview.store %c, %r, %0, %0\nview.store %d, %s, %0, %0\n}\n";
    const std::string result = array(of_.rows[0].extent, of_.columns[0].extent);
    return {
        .name = "parts",
        .kernel = parsedKernel(text),
        .grid = {.extents = {1, 1, 1}},
        .arguments = {"random:" + array(rows(), depth(of_.ofA) * kSteps),
                      "random:" + (of_.isTransposed ? array(columns(), depth(of_.ofB) * kSteps)
                                                    : array(depth(of_.ofB) * kSteps, columns())),
                      "zeros:" + result, "zeros:" + result}};
  }

private:
  std::int64_t rows() const { return Sliced::extent(of_.rows); }
  std::int64_t columns() const { return Sliced::extent(of_.columns); }
  /// Rounded up, so that copies of several bytes are aligned.
  static std::int64_t depth(const std::array<Part, 2> &parts) {
    constexpr std::int64_t kElements = 16;
    return (Sliced::extent(parts) + kElements - 1) / kElements * kElements;
  }

  std::string slice(const std::string &to, const std::string &tile, const Part &first,
                    const Part &second) const {
    return to + " = slice " + tile + " [offsets = [" + std::to_string(first.offset) + ", " +
           std::to_string(second.offset) + "], strides = [" + std::to_string(first.stride) + ", " +
           std::to_string(second.stride) + "]] : " + of_.element +
           extents(first.extent, second.extent) + "\n";
  }

  std::string product(std::size_t i, const std::string &sums) const {
    const std::string number = std::to_string(i);
    const Part &rows = of_.rows[i], &columns = of_.columns[i], &ofB = of_.ofB[i];
    std::string text = slice("%a" + number, "%x", rows, of_.ofA[i]);
    if (of_.isTransposed)
      text += slice("%t" + number, "%y", columns, ofB) + "%b" + number + " = permute %t" + number +
              " [order = [1, 0]] : " + of_.element + extents(ofB.extent, columns.extent) + "\n";
    else
      text += slice("%b" + number, "%y", ofB, columns);
    return text + "%d" + number + " = dot %a" + number + ", %b" + number + ", %sum" + number +
           " : " + sums + "\n";
  }

  const Sliced &of_;
};

} // namespace

TEST_CASE("products of parts of tiles are those of the interpreter, on every emulated machine") {
  std::mt19937 rng(21);
  for (const char *machine : kMachinesWithUnits) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    for (const char *element : {"f16", "f16", "i8", "f32"}) {
      const Sliced random = randomSliced(element, rng);
      checkAsInterpreter(SlicedText(random).kernel(), machine);
    }
  }
}

TEST_CASE("parts of a tile that are bits of its coordinates are read where it lies") {
  const Part all{0, 1, 64}, low{0, 1, 32}, high{32, 1, 32}, even{0, 2, 32}, odd{1, 2, 32},
      across{16, 1, 32};
  const auto loadsOf = [&](const char *machine, const std::array<Part, 2> &columns) {
    const Sliced gate{.element = "f16",
                      .sums = "f32",
                      .rows = {all, all},
                      .ofA = {all, all},
                      .ofB = {all, all},
                      .columns = columns,
                      .isTransposed = false,
                      .slots = 3};
    ir::Kernel kernel = SlicedText(gate).kernel().kernel.clone();
    Diagnostics diagnostics;
    const passes::PassContext context(diagnostics, *machine::findMachine(machine),
                                      analysis::usualAssumptions(kernel));
    // Of what goes from trip to trip there are loads behind that pass.
    REQUIRE_MESSAGE(runPasses(kernel, gpuPipeline(), context, "place-slots"), diagnostics.render());
    int loads = 0, rings = 0;
    ir::walk(kernel.body(), [&](const ir::Op &op) {
      loads += op.kind == ir::OpKind::SharedLoad;
      rings += op.kind == ir::OpKind::RingNew;
    });
    REQUIRE(rings == 2);
    return loads;
  };
  for (const char *machine : {"sm_80", "sm_90a", "gfx950"}) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    CAPTURE(std::string(machine));
    CHECK(loadsOf(machine, {low, high}) == 0);
    CHECK(loadsOf(machine, {even, odd}) == 0);
    CHECK(loadsOf(machine, {low, across}) == 1);
  }
}

TEST_CASE("a part of a slot is read into registers under any names that it was given") {
  const std::string text = R"(
kernel @part(%v: view<const f32, 2>, %out: view<f32, 2>) stage scheduled lanes 32 warps 1 {
  layout #0 = register [[0,1],[0,2],[4,0],[8,0],[16,0]] lane [[0,4],[0,8],[0,16],[1,0],[2,0]] warp [] of [32x32]
  layout #1 = offset [[0,1],[0,2],[0,4],[1,8],[0,16],[1,0],[2,0],[4,0],[8,0],[16,0]] of [32x32]
  layout #2 = register [[0,1],[0,2],[0,4]] lane [[0,8],[1,0],[2,0],[4,0],[8,0]] warp [] of [16x16]
  %0 = constant 0 : i32
  %r = ring.new [slots = 2] : ring<f32[32x32]> #0
  %true = constant true : bool
  ring.copy_box %r, %true, %v, %0, %0 [width = 4]
  ring.commit
  ring.drain
  meet
  %s = ring.slot %r : shared<f32[32x32]> #1
)";
  const auto check = [&](const std::string &names) {
    const TableKernel one{.name = "part",
                          .kernel = parsedKernel(text + names +
                                                 "%x = shared.load %p : f32[16x16] #2\n"
                                                 "view.store %out, %x, %0, %0\n}\n"),
                          .grid = {.extents = {1, 1, 1}},
                          .arguments = {"random:32x32", "zeros:16x16"}};
    checkAsInterpreter(one, "sm_80");
  };
  if (target::findGpuTarget(*machine::findMachine("sm_80")) == nullptr) return;
  check("%p = slice %s [offsets = [16, 0], strides = [1, 1]] : shared<f32[16x16]>\n");
  check("%p = slice %s [offsets = [1, 16], strides = [2, 1]] : shared<f32[16x16]>\n");
  check("%t = permute %s [order = [1, 0]] : shared<f32[32x32]>\n"
        "%p = slice %t [offsets = [0, 1], strides = [1, 2]] : shared<f32[16x16]>\n");
  check("%h = slice %s [offsets = [0, 16], strides = [1, 1]] : shared<f32[32x16]>\n"
        "%t = permute %h [order = [1, 0]] : shared<f32[16x32]>\n"
        "%p = slice %t [offsets = [0, 16], strides = [1, 1]] : shared<f32[16x16]>\n");
  check("%h = slice %s [offsets = [16, 0], strides = [1, 1]] : shared<f32[8x32]>\n"
        "%p = reshape %h : shared<f32[16x16]>\n");
}
