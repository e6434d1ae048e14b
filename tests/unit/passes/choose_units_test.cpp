#include "backend/passes/choose_units.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

/// What `--explain` says of a product: its instruction, or why it has none.
namespace imbrex::passes {
namespace {

struct Asked {
  std::string a, b, sums; ///< Types of tiles.
  std::string precision = {};
};

std::string explained(const Asked &asked, const std::string &machine, int warps = 0) {
  const std::string attributes =
      asked.precision.empty() ? "" : " [precision = " + asked.precision + "]";
  const std::string zero = asked.sums.front() == 'f' ? "0.0" : "0";
  const auto view = [](const std::string &tile) {
    return "view<const " + tile.substr(0, tile.find('[')) + ", 2>";
  };
  ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%a: " + view(asked.a) + ", %b: " + view(asked.b) + ") stage tiles" +
      (warps > 0 ? " [warps = " + std::to_string(warps) + "]" : "") + " {\n" +
      "  %0 = constant 0 : i64\n" + "  %z = constant " + zero + " : " + asked.sums + "\n" +
      "  %x = view.load %a, %0, %0 : " + asked.a + "\n" + "  %y = view.load %b, %0, %0 : " +
      asked.b + "\n" + "  %s = dot %x, %y, %z" + attributes + " : " + asked.sums + "\n" + "}\n");
  Diagnostics diagnostics;
  std::string explanation;
  PassContext context(diagnostics, *machine::findMachine(machine));
  context.explanation = &explanation;
  chooseUnits(kernel, context);
  return explanation.substr(explanation.find(": ") + 2);
}

TEST_CASE("an explanation names a product's instruction, who makes it, and what is padding") {
  CHECK(explained({"f16[128x32]", "f16[32x128]", "f32[128x128]"}, "sm_80") ==
        "nvvm.mma.m16n8k16.row.col.f32.f32, 16 x 8 x 16, 256 times by warps [2, 2]\n");
  CHECK(
      explained({"f16[128x32]", "f16[32x128]", "f32[128x128]"}, "gfx942") ==
      "amdgcn.mfma.f32.32x32x8f16, 32 x 32 x 8, 64 times by warps [2, 2], 2048 cycles of a unit\n");
  CHECK(
      explained({"f16[16x12]", "f16[12x8]", "f32[16x8]"}, "sm_80").find("25 % of it is padding") !=
      std::string::npos);
}

TEST_CASE("more warps than pieces take an instruction of smaller ones, if each is done sooner") {
  const Asked asked{"f16[32x64]", "f16[64x32]", "f32[32x32]"};
  CHECK(explained(asked, "gfx942", 1).find("32 x 32 x 8, 8 times by warps [1, 1]") !=
        std::string::npos);
  CHECK(explained(asked, "gfx942", 4).find("16 x 16 x 16, 16 times by warps [2, 2]") !=
        std::string::npos);
  CHECK(explained({"f16[64x64]", "f16[64x64]", "f32[64x64]"}, "gfx942", 4)
            .find("32 x 32 x 8, 32 times by warps [2, 2]") != std::string::npos);
}

TEST_CASE("an explanation says why a product has no instruction, and what would have one") {
  CHECK(explained({"f32[64x32]", "f32[32x64]", "f32[64x64]"}, "sm_80") ==
        "multiply-adds; no matrix instruction of sm_80 multiplies f32 by f32 onto f32; with "
        "precision "
        "tf32 or tf32x3 one does\n");
  CHECK(explained({"f32[64x32]", "f32[32x64]", "f32[64x64]"}, "gfx1100") ==
        "multiply-adds; no matrix instruction of gfx1100 multiplies f32 by f32 onto f32\n");
  CHECK(explained({"f64[64x32]", "f64[32x64]", "f64[64x64]"}, "gfx1201") ==
        "multiply-adds; no matrix instruction of gfx1201 multiplies f64 by f64 onto f64\n");
  CHECK(explained({"f16[1x16]", "f16[16x4]", "f32[1x4]"}, "gfx1100") ==
        "multiply-adds; of amdgcn.wmma.f32.16x16x16.f16 one multiplication in 64 would be wanted; "
        "tiles of more rows or columns would use it\n");
}

} // namespace
} // namespace imbrex::passes
