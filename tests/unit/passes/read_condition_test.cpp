#include "backend/machine/machine.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "llvm/ADT/STLExtras.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

namespace imbrex {
namespace {

using testing::parsedKernel;

/// Whether what a kernel does is read, whose ring is filled by copies under a condition.
bool isRead(const std::string &ops) {
  const ir::Kernel kernel = parsedKernel(R"(
kernel @k(%p: ptr<const f32>, %n: i32, %m: i32, %b: bool) stage scheduled lanes 32 warps 1 {
  layout #0 = register [[1],[2]] lane [[4],[8],[16],[32],[64]] warp [] of [128]
  %r = ring.new [slots = 2] : ring<f32[128]> #0
  %i = arange : i32[128] #0
  %p0 = broadcast %p : ptr<const f32>[128] #0
  %at = ptr.add %p0, %i : ptr<const f32>[128] #0
  %low = constant 0 : i32
)" + ops + "}\n");
  Diagnostics diagnostics;
  passes::pipeline::proveRings(kernel, *machine::findMachine("sm_80"), diagnostics);
  return llvm::none_of(diagnostics.all(),
                       [](const Diagnostic &one) { return one.kind == Diag::PipelineUnread; });
}

TEST_CASE("a condition that counts no whole trips cannot be read") {
  const auto isReadWith = [](int bound) {
    return isRead(R"(
  %two = constant 2 : i32
  for %low, %n, %two (%k: i32) {
    %d = sub %n, %k : i32
    %u = bitcast %d : u32
    %least = constant )" +
                  std::to_string(bound) + R"( : u32
    %more = gt %u, %least : bool
    ring.copy %r, %more, %at [width = 4]
    ring.commit
    yield
  }
)");
  };
  for (const int bound : {0, 2, 4}) CHECK(isReadWith(bound));
  for (const int bound : {1, 3, 5}) CHECK_FALSE(isReadWith(bound));
}

TEST_CASE("a condition counts the trips of a loop only where it measures that loop") {
  struct Written {
    std::string distance = "sub %n, %low", runs = "lt %low, %n", none = "0", step = "1";
    std::string leaves = ""; ///< In the loop's body.
  };
  const auto isReadWith = [](const Written &written) {
    return isRead(R"(
  %step = constant )" +
                  written.step + R"( : i32
  %d = )" + written.distance +
                  R"( : i32
  %u = bitcast %d : u32
  %runs = )" + written.runs +
                  R"( : bool
  %none = constant )" +
                  written.none + R"( : u32
  %all = select %runs, %u, %none : u32
  %least = constant 0 : u32
  %more = gt %all, %least : bool
  ring.copy %r, %more, %at [width = 4]
  ring.commit
  for %low, %n, %step (%k: i32) {
    ring.drain
    )" + written.leaves +
                  R"(
    yield
  }
)");
  };
  CHECK(isReadWith({}));
  CHECK_FALSE(isReadWith({.distance = "sub %m, %low"}));
  CHECK_FALSE(isReadWith({.distance = "sub %n, %m"}));
  CHECK_FALSE(isReadWith({.runs = "lt %m, %n"}));
  CHECK_FALSE(isReadWith({.runs = "lt %low, %m"}));
  CHECK_FALSE(isReadWith({.runs = "le %low, %n"}));
  CHECK_FALSE(isReadWith({.none = "1"}));
  CHECK_FALSE(isReadWith({.step = "-1"}));
  CHECK_FALSE(isReadWith({.leaves = "break_if %b"}));
}

} // namespace
} // namespace imbrex
