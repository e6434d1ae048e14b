// Factors that no trip of a loop changes, which threads hold as the matrix unit wants them.

#include "llvm/Support/FormatVariadic.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <string>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// o = the sum of q kᵢ over the tiles of k; what else reads q stands in `besides`.
struct Queries {
  const char *machine, *type, *sum;
  int warps = 4, m = 128, depth = 64, n = 16; ///< Of the tiles.
  int rows = m + 5, columns = 3 * n;          ///< Of q and of k; k is cut into tiles along them.
  std::string besides = {}, body = "%d = dot %q, %y, %sum : {1}[{3}x{5}]\n";

  TableKernel kernel() const {
    const std::string text =
        llvm::formatv(
            ("kernel @held(%a: view<const {0}, 2>, %b: view<const {0}, 2>, %c: view<{1}, 2>) stage "
             "tiles [warps = {2}] {{\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n"
             "%i = program_id : i32\n%e = view.extent %b [axis = 1] : i64\n"
             "%u = constant {5} : i64\n%t = cdiv %e, %u : i64\n%z = constant 0 : {1}[{3}x{5}]\n"
             "%q = view.load %a, %i, %0 : {0}[{3}x{4}]\n" +
             besides +
             "%s = for %0, %t, %1, %z [pipelined = 2] (%k: i64, %sum: {1}[{3}x{5}]) {{\n"
             "%y = view.load %b, %0, %k : {0}[{4}x{5}]\n" +
             body + "yield %d\n} : {1}[{3}x{5}]\nview.store %c, %s, %i, %0\n}\n")
                .c_str(),
            type, sum, warps, m, depth, n)
            .str();
    const auto matrix = [](std::string_view what, std::string_view of, int height, int width) {
      return llvm::formatv("{0}:{1}:{2}x{3}", what, of, height, width).str();
    };
    return {.name = llvm::formatv("{0} {1}", machine, type),
            .kernel = parsedKernel(text),
            .grid = {(rows + m - 1) / m, 1, 1},
            .arguments = {matrix("random", type, rows, depth),
                          matrix("random", type, depth, columns), matrix("zeros", sum, rows, n)}};
  }
};

/// Where the last product of the loop, whose first factor q is, has it from: "loaded", "converted",
/// or "stored".
std::string sourceOf(const Queries &queries) {
  ir::Kernel kernel = queries.kernel().kernel.clone();
  codeOf(kernel, *target::findGpuTarget(*machine::findMachine(queries.machine)));
  std::string source;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::Dot || kernel.type(op.operand(0)).shape()[1] != queries.depth)
      return;
    if (kernel.type(op.operand(0)).isShared())
      source = "stored";
    else
      source =
          kernel.definition(op.operand(0))->kind == ir::OpKind::ViewLoad ? "loaded" : "converted";
  });
  return source;
}

bool isMissing(const Queries &queries) {
  return target::findGpuTarget(*machine::findMachine(queries.machine)) == nullptr;
}

} // namespace

TEST_CASE("few registers of a factor are loaded as the unit wants them") {
  for (const Queries &queries :
       {Queries{"gfx942", "bf16", "f32"}, Queries{"gfx942", "i8", "i32"},
        Queries{"gfx942", "f8e4m3fnuz", "f32"}, Queries{"gfx950", "f16", "f32"},
        Queries{"gfx950", "i8", "i32"}, Queries{"gfx1250", "bf16", "f32"},
        Queries{"gfx1250", "f8e4m3fn", "f32"}}) {
    if (isMissing(queries)) continue;
    CAPTURE(queries.kernel().name);
    CHECK(sourceOf(queries) == "loaded");
    checkAsInterpreter(queries.kernel(), queries.machine);
  }
}

TEST_CASE("factors for which shared memory has no room come to the threads once") {
  struct Row {
    Queries queries;
    const char *source;
  };
  for (auto [queries, source] : {Row{{"sm_75", "f16", "f32", 8, 256, 128, 16}, "converted"},
                                 Row{{"gfx1201", "bf16", "f32", 8, 256, 128, 16}, "loaded"}}) {
    if (isMissing(queries)) continue;
    CAPTURE(queries.kernel().name);
    queries.rows = 100;
    CHECK(sourceOf(queries) == source);
    checkAsInterpreter(queries.kernel(), queries.machine);
  }
}

TEST_CASE("a factor that others read as well keeps the layout in which it was loaded") {
  Queries queries{"gfx942", "i8", "i32"};
  if (isMissing(queries)) return;
  queries.besides = "%w = cast %q : i32[{3}x{4}]\n%r = reduce %w [axis = 1] : i32[{3}]\n"
                    "%h = reshape %r : i32[{3}x1]\n%g = broadcast %h : i32[{3}x{5}]\n";
  queries.body = "%f = dot %q, %y, %sum : {1}[{3}x{5}]\n%d = add %f, %g : i32[{3}x{5}]\n";
  CHECK(sourceOf(queries) == "converted");
  checkAsInterpreter(queries.kernel(), queries.machine);
}

TEST_CASE("products that want a factor otherwise share it in memory") {
  Queries queries{"gfx942", "bf16", "f32"};
  if (isMissing(queries)) return;
  // By one warp, whose registers of either are as many.
  queries.warps = 1, queries.depth = queries.m = queries.n = 32, queries.columns = 96;
  queries.body = "%f = dot %y, %q, %sum : {1}[{3}x{5}]\n%d = dot %q, %y, %f : {1}[{3}x{5}]\n";
  CHECK(sourceOf(queries) == "stored");
  checkAsInterpreter(queries.kernel(), queries.machine);
}
