#include "backend/ir/verify.h"
#include "backend/pipeline.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

namespace imbrex {
namespace {

/// A kernel whose functions are expanded.
ir::Kernel expandedKernel(const std::string &body) {
  ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%p: view<const f32, 1>, %h: view<const f16, 1>, %c: bool) "
      "stage tiles {\n%z = constant 0 : i32\n%x = view.load %p, %z : f32[64]\n"
      "%y = view.load %p, %z : f32[64]\n%n = view.load %h, %z : f16[64]\n" +
      body + "}\n");
  Diagnostics diagnostics;
  passes::PassContext context(diagnostics, *machine::findMachine("sm_90a"), {});
  REQUIRE_MESSAGE(runPasses(kernel, *findPass("expand-math", diagnostics), context),
                  diagnostics.render());
  return kernel;
}

/// How many results each branch has, in order: "2 1".
std::string branches(const std::string &body) {
  std::string found;
  const ir::Kernel kernel = expandedKernel(body);
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::If)
      found += (found.empty() ? "" : " ") + std::to_string(op.results.size());
  });
  return found;
}

} // namespace

TEST_CASE("functions of one angle share the branch that angles of any size take") {
  CHECK(branches("%s = sin %x : f32[64]\n%c1 = cos %x : f32[64]\n%t = tan %x : f32[64]\n") == "3");
  CHECK(branches("%s = sin %x : f32[64]\n%c1 = cos %y : f32[64]\n") == "1 1");
  CHECK(branches("%s = sin %n : f16[64]\n%c1 = cos %n : f16[64]\n") == "2");
  CHECK(branches("%r = rem %x, %y : f32[64]\n%s = sin %x : f32[64]\n") == "1 1");
  CHECK(branches("%e = erf %x : f32[64]\n") == "");
  // One that stands in a body of its own is computed there alone.
  CHECK(branches("%s = sin %x : f32[64]\n%i = if %c {\n%o = cos %x : f32[64]\nyield %o\n} else {\n"
                 "yield %x\n} : f32[64]\n%t = tan %x : f32[64]\n") == "2 1 1");
}

TEST_CASE("in front of such a branch stands what decides it, and nothing else") {
  const ir::Kernel kernel = expandedKernel("%s = sin %x : f32[64]\n");
  std::string before;
  for (const auto &op : kernel.body().ops)
    if (op->kind != ir::OpKind::Constant && op->kind != ir::OpKind::ViewLoad)
      before += std::string(ir::info(op->kind).mnemonic) + " ";
  CHECK(before == "abs ge reduce if ");
}

TEST_CASE("the exponential of what is never positive has nothing for what overflows") {
  const auto bounds = [](const std::string &body) {
    const ir::Kernel kernel = expandedKernel(body);
    int count = 0;
    for (const auto &op : kernel.body().ops) count += op->kind == ir::OpKind::MinNan ? 1 : 0;
    return count;
  };
  CHECK(bounds("%e = exp %x : f32[64]\n") == 1);
  CHECK(bounds("%a = abs %x : f32[64]\n%m = neg %a : f32[64]\n%e = exp %m : f32[64]\n") == 0);
  CHECK(bounds("%m = max %x, %y : f32[64]\n%d = sub %x, %m : f32[64]\n%e = exp %d : f32[64]\n") ==
        0);
}

} // namespace imbrex
