#include "backend/ir/layout_numbers.h"
#include "backend/ir/text.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::ir;

namespace {

std::string reprinted(std::string_view text, PrintOptions options = {}) {
  Diagnostics diagnostics;
  const auto kernel = parse(text, "test.imx", diagnostics);
  return kernel ? print(*kernel, options) : diagnostics.render();
}

std::string inKernel(std::string_view ops) {
  return "kernel @k(%p: ptr<f32>) stage tiles {\n" + std::string(ops) + "}\n";
}

} // namespace

TEST_CASE("what is printed parses to what prints the same") {
  const std::string text =
      R"(kernel @matmul(%a: view<const bf16, 2>, %p: ptr<const f32>, %n: i32) stage tiles {
  %0 = constant 0.1 : f32[4x4]
  %1 = constant -3 : i8
  %2 = constant true : bool
  %3 = arange [start = -1] : i64[7]
  %4 = constant 0 : i32
  %5, %6 = for %4, %n, %4, %0, %1 [pipelined = 3] (%7: i32, %8: f32[4x4], %9: i8) {
    break_if %2, %8, %9
    if %2 {
      exit_if %2
      yield
    }
    %10 = if %2 {
      yield %8
    } else {
      %11 = add %8, %8 : f32[4x4]
      yield %11
    } : f32[4x4]
    yield %10, %9
  } : f32[4x4], i8
  %12 = reduce %0 [combine = region, axis = 1] (%13: f32, %14: f32) {
    %15 = add %13, %14 : f32
    yield %15
  } : f32[4]
  %16 = permute %5 [order = [1, 0]] : f32[4x4]
  print %16 [text = "a \"b\"\n\x01"]
  %17 = broadcast %p : ptr<const f32>[128]
}
)";
  CHECK(reprinted(text) == text);
}

TEST_CASE("a text about layouts gets the numbers of the kernel's text form, and others stay as "
          "they are") {
  Diagnostics diagnostics;
  const auto kernel = parse(R"(kernel @k() stage scheduled lanes 2 warps 1 {
  layout #7 = lane [[1]] of [2]
  layout #3 = register [[1]] lane [[0]] of [2]
  %0 = arange : i32[2] #3
  %1 = arange : i32[2] #7
})",
                            "k.imx", diagnostics);
  REQUIRE_MESSAGE(kernel, diagnostics.render());
  CHECK(print(*kernel).find("layout #1 = lane [[1]] of [2]\n") != std::string::npos);
  CHECK(
      withLayoutNumbers("from layout lane [[1]] of [2] to layout register [[1]] lane [[0]] of [2], "
                        "layout register [[0]] lane [[1]] of [2]: layout lane [[1]] of [2]",
                        *kernel) ==
      "from layout #1 to layout #0, layout register [[0]] lane [[1]] of [2]: layout #1");
}

TEST_CASE("locations print and parse") {
  const std::string text = R"(kernel @"a b"() stage traced @ "k.cpp":7 {
  %0 = constant 1 : i32 @ "gemm.cpp":12
  %1 = var.new %0 : var<i32> @ unknown
  var.write %1, %0 @ "odd \"name\".cpp":0
}
)";
  CHECK(reprinted(text, {.locations = true}) == text);
}

TEST_CASE("an op without a place gets its line of the file") {
  Diagnostics diagnostics;
  const auto kernel =
      parse(inKernel("\n  // note\n  %a = constant 1 : i32\n"), "x.imx", diagnostics);
  REQUIRE(kernel);
  CHECK(toText(kernel->body().ops[0]->where) == "x.imx:4");
}
