// Sums of one product, times a number and plus another, are rounded to halves for the next: two at
// a time, where machines have instructions for it.

#include "backend/analysis/assumptions.h"
#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/target/gpu_target.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// `shift` is an f32 of the kernel's.
ir::Kernel twoProducts(const std::string &shift) {
  return parsedKernel(
      "kernel @two(%a: view<const bf16, 2>, %b: view<const bf16, 2>, %v: view<const bf16, 2>, "
      "%scale: f32, %shift: f32, %c: view<f32, 2>) stage tiles {\n"
      "%0 = constant 0 : i64\n%one = constant 1.5 : f32\n%z = constant 0.0 : f32[64x64]\n"
      "%x = view.load %a, %0, %0 : bf16[64x64]\n%y = view.load %b, %0, %0 : bf16[64x64]\n"
      "%s = dot %x, %y, %z : f32[64x64]\n"
      "%m = broadcast %scale : f32[64x64]\n%n = broadcast " +
      shift +
      " : f32[64x64]\n"
      "%f = fma %s, %m, %n : f32[64x64]\n%p = cast %f : bf16[64x64]\n"
      "%w = view.load %v, %0, %0 : bf16[64x64]\n%d = dot %p, %w, %z : f32[64x64]\n"
      "view.store %c, %d, %0, %0\n}\n");
}

struct Made {
  std::string text;
  std::size_t elements; ///< Of a tile, that a thread holds.

  std::size_t count(std::string_view name) const {
    std::size_t found = 0;
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) ++found;
    return found;
  }
};

Made madeFor(std::string_view machine, const std::string &shift = "%shift") {
  ir::Kernel kernel = twoProducts(shift);
  const target::GpuTarget &target = *target::findGpuTarget(*machine::findMachine(machine));
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, target, analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto text = makeAssembly(*code, target);
  REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
  constexpr std::int64_t kElements = 64 * 64;
  return {.text = *text,
          .elements = static_cast<std::size_t>(kElements / kernel.threads().count())};
}

bool isBuilt(std::string_view machine) {
  return target::findGpuTarget(*machine::findMachine(machine)) != nullptr;
}

} // namespace

TEST_CASE("sums become halves of the next product two at a time, beside each other") {
  for (const auto &[machine, instruction] :
       {std::pair{"sm_80", "cvt.rn.bf16x2.f32"}, std::pair{"gfx950", "v_cvt_pk_bf16_f32"}}) {
    if (!isBuilt(machine)) continue;
    CAPTURE(std::string(machine));
    const Made made = madeFor(machine);
    CHECK(made.count(instruction) == made.elements / 2);
    CHECK(made.count("cvt.rn.bf16.f32") == 0);
  }
}

TEST_CASE("CDNA computes sums two at a time, but where a pair would read two scalar registers") {
  for (const std::string machine : {"gfx90a", "gfx942", "gfx950", "gfx9-4-generic"}) {
    if (!isBuilt(machine)) continue;
    CAPTURE(machine);
    const Made withOne = madeFor(machine, "%one"), withTwo = madeFor(machine);
    // LLVM takes some apart behind matrix instructions; with two such registers, none would
    // assemble.
    CHECK(withOne.count("v_pk_fma_f32") > 0);
    CHECK((withTwo.count("v_pk_fma_f32") > 0) == (machine == "gfx90a"));
  }
}
