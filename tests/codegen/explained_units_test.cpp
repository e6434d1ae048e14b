#include "backend/passes/units/choose_units.h"
#include "llvm/ADT/StringExtras.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

/// What `--explain` says of a product: its instruction, or why it has none.
namespace imbrex::passes {
namespace {

struct Asked {
  std::string a, b, sums;      ///< Types of tiles of floats.
  std::string attributes = {}; ///< Of the kernel.
};

std::string explained(ir::Kernel kernel, const std::string &machine) {
  Diagnostics diagnostics;
  std::string explanation;
  PassContext context(diagnostics, *machine::findMachine(machine));
  context.explanation = &explanation;
  chooseUnits(kernel, context);
  return explanation;
}

std::string explained(const Asked &asked, const std::string &machine) {
  const auto elementOf = [](const std::string &tile) { return tile.substr(0, tile.find('[')); };
  const auto view = [&](const std::string &tile) {
    return "view<const " + elementOf(tile) + ", 2>";
  };
  const std::string text =
      explained(testing::parsedKernel("kernel @k(%a: " + view(asked.a) + ", %b: " + view(asked.b) +
                                      ") stage tiles" + asked.attributes +
                                      " {\n"
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
                                      asked.sums + "\n}\n"),
                machine);
  return text.substr(text.find(": ") + 2);
}

TEST_CASE("an explanation names a product's instruction, its price, and the next best's") {
  CHECK(explained({"f16[128x32]", "f16[32x128]", "f32[128x128]"}, "sm_80") ==
        "nvvm.mma.m16n8k16.row.col.f32.f32, 16 x 8 x 16, by warps [2, 2]: 64 a warp, 512 cycles of "
        "a unit\n"
        "  next best: nvvm.mma.m16n8k8.row.col.f32.f32, 128 a warp, 512 cycles of a unit: as many "
        "cycles, in more instructions\n"
        "registers of a thread for products: 224 of 255 by 4 warps\n");
  CHECK(explained({"f16[16x12]", "f16[12x8]", "f32[16x8]"}, "sm_80") ==
        "nvvm.mma.m16n8k16.row.col.f32.f32, 16 x 8 x 16, by warps [1, 1]: 1 a warp, 8 cycles of a "
        "unit; 25 % of it is padding\n"
        "  next best: nvvm.mma.m16n8k8.row.col.f32.f32, 2 a warp, 8 cycles of a unit: as many "
        "cycles, in more instructions\n"
        "registers of a thread for products: 48 of 255 by 1 warp\n");
  CHECK(
      explained({"f16[64x32]", "f16[32x16]", "f32[64x16]"}, "gfx942") ==
      "amdgcn.mfma.f32.16x16x16f16, 16 x 16 x 16, by warps [4, 1]: 2 a warp, 32 cycles of a unit\n"
      "  next best: amdgcn.mfma.f32.32x32x8f16, 4 a warp, 128 cycles of a unit: more cycles, as 4 "
      "warps share 2 pieces; 50 % of it is padding\n"
      "registers of a thread for products: 49 of 512 by 4 warps\n");
  CHECK(
      explained({"f16[16x32]", "f16[32x16]", "f32[16x16]"}, "gfx942") ==
      "amdgcn.mfma.f32.16x16x16f16, 16 x 16 x 16, by warps [1, 1]: 2 a warp, 32 cycles of a unit\n"
      "  next best: amdgcn.mfma.f32.32x32x8f16, 4 a warp, 128 cycles of a unit: more cycles; 75 % "
      "of it is padding\n"
      "registers of a thread for products: 52 of 512 by 1 warp\n");
  CHECK(explained({"f16[96x16]", "f16[16x96]", "f32[96x96]"}, "gfx942") ==
        "amdgcn.mfma.f32.32x32x8f16, 32 x 32 x 8, by warps [2, 2]: 8 a warp, 256 cycles of a unit\n"
        "  next best: amdgcn.mfma.f32.16x16x16f16, 16 a warp, 256 cycles of a unit: as many "
        "cycles, in more instructions\n"
        "registers of a thread for products: 118 of 512 by 4 warps\n");
  CHECK(explained({"f8e5m2[64x32]", "f8e5m2[32x64]", "f32[64x64]"}, "gfx1100") ==
        "amdgcn.wmma.f32.16x16x16.f16, 16 x 16 x 16, by warps [2, 2]: 8 a warp, 256 cycles of a "
        "unit\n"
        "  a and b are cast from f8e5m2 to f16, exactly\n"
        "  next best: amdgcn.wmma.f32.16x16x16.bf16, 8 a warp, 256 cycles of a unit: operands as "
        "bf16 take more to make than as f16\n"
        "registers of a thread for products: 168 of 256 by 4 warps\n");
}

/// The lines on what becomes of operands.
std::string castsIn(const std::string &text) {
  std::string lines;
  for (const llvm::StringRef line : llvm::split(text, '\n'))
    if (line.contains(" cast from ") || line.contains(" by scales"))
      lines += line.trim().str() + ";";
  return lines;
}

TEST_CASE("an explanation says which operands are cast for the unit") {
  const auto casts = [](const std::string &a, const std::string &b, const std::string &machine) {
    return castsIn(explained({a + "[64x64]", b + "[64x64]", "f32[64x64]"}, machine));
  };
  CHECK(casts("f8e4m3fn", "f8e5m2", "sm_89") == "");
  CHECK(casts("f8e4m3fn", "f8e5m2", "sm_80") ==
        "a is cast from f8e4m3fn to f16, exactly;b is cast from f8e5m2 to f16, exactly;");
  CHECK(casts("f8e4m3fnuz", "f8e4m3fnuz", "gfx942") == "");
  CHECK(casts("f8e4m3fn", "f8e4m3fn", "gfx942") ==
        "a and b are cast from f8e4m3fn to f16, exactly;");
  CHECK(casts("f16", "f16", "sm_80") == "");
}

TEST_CASE("an explanation says which operands of a scaled product are multiplied by scales") {
  const auto scaled = [](const std::string &machine) {
    return castsIn(explained(testing::parsedKernel(R"(
kernel @k(%a: view<const f8e5m2, 2>, %b: view<const f8e4m3fn, 2>, %t: view<const e8m0, 2>) stage tiles {
  %0 = constant 0 : i64
  %z = constant 0.0 : f32[64x64]
  %x = view.load %a, %0, %0 : f8e5m2[64x64]
  %y = view.load %b, %0, %0 : f8e4m3fn[64x64]
  %u = view.load %t, %0, %0 : e8m0[64x2]
  %s = dot_scaled %x, %y, %z, %u [scale_b = false] : f32[64x64]
}
)"),
                             machine));
  };
  CHECK(scaled("gfx950") == "");
  CHECK(scaled("sm_80") ==
        "a is multiplied by scales, as bf16;b is cast from f8e4m3fn to bf16, exactly;");
}

TEST_CASE("an explanation has no other instruction where a machine has none") {
  CHECK(explained({"f16[64x32]", "f16[32x64]", "f32[64x64]"}, "gfx1201") ==
        "amdgcn.wmma.f32.16x16x16.f16, 16 x 16 x 16, by warps [2, 2]: 8 a warp, 128 cycles of a "
        "unit\n"
        "  gfx1201 has no other instruction for these elements\n"
        "registers of a thread for products: 112 of 256 by 4 warps\n");
}

TEST_CASE("an explanation says why a better instruction is refused") {
  CHECK(
      explained({"f32[64x32]", "f32[32x64]", "f32[64x64]"}, "gfx942") ==
      "amdgcn.mfma.f32.32x32x2f32, 32 x 32 x 2, by warps [2, 2]: 16 a warp, 1024 cycles of a unit\n"
      "  next best: amdgcn.mfma.f32.16x16x4f32, 32 a warp, 1024 cycles of a unit: as many cycles, "
      "in more instructions\n"
      "  refused: amdgcn.mfma.f32.32x32x4.xf32, 8 a warp, 256 cycles of a unit: the product's "
      "precision does not allow tf32\n"
      "registers of a thread for products: 68 of 512 by 4 warps\n");
  CHECK(explained({"f8e5m2[64x32]", "f8e5m2[32x64]", "f32[64x64]"}, "gfx90a") ==
        "amdgcn.mfma.f32.32x32x8bf16.1k, 32 x 32 x 8, by warps [2, 2]: 4 a warp, 256 cycles of a "
        "unit\n"
        "  a and b are cast from f8e5m2 to bf16, exactly\n"
        "  next best: amdgcn.mfma.f32.16x16x16bf16.1k, 8 a warp, 256 cycles of a unit: as many "
        "cycles, in more instructions\n"
        "  refused: amdgcn.mfma.f32.32x32x8f16, 4 a warp, 256 cycles of a unit: it flushes "
        "subnormals, which operands cast to f16 have\n"
        "registers of a thread for products: 68 of 512 by 4 warps\n");
}

TEST_CASE("an explanation compares multiplications where not all cycles are known") {
  CHECK(explained({"f16[64x32]", "f16[32x64]", "f32[64x64]"}, "sm_100a") ==
        "nvvm.mma.m16n8k16.row.col.f32.f32, 16 x 8 x 16, by warps [2, 2]: 16 a warp, 128 cycles of "
        "a unit, which no document says and is a guess\n"
        "  next best: nvvm.mma.m16n8k8.row.col.f32.f32, 32 a warp, 32768 multiplications for "
        "32768, as not all cycles are known: as many multiplications, in more instructions\n"
        "registers of a thread for products: 96 of 255 by 4 warps\n");
  CHECK(explained({"f8e5m2[64x32]", "f8e5m2[32x64]", "f32[64x64]"}, "gfx1250") ==
        "amdgcn.wmma.f32.16x16x64.bf8.bf8, 16 x 16 x 64, by warps [2, 2]: 4 a warp, 32 cycles of a "
        "unit; 50 % of it is padding\n"
        "  next best: amdgcn.wmma.f32.16x16x128.bf8.bf8, 4 a warp, 131072 multiplications for "
        "65536, as not all cycles are known: more multiplications; 75 % of it is padding\n"
        "registers of a thread for products: 136 of 1024 by 4 warps\n");
}

TEST_CASE("an explanation says what other numbers of warps would want of registers") {
  const auto registers = [](const Asked &asked, const std::string &machine) {
    const std::string text = explained(asked, machine);
    return text.substr(text.find("registers of"));
  };
  CHECK(registers({"f16[128x64]", "f16[64x128]", "f32[128x128]"}, "gfx1100") ==
        "registers of a thread for products: 224 of 256 by 8 warps; 352 of 256 by 4 warps\n");
  CHECK(registers({"f64[128x64]", "f64[64x128]", "f64[128x128]"}, "sm_90a") ==
        "registers of a thread for products: 224 of 128 by 16 warps; 352 of 255 by 8 warps; 160 of "
        "64 by 32 warps, which lack no fewer\n");
  // Bytes that are cast are there beside what they are cast to: four warps spilled 440 bytes.
  CHECK(registers({"f8e4m3fn[128x64]", "f8e4m3fn[64x128]", "f32[128x128]"}, "sm_80") ==
        "registers of a thread for products: 192 of 255 by 8 warps; 288 of 255 by 4 warps\n");
  CHECK(registers({"f8e4m3fn[128x64]", "f8e4m3fn[64x128]", "f32[128x128]"}, "sm_89") ==
        "registers of a thread for products: 224 of 255 by 4 warps\n");
  CHECK(registers({"f16[128x64]", "f16[64x128]", "f32[128x128]", " [warps = 2]"}, "sm_80") ==
        "registers of a thread for products: 384 of 255 by 2 warps, as is asked\n");
}

TEST_CASE("an explanation of products that follow each other says what would keep them apart") {
  const ir::Kernel attention = testing::parsedKernel(R"(
kernel @attention(%q: view<const f16, 2>, %o: view<f32, 2>) stage tiles {
  %0 = constant 0 : i64
  %z = constant 0.0 : f32[64x64]
  %Q = view.load %q, %0, %0 : f16[64x64]
  %s = dot %Q, %Q, %z : f32[64x64]
  %p = cast %s : f16[64x64]
  %r = dot %p, %Q, %z : f32[64x64]
  view.store %o, %r, %0, %0
}
)");
  CHECK(explained(attention.clone(), "gfx942") ==
        "'dot' at k.imx:6: amdgcn.mfma.f32.16x16x16f16, 16 x 16 x 16, by warps [4, 1]: 16 a warp, "
        "256 cycles of a unit\n"
        "  refused: amdgcn.mfma.f32.32x32x8f16, 8 a warp, 256 cycles of a unit: 2 pieces along "
        "rows for 4 warps: sums would not lie as the other product's fragments\n"
        "'dot' at k.imx:8: amdgcn.mfma.f32.16x16x16f16, 16 x 16 x 16, by warps [4, 1]: 16 a warp, "
        "256 cycles of a unit\n"
        "  refused: amdgcn.mfma.f32.32x32x8f16, 8 a warp, 256 cycles of a unit: 2 pieces along "
        "rows for 4 warps: sums would not lie as the other product's fragments\n"
        "registers of a thread for products: 116 of 512 by 4 warps\n");
  CHECK(explained(attention.clone(), "sm_90a") ==
        "'dot' at k.imx:6: nvvm.mma.m16n8k16.row.col.f32.f32, 16 x 8 x 16, by warps [4, 1]: 32 a "
        "warp, 128 cycles of a unit\n"
        "  next best: nvvm.mma.m16n8k8.row.col.f32.f32, 64 a warp, 128 cycles of a unit: as many "
        "cycles, in more instructions\n"
        "'dot' at k.imx:8: nvvm.mma.m16n8k16.row.col.f32.f32, 16 x 8 x 16, by warps [4, 1]: 32 a "
        "warp, 128 cycles of a unit\n"
        "  next best: nvvm.mma.m16n8k8.row.col.f32.f32, 64 a warp, 128 cycles of a unit: as many "
        "cycles, in more instructions\n"
        "registers of a thread for products: 152 of 255 by 4 warps\n");
}

TEST_CASE(
    "few rows of products that follow each other are made once, if that is worth an exchange") {
  const auto chained = [](int depth) {
    return explained(testing::parsedKernel(llvm::formatv(R"(
kernel @chained(%x: view<const bf16, 2>, %w: view<const bf16, 2>, %y: view<f32, 2>) stage tiles {{
  %0 = constant 0 : i64
  %z = constant 0.0 : f32[32x32]
  %sums = constant 0.0 : f32[32x512]
  %a = view.load %x, %0, %0 : bf16[32x{0}]
  %b = view.load %w, %0, %0 : bf16[{0}x32]
  %h = dot %a, %b, %z : f32[32x32]
  %g = cast %h : bf16[32x32]
  %c = view.load %w, %0, %0 : bf16[32x512]
  %r = dot %g, %c, %sums : f32[32x512]
  view.store %y, %r, %0, %0
}
)",
                                                         depth)
                                               .str()),
                     "gfx942");
  };
  CHECK(chained(64).starts_with(
      "'dot' at k.imx:8: amdgcn.mfma.f32.32x32x8bf16.1k, 32 x 32 x 8, by warps [1, 4]: 8 a warp, "
      "256 cycles of a unit\n"
      "  next best: amdgcn.mfma.f32.16x16x16bf16.1k, 4 a warp, 64 cycles of a unit: sums would "
      "pass through shared memory to the other product\n"));
  CHECK(chained(256).starts_with(
      "'dot' at k.imx:8: amdgcn.mfma.f32.16x16x16bf16.1k, 16 x 16 x 16, by warps [2, 2]: 16 a "
      "warp, 256 cycles of a unit\n"
      "  next best: amdgcn.mfma.f32.32x32x8bf16.1k, 32 a warp, 1024 cycles of a unit: more cycles, "
      "as 4 warps share 1 piece\n"));
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
