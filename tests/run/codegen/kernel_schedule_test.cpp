#include "tests/run/shell.h"

#include <doctest/doctest.h>

#include <string>

namespace {

/// "4 states"
std::string afterLast(const std::string &text, const char *mark) {
  return text.substr(text.rfind(mark) + std::string(mark).size());
}

} // namespace

TEST_CASE("the schedule of a kernel is written down, and can be read and proven") {
  for (const char *target : {"sm_80", "sm_90a", "gfx950"}) {
    CAPTURE(target);
    const std::string plan = "imbrex plan product.imx --target " + std::string(target);
    const Outcome written = shell(plan);
    CHECK(written.status == 0);
    CHECK(contains(written.output, "// k0: the trips of the loop at product.imx:10\n"
                                   "schedule @product {\n  trips %k0\n"));
    const Outcome proven = shell(plan + " | imbrex check -");
    CHECK(proven.output.starts_with("schedule 'product' is safe for all numbers of trips: "));
    // Of the kernel itself what costs time alone is left out, as it is when it is compiled.
    const Outcome ofKernel = shell("imbrex check product.imx --target " + std::string(target));
    CHECK(ofKernel.output.starts_with("schedule 'product' is safe for all numbers of trips: "));
    CHECK(afterLast(ofKernel.output, " in ") == afterLast(proven.output, " in "));
    CHECK(shell("imbrex opt product.imx --target " + std::string(target) +
                " | imbrex check - --target " + target)
              .output == ofKernel.output);
    // Read again it is the same.
    const Outcome timed = shell(plan + " | imbrex timeline - --trips k0=9");
    CHECK(contains(
        shell("imbrex timeline product.imx --trips k0=9 --target " + std::string(target)).output,
        timed.output));
  }
  CHECK(contains(shell("imbrex plan product.imx --explain").output, "// roles: 1 warp loads, "));
}

TEST_CASE("a kernel with several loops has one schedule, which says so") {
  for (const char *target : {"sm_80", "sm_90a"}) {
    const std::string plan = "imbrex plan two_loops.imx --target " + std::string(target);
    CHECK(contains(shell(plan).output, "// it has 2 numbers of trips, each of a loop:\n"
                                       "// k0: the trips of the loop at two_loops.imx:11\n"
                                       "// k1: the trips of the loop at two_loops.imx:17\n"
                                       "schedule @two_loops {\n"));
    CHECK(shell(plan + " | imbrex check -").status == 0);
  }
}

TEST_CASE("a kernel that has no schedule, or is no work to plan, says so") {
  CHECK(contains(shell("imbrex plan scale.imx").output,
                 "scale.imx:2: error: kernel 'scale' has no schedule on sm_90a: none of its loops "
                 "is to be pipelined\n"));
  CHECK(contains(shell("imbrex plan product.imx --slots 3").output,
                 "product.imx:1: error: --slots is for sequential work that is to be planned, and "
                 "'product' is a kernel, whose loops say what they want\n"));
  CHECK(contains(shell("imbrex check product.imx").output,
                 "error: 'product' is a kernel, whose schedule differs from machine to machine\n"));
}

TEST_CASE("a loop whose loads are stored into slots has a timeline, and meetings to prove") {
  const Outcome staged = shell("imbrex timeline product.imx --target gfx942 --trips k0=32");
  CHECK(staged.status == 0);
  CHECK(contains(staged.output, "no resource is the limit, but a cycle of 735 cycles: issue loads "
                                "(671), drain loads, meet all, access ring0.tile (32), access "
                                "ring1.tile (32)\n"));
  CHECK(contains(staged.output, "  matrix units   4160  ")); // half a trip's are behind the loop
  CHECK(contains(shell("imbrex check product.imx --target gfx942").output,
                 "schedule 'product' is safe for all numbers of trips: "));
  CHECK(contains(shell("imbrex timeline scale.imx --target gfx942").output,
                 "error: kernel 'scale' has no schedule on gfx942"));
  // The report has the same figures: 4 times 32 cycles for a warp of each partition.
  CHECK(contains(shell("imbrex compile product.imx --target gfx942").output,
                 "    a warp, a trip    4 x amdgcn.mfma.f32.32x32x8f16\n"
                 "    busy              128 of 735 cycles of a trip, 17 %; limited by waits, no "
                 "fewer than 192 by role block\n"
                 "    by 8 blocks       67 %\n"));
  CHECK(contains(shell("imbrex compile product.imx --target gfx942 --json").output,
                 R"("unit_share_of_core":0.6666)"));
}

TEST_CASE("imbrex timeline gives a block of one warp the matrix units of one partition") {
  const Outcome two = shell(R"(imbrex timeline - --target gfx942 --trips k0=9 --blocks 2 << 'END'
kernel @k(%a: view<const f16, 2>, %c: view<f32, 2>, %n: i32) stage tiles [warps = 1] {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %z = constant 0.0 : f32[16x16]
  %s = for %0, %n, %1, %z (%k: i32, %sum: f32[16x16]) {
    %x = view.load %a, %0, %k : f16[16x16]
    %d = dot %x, %x, %sum : f32[16x16]
    yield %d
  } : f32[16x16]
  view.store %c, %s, %0, %0
}
END)");
  CHECK(two.status == 0);
  for (const char *units : {"\n  matrix units.0 ", "\n  matrix units.1 "})
    CHECK_MESSAGE(contains(two.output, units), two.output);
}
