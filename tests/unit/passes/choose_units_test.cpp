#include "backend/passes/units/choose_units.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

/// What `--explain` says of a product: its instruction, or why it has none.
namespace imbrex::passes {
namespace {

struct Asked {
  std::string a, b, sums; ///< Types of tiles of floats.
};

std::string explained(const Asked &asked, const std::string &machine) {
  const auto view = [](const std::string &tile) {
    return "view<const " + tile.substr(0, tile.find('[')) + ", 2>";
  };
  ir::Kernel kernel =
      testing::parsedKernel("kernel @k(%a: " + view(asked.a) + ", %b: " + view(asked.b) +
                            ") stage tiles {\n"
                            "%0 = constant 0 : i64\n"
                            "%z = constant 0.0 : " +
                            asked.sums +
                            "\n"
                            "%x = view.load %a, %0, %0 : " +
                            asked.a +
                            "\n"
                            "%y = view.load %b, %0, %0 : " +
                            asked.b +
                            "\n"
                            "%s = dot %x, %y, %z : " +
                            asked.sums + "\n}\n");
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
      explained({"f16[16x12]", "f16[12x8]", "f32[16x8]"}, "sm_80").find("25 % of it is padding") !=
      std::string::npos);
}

TEST_CASE("an explanation says why a product has no instruction, and what would have one") {
  const Asked asked{"f32[64x32]", "f32[32x64]", "f32[64x64]"};
  CHECK(explained(asked, "sm_80") ==
        "multiply-adds; no matrix instruction of sm_80 multiplies f32 by f32 onto f32; with "
        "precision tf32 or tf32x3 one does\n");
  CHECK(explained(asked, "sm_75") ==
        "multiply-adds; no matrix instruction of sm_75 multiplies f32 by f32 onto f32\n");
  CHECK(explained({"f64[64x32]", "f64[32x64]", "f64[64x64]"}, "sm_75") ==
        "multiply-adds; no matrix instruction of sm_75 multiplies f64 by f64 onto f64\n");
  CHECK(explained({"f16[1x16]", "f16[16x4]", "f32[1x4]"}, "sm_80")
            .ends_with(" one multiplication in 32 would be wanted; tiles of more rows or columns "
                       "would use it\n"));
}

} // namespace
} // namespace imbrex::passes
