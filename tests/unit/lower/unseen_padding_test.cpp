#include "backend/lower/memory/unseen_padding.h"
#include "backend/machine/machine.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

const machine::Machine &someGpu() {
  for (const machine::Machine &machine : machine::allMachines())
    if (target::findGpuTarget(machine)) return machine;
  FAIL("no GPU");
  return machine::allMachines()[0];
}

/// Whether the padding of the first load of a kernel, laid on threads, is unseen. `c` is as long as
/// `a`, if that is assumed, and `d` is not.
bool isUnseen(const std::string &body, bool isAssumed = true) {
  ir::Kernel kernel =
      testing::parsedKernel("kernel @k(%a: view<const f32, 1>, %c: view<f32, 1>, %d: view<f32, 1>, "
                            "%p: ptr<f32>, %m: i32) stage tiles {\n%i = program_id : i32\n" +
                            body + "}\n");
  Diagnostics diagnostics;
  analysis::Assumptions assumed;
  if (isAssumed) assumed.equalExtents = {{{1, 0}, {0, 0}}};
  REQUIRE(runPasses(kernel, gpuPipeline(), {diagnostics, someGpu(), assumed}));
  const lower::UnseenPadding unseen(kernel, assumed);
  const ir::Op *load = nullptr;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    const bool isLoad = op.kind == ir::OpKind::ViewLoad || op.kind == ir::OpKind::Load;
    if (isLoad && !load) load = &op;
  });
  REQUIRE(load);
  return unseen.contains(*load);
}

const std::string kLoadBox = "%x = view.load %a, %i : f32[64]\n";

} // namespace

TEST_CASE("a store that leaves out the same elements sees no padding") {
  CHECK(isUnseen(kLoadBox + "view.store %c, %x, %i\n"));
  CHECK(isUnseen(kLoadBox + "%y = exp %x : f32[64]\n%z = fma %y, %x, %x : f32[64]\n"
                            "view.store %c, %z, %i\n"));
  CHECK(
      isUnseen(kLoadBox + "view.store %c, %x, %i\n%y = neg %x : f32[64]\nview.store %c, %y, %i\n"));
}

TEST_CASE("a store that may write more sees it") {
  CHECK_FALSE(isUnseen(kLoadBox + "view.store %c, %x, %i\n", false));
  CHECK_FALSE(isUnseen(kLoadBox + "view.store %d, %x, %i\n"));
  CHECK_FALSE(isUnseen(kLoadBox + "view.store %c, %x, %m\n"));
  CHECK_FALSE(isUnseen(kLoadBox + "view.store %c, %x, %i [unit = elements]\n"));
  CHECK_FALSE(isUnseen(kLoadBox + "view.store %c, %x, %i\nview.store %d, %x, %i\n"));
  CHECK_FALSE(isUnseen(kLoadBox + "%y = neg %x : f32[64]\nview.store %d, %y, %i\n"
                                  "view.store %c, %x, %i\n"));
}

TEST_CASE("what looks at other elements sees it") {
  CHECK_FALSE(isUnseen(kLoadBox + "%s = reduce %x [axis = 0] : f32\n%y = broadcast %s : f32[64]\n"
                                  "view.store %c, %y, %i\n"));
  CHECK_FALSE(isUnseen(kLoadBox + "%y = flip %x [axis = 0] : f32[64]\nview.store %c, %y, %i\n"));
  CHECK_FALSE(isUnseen(kLoadBox + "print %x [text = \"x\"]\nview.store %c, %x, %i\n"));
}

TEST_CASE("LLVM divides no integers that are not set") {
  const std::string integers = "%k = cast %x : i32[64]\n%q = div %k, %k : i32[64]\n"
                               "%y = cast %q : f32[64]\nview.store %c, %y, %i\n";
  CHECK_FALSE(isUnseen(kLoadBox + integers));
  CHECK(isUnseen(kLoadBox + "%y = div %x, %x : f32[64]\nview.store %c, %y, %i\n"));
}

TEST_CASE("masks are compared where there are pointers") {
  const std::string pointers = "%r = arange : i32[64]\n%q = broadcast %p : ptr<f32>[64]\n"
                               "%at = ptr.add %q, %r : ptr<f32>[64]\n"
                               "%n = broadcast %m : i32[64]\n%k = lt %r, %n : bool[64]\n"
                               "%o = le %r, %n : bool[64]\n%x = load %at, %k : f32[64]\n";
  CHECK(isUnseen(pointers + "store %at, %x, %k\n"));
  CHECK_FALSE(isUnseen(pointers + "store %at, %x, %o\n"));
  CHECK_FALSE(isUnseen(pointers + "store %at, %x\n"));
  CHECK_FALSE(isUnseen(pointers + "store %at, %x, %k\nview.store %c, %x, %i\n"));
}
