#include "backend/analysis/rings_in_step.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

/// "b after a" for each of the rings %a, %b and %c, of so many slots, that goes along with another,
/// in a kernel with a loop of this body.
std::string inStep(const std::string &body, const std::string &slotsOfB = "3") {
  const auto ringOf = [](const std::string &name, const std::string &slots) {
    return "  %" + name + " = ring.new [slots = " + slots + "] : ring<f16[16x32]> #0\n";
  };
  const ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%n: i32) stage scheduled lanes 32 warps 1 {\n"
      "  layout #0 = register [[0,1],[0,2],[0,4],[8,0]] lane [[0,8],[0,16],[1,0],[2,0],[4,0]] "
      "of [16x32]\n"
      "  layout #1 = offset [[0,1],[0,2],[0,4],[0,8],[0,16],[1,0],[2,0],[4,0],[8,0]] of [16x32]\n" +
      ringOf("a", "3") + ringOf("b", slotsOfB) + ringOf("c", "3") +
      "  %m = constant 0 : i32\n  %one = constant 1 : i32\n"
      "  for %m, %n, %one (%k: i32) {\n" +
      body + "    yield\n  }\n}\n");
  std::vector<ir::ValueId> rings;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::RingNew) rings.push_back(op.result());
  });
  std::string found;
  for (const auto &[ring, before] : analysis::ringsInStep(kernel))
    for (std::size_t i = 0; i < rings.size(); ++i)
      for (std::size_t j = 0; j < rings.size(); ++j)
        if (ring == rings[i] && before == rings[j])
          found += std::string(1, "abc"[i]) + " after " + "abc"[j] + "; ";
  return found;
}

std::string take(const std::string &ring, const std::string &as) {
  return "    %" + as + " = ring.slot %" + ring + " : shared<f16[16x32]> #1\n";
}

} // namespace

TEST_CASE("rings that are read behind each other are at one place, each with the next") {
  const std::string pair = take("a", "x") + take("b", "y");
  CHECK(inStep(pair) == "b after a; ");
  CHECK(inStep(pair + take("c", "z")) == "b after a; c after b; ");
  CHECK(inStep(pair + take("a", "z") + take("b", "w")) == "b after a; ");
}

TEST_CASE("rings of other slots, orders or bodies are at places of their own") {
  CHECK(inStep(take("a", "x") + take("b", "y"), "2") == "");
  CHECK(inStep(take("b", "x") + take("a", "y")) == "");
  CHECK(inStep(take("a", "x") + take("a", "y") + take("b", "z") + take("b", "w")) == "");
  CHECK(inStep(take("a", "x") + take("b", "y") + take("a", "z")) == "");
  const std::string loop = "    for %m, %n, %one (%j: i32) {\n      yield\n    }\n";
  CHECK(inStep(take("a", "x") + loop + take("b", "y")) == "");
  const std::string inside =
      "    for %m, %n, %one (%j: i32) {\n  " + take("b", "y") + "      yield\n    }\n";
  CHECK(inStep(take("a", "x") + inside) == "");
}
