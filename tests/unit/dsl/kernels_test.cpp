#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/passes/construct_ssa.h"
#include "doctest/doctest.h"
#include "dsl/traced_kernel.h"
#include "kernels.hpp"

TEST_CASE(
    "every sample kernel keeps the rules of the IR, before and after its variables are values") {
  for (const imbrex::traced_kernel &kernel : kernels::all()) {
    CAPTURE(kernel.text());
    imbrex::Diagnostics diagnostics;
    imbrex::ir::verify(imbrex::irOf(kernel), diagnostics);
    CHECK(diagnostics.render() == "");
    imbrex::ir::Kernel copy = imbrex::irOf(kernel).clone();
    imbrex::passes::constructSsa(copy, diagnostics);
    imbrex::ir::verify(copy, diagnostics);
    CHECK(diagnostics.render() == "");
  }
}

TEST_CASE("the text of every sample kernel reads back as the same text") {
  for (const imbrex::traced_kernel &kernel : kernels::all()) {
    imbrex::Diagnostics diagnostics;
    const auto again = imbrex::ir::parse(kernel.text(), "kernel", diagnostics);
    CHECK(diagnostics.render() == "");
    REQUIRE(again.has_value());
    CHECK(imbrex::ir::print(*again) == kernel.text());
  }
}
