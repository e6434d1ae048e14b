// Blocks whose warps, as the passes choose them, would spill registers.

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/report.h"
#include "llvm/Support/FormatVariadic.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <string>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// A weight's gradient, and a bias's beside it: what is loaded for the product is added up, too.
struct Gradient {
  const char *machine;
  int m = 96, n = 96; ///< Of the weight's tiles.
  int warps = 0;
  int rows = 70; ///< That are added up.

  TableKernel kernel() const {
    const std::string text =
        llvm::formatv(
            "kernel @gradient(%x: view<const f16, 2>, %y: view<const f16, 2>, %w: view<f32, 2>, "
            "%b: view<f32, 1>) stage tiles {2}{{\n"
            "%i = program_id : i32\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n"
            "%e = view.extent %x : i64\n%k = constant 32 : i64\n%t = cdiv %e, %k : i64\n"
            "%z = constant 0 : f32[{0}x{1}]\n%zb = constant 0 : f32[{1}]\n"
            "%s, %sb = for %0, %t, %1, %z, %zb [pipelined = 3] "
            "(%j: i64, %p: f32[{0}x{1}], %pb: f32[{1}]) {{\n"
            "%a = view.load %x, %j, %i : f16[32x{0}]\n"
            "%ta = permute %a [order = [1, 0]] : f16[{0}x32]\n"
            "%c = view.load %y, %j, %0 : f16[32x{1}]\n"
            "%d = dot %ta, %c, %p : f32[{0}x{1}]\n"
            "%f = cast %c : f32[32x{1}]\n%r = reduce %f : f32[{1}]\n%q = add %pb, %r : f32[{1}]\n"
            "yield %d, %q\n} : f32[{0}x{1}], f32[{1}]\n"
            "view.store %w, %s, %i, %0\nview.store %b, %sb, %i\n}\n",
            m, n, warps == 0 ? "" : "[warps = " + std::to_string(warps) + "] ")
            .str();
    const auto matrix = [](std::string_view what, int height, int width) {
      return llvm::formatv("{0}:{1}x{2}", what, height, width).str();
    };
    return {.name = std::string("gradient on ") + machine,
            .kernel = parsedKernel(text),
            .grid = {2, 1, 1},
            .arguments = {matrix("random:f16", rows, 2 * m), matrix("random:f16", rows, n),
                          matrix("zeros:f32", 2 * m, n),
                          llvm::formatv("zeros:f32:{0}", 2 * n).str()}};
  }
};

/// The product of tiles of 256 x 256 by half as many warps as a block can have has more registers.
TableKernel wideProduct() {
  return {
      .name = "wide product",
      .kernel = parsedKernel(
          "kernel @wide(%a: view<const bf16, 2>, %b: view<const bf16, 2>, %c: view<f32, 2>) "
          "stage tiles {\n%i = program_id : i32\n%j = program_id [axis = 1] : i32\n"
          "%0 = constant 0 : i64\n%1 = constant 1 : i64\n"
          "%e = view.extent %a [axis = 1] : i64\n%k = constant 64 : i64\n"
          "%t = cdiv %e, %k : i64\n%z = constant 0 : f32[256x256]\n"
          "%s = for %0, %t, %1, %z [pipelined = 3] (%k0: i64, %p: f32[256x256]) {\n"
          "%x = view.load %a, %i, %k0 : bf16[256x64]\n%y = view.load %b, %k0, %j : bf16[64x256]\n"
          "%d = dot %x, %y, %p : f32[256x256]\nyield %d\n} : f32[256x256]\n"
          "view.store %c, %s, %i, %j\n}\n"),
      .grid = {1, 1, 1},
      .arguments = {}};
}

struct Fitted {
  ir::Kernel kernel;
  std::optional<GpuCode> code;
  const target::GpuTarget *target;
  Report report;

  std::int32_t warps() const { return code->interface.threads / target->machine().warpSize; }
};

Fitted fittedOn(std::string_view machine, const ir::Kernel &given) {
  Fitted made{.kernel = given.clone(),
              .code = {},
              .target = target::findGpuTarget(*machine::findMachine(machine)),
              .report = {}};
  Diagnostics diagnostics;
  made.code =
      compileForGpu(made.kernel, *made.target, analysis::usualAssumptions(given), diagnostics);
  REQUIRE_MESSAGE(made.code, diagnostics.render());
  auto report = reportOf(*made.code, *made.target);
  REQUIRE(report);
  made.report = *std::move(report);
  return made;
}

bool isMissing(std::string_view machine) {
  return target::findGpuTarget(*machine::findMachine(machine)) == nullptr;
}

} // namespace

