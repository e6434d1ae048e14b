#include "backend/analysis/behind_rings.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

/// What the last op with rings is called, of a kernel with a loop of this body.
std::string lastUseIn(const std::string &body, const std::string &behind = "") {
  const ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%v: view<f16, 2>, %n: i32, %b: bool) stage scheduled lanes 32 warps 1 {\n"
      "  layout #0 = register [[0,1],[0,2],[0,4],[8,0]] lane [[0,8],[0,16],[1,0],[2,0],[4,0]] "
      "of [16x32]\n"
      "  layout #1 = offset [[0,1],[0,2],[0,4],[0,8],[0,16],[1,0],[2,0],[4,0],[8,0]] of [16x32]\n"
      "  %r = ring.new [slots = 3] : ring<f16[16x32]> #0\n"
      "  %m = constant 0 : i32\n  %one = constant 1 : i32\n"
      "  for %m, %n, %one (%k: i32) {\n" +
      body + "    yield\n  }\n" + behind + "}\n");
  const ir::Op *last = analysis::lastUseOfRings(kernel);
  return last ? std::string(info(last->kind).mnemonic) : "none";
}

const std::string kTakes = "    %s = ring.slot %r : shared<f16[16x32]> #1\n"
                           "    %x = shared.load %s : f16[16x32] #0\n";

} // namespace

TEST_CASE("rings are used up to the last op that touches one, in whatever body") {
  CHECK(lastUseIn(kTakes) == "for");
  CHECK(lastUseIn("    ring.drain [count = 1]\n") == "for");
  CHECK(lastUseIn("") == "none");
  CHECK(lastUseIn(kTakes, "  ring.commit\n  %y = add %n, %n : i32\n") == "ring.commit");
}

TEST_CASE("copies that may still be under way have no last use") {
  CHECK(lastUseIn(kTakes + "    break_if %b\n") == "none");
  CHECK(lastUseIn(kTakes + "    %f = view.load %v, %m, %k [ahead = boxes] : f16[16x32] #0\n") ==
        "none");
}

TEST_CASE("before plans are applied, loops are told by what is asked of them") {
  const std::string loop =
      "  for %m, %n, %one [pipelined = 3] (%j: i32) {\n    yield\n  }\n  %y = add %n, %n : i32\n";
  CHECK(lastUseIn("", loop) == "for");
}
