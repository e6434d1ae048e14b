#include "backend/ir/text.h"
#include "backend/ir/verify.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::ir;

namespace {

/// What the verifier says about ops in a kernel at stage Tiles.
std::string verified(std::string_view ops) {
  Diagnostics diagnostics;
  const std::string text = "kernel @k(%p: ptr<f32>, %c: ptr<const f32>, %v: view<f32, 2>, "
                           "%n: i32, %b: bool) stage tiles {\n" +
                           std::string(ops) + "}\n";
  const auto kernel = parse(text, "k.imx", diagnostics);
  if (kernel) verify(*kernel, diagnostics);
  return diagnostics.render();
}

} // namespace

TEST_CASE("a kernel that keeps the rules is accepted") {
  CHECK(verified(R"(
  %0, %1 = for %n, %n, %n, %n, %b (%2: i32, %3: i32, %4: bool) {
    break_if %b, %3, %4
    yield %2, %b
  } : i32, bool
  %5 = view.load %v, %n, %n : f32[4x4]
  %6 = reduce %5 [combine = region, axis = 1] (%7: f32, %8: f32) {
    %9 = add %7, %8 : f32
    yield %9
  } : f32[4]
)") == "");
}