TEST_CASE("blocks whose registers have no room get twice the warps") {
  if (isMissing("gfx1201")) return;
  const TableKernel given = Gradient{"gfx1201"}.kernel();
  const Fitted fitted = fittedOn("gfx1201", given.kernel);
  CHECK(fitted.warps() == 8);
  CHECK(fitted.report.resources.spilledBytes == 0);
  REQUIRE(fitted.code->spilling);
  CHECK(fitted.code->spilling->warps == 4);
  // The author still asks for nothing, and the kernel that is printed says so.
  CHECK(fitted.code->interface.asked == given.kernel.attributes());
  CHECK(fitted.kernel.attributes() == given.kernel.attributes());
  CHECK(fitted.report.interface.threads == 256);

  const Fitted four =
      fittedOn("gfx1201", Gradient{.machine = "gfx1201", .warps = 4}.kernel().kernel);
  CHECK(four.warps() == 4);
  CHECK_FALSE(four.code->spilling);
  CHECK(four.report.resources.spilledBytes == *fitted.code->spilling->bytes);
  CHECK(toText(fitted.report)
            .find(llvm::formatv("4 warps would spill {0} bytes of a thread",
                                four.report.resources.spilledBytes)
                      .str()) != std::string::npos);
}

TEST_CASE("so do those whose tiles are many, and none of them large") {
  if (isMissing("gfx1201")) return;
  std::string loads, sums, products;
  for (int i = 0; i < 16; ++i)
    loads += llvm::formatv("%c{0} = constant {0} : i32\n"
                           "%a{0} = view.load %x, %c{0}, %i, %c0 : f32[1x64x64]\n",
                           i);
  for (int i = 1; i < 16; ++i) {
    sums += llvm::formatv("%s{0} = add %{1}, %a{0} : f32[1x64x64]\n", i,
                          i == 1 ? "a0" : "s" + std::to_string(i - 1));
    products += llvm::formatv("%p{0} = fma %{1}, %b, %a{0} : f32[1x64x64]\n", i,
                              i == 1 ? "a0" : "p" + std::to_string(i - 1));
  }
  const ir::Kernel many =
      parsedKernel("kernel @many(%x: view<const f32, 3>, %y: view<f32, 3>) stage tiles {\n"
                   "%i = program_id : i32\n" +
                   loads + sums +
                   "%r = reduce %s15 : f32[64x64]\n%v = reshape %r : f32[1x64x64]\n%b = mul %v, %v "
                   ": f32[1x64x64]\n" +
                   products + "view.store %y, %p15, %c0, %i, %c0\n}\n");
  const Fitted fitted = fittedOn("gfx1201", many);
  CHECK(fitted.warps() == 16);
  CHECK(fitted.report.resources.spilledBytes == 0);
  REQUIRE(fitted.code->spilling);
  CHECK(fitted.code->spilling->warps == 8);
}

TEST_CASE("what they compute is the same") {
  if (isMissing("gfx1201")) return;
  checkAsInterpreter(Gradient{"gfx1201"}.kernel(), "gfx1201");
}

TEST_CASE("where no block has more warps, half as many have more registers") {
  if (isMissing("gfx942")) return;
  const Fitted fitted = fittedOn("gfx942", wideProduct().kernel);
  CHECK(fitted.warps() == 8);
  CHECK(fitted.report.resources.spilledBytes == 0);
  REQUIRE(fitted.code->spilling);
  CHECK(fitted.code->spilling->warps == 16);
}

TEST_CASE("code with registers to spare is made once") {
  for (const char *machine : {"gfx942", "gfx1201", "sm_90a"}) {
    if (isMissing(machine)) continue;
    const Fitted fitted =
        fittedOn(machine, Gradient{.machine = machine, .m = 32, .n = 32}.kernel().kernel);
    CHECK(fitted.code->assembly.empty());
    CHECK_FALSE(fitted.code->spilling);
    CHECK(toText(fitted.report).find("would spill") == std::string::npos);
  }
}

TEST_CASE("an assembly says of its registers what the image does") {
  for (const char *machine : {"gfx942", "gfx1201"}) {
    if (isMissing(machine)) continue;
    const Fitted fitted =
        fittedOn(machine, Gradient{.machine = machine, .warps = 2}.kernel().kernel);
    const auto assembly = makeAssembly(*fitted.code, *fitted.target);
    REQUIRE(assembly);
    const target::Resources said = fitted.target->resourcesIn(*assembly);
    CHECK(said.registers == fitted.report.resources.registers);
    CHECK(said.spilledBytes == fitted.report.resources.spilledBytes);
    CHECK(said.stackBytes == fitted.report.resources.stackBytes);
    CHECK(said.registers > 0);
  }
}

TEST_CASE("whoever runs the passes alone sees the warps that the code has") {
  if (isMissing("gfx1201")) return;
  ir::Kernel kernel = Gradient{"gfx1201"}.kernel().kernel.clone();
  const auto instead =
      settleWarps(kernel, *machine::findMachine("gfx1201"), analysis::usualAssumptions(kernel));
  REQUIRE(instead);
  CHECK(instead->warps == 4);
  CHECK(kernel.attributes().warps == 8);
  ir::Kernel asked = Gradient{.machine = "gfx1201", .warps = 4}.kernel().kernel.clone();
  CHECK_FALSE(settleWarps(asked, *machine::findMachine("gfx1201"), {}));
  CHECK(asked.attributes().warps == 4);
}
