#include "backend/interpret/interpret.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <set>

using namespace imbrex;

namespace {

void checkAll(const std::vector<semantics::Case> &cases) {
  for (const semantics::Case &question : cases)
    CHECK(semantics::runCase(question,
                             [](const ir::Kernel &kernel, const ir::Grid &grid,
                                llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
                               return interpret::run(kernel, grid, arguments, diagnostics);
                             }) == "");
}

} // namespace

TEST_CASE("integer arithmetic is defined for every input") { checkAll(semantics::integerCases()); }
TEST_CASE("float arithmetic rounds once") { checkAll(semantics::floatCases()); }
TEST_CASE("every element converts to every other") { checkAll(semantics::conversionCases()); }
TEST_CASE("the elementary functions are those of backend/math") {
  checkAll(semantics::elementaryCases());
}
TEST_CASE("shape ops move elements and nothing else") { checkAll(semantics::shapeCases()); }
TEST_CASE("reductions, scans, sorts and look-ups") { checkAll(semantics::axisCases()); }
TEST_CASE("matrix products") { checkAll(semantics::productCases()); }
TEST_CASE("random numbers are Philox's") { checkAll(semantics::randomCases()); }
TEST_CASE("memory is read and written where pointers, masks and boxes say") {
  checkAll(semantics::memoryCases());
}
TEST_CASE("loops, branches and early ends") { checkAll(semantics::controlCases()); }

TEST_CASE("variables hold what was written last") { checkAll(semantics::variableCases()); }

TEST_CASE("every op has a case") {
  // Cases compare memory. What print writes is tested where it is captured: detect_test.cpp, and
  // tests/run/command_test.cpp on each device. inline_asm is one machine's: tests/unit/host. A
  // layout is no part of a meaning.
  std::set<ir::OpKind> seen = {ir::OpKind::Print, ir::OpKind::InlineAsm, ir::OpKind::ConvertLayout};
  for (const semantics::Case &question : semantics::allCases())
    ir::walk(semantics::kernelOf(question).body(), [&](const ir::Op &op) { seen.insert(op.kind); });
  for (const ir::OpKind kind : ir::allOpKinds()) {
    CAPTURE(ir::info(kind).mnemonic);
    CHECK(seen.contains(kind));
  }
}
