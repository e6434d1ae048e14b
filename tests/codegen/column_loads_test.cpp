// Tiles whose rows run across k, loaded by columns on their way from memory.

#include "backend/layout/vector_width.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/FormatVariadic.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <array>
#include <string>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

constexpr const char *kMachine = "gfx1201";

struct Product {
  const char *type, *sum;
  int warps = 4, m = 64, n = 64, k = 32;            ///< Of the tiles.
  int rows = 2 * m, columns = 2 * n, depth = 4 * k; ///< Of the matrices.
  bool isColumnMajor = false;                       ///< a lies as k x m.
  std::string where = "%k, %j";                     ///< Of the boxes of b.

  std::string text() const {
    const std::string a = llvm::formatv("{0}x{1}", isColumnMajor ? k : m, isColumnMajor ? m : k);
    return llvm::formatv(
               "kernel @p(%a: view<const {0}, 2>, %b: view<const {0}, 2>, %c: view<{1}, 2>) stage "
               "tiles "
               "[warps = {2}] {{\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n%i = program_id "
               "[axis = 1] : "
               "i32\n%j = program_id [axis = 0] : i32\n%e = view.extent %b [axis = 0] : i64\n%u = "
               "constant {5} : i64\n%three = constant 3 : i64\n"
               "%four = constant 4 : i64\n%eight = constant 8 : i64\n"
               "%t = cdiv %e, %u : i64\n%z = constant 0 : {1}[{3}x{4}]\n"
               "%s = for %0, %t, %1, %z [pipelined = 2] (%k: i64, %sum: {1}[{3}x{4}]) {{\n"
               "%x = view.load %a, {6} : {0}[{7}]\n{8}"
               "%h = mul %k, %u : i64\n%g = sub %h, %three : i64\n%f = sub %h, %eight : i64\n"
               "%l = sub %h, %four : i64\n"
               "%y = view.load %b, {9} : {0}[{5}x{4}]\n%d = dot {10}, %y, %sum : "
               "{1}[{3}x{4}]\nyield %d\n} : {1}[{3}x{4}]\n"
               "view.store %c, %s, %i, %j\n}\n",
               type, sum, warps, m, n, k, isColumnMajor ? "%k, %i" : "%i, %k", a,
               isColumnMajor
                   ? llvm::formatv("%w = permute %x [order = [1, 0]] : {0}[{1}x{2}]\n", type, m, k)
                         .str()
                   : std::string(),
               where, isColumnMajor ? "%w" : "%x")
        .str();
  }

  TableKernel kernel() const {
    const auto matrix = [](std::string_view what, std::string_view of, int height, int width) {
      return llvm::formatv("{0}:{1}:{2}x{3}", what, of, height, width).str();
    };
    return {.name = llvm::formatv("{0} {1}x{2}x{3} of {4}x{5}x{6} by {7}", type, rows, columns,
                                  depth, m, n, k, warps),
            .kernel = parsedKernel(text()),
            .grid = {(columns + n - 1) / n, (rows + m - 1) / m, 1},
            .arguments = {isColumnMajor ? matrix("random", type, depth, rows)
                                        : matrix("random", type, rows, depth),
                          matrix("random", type, depth, columns),
                          matrix("zeros", sum, rows, columns)}};
  }
};

bool isMissing() { return target::findGpuTarget(*machine::findMachine(kMachine)) == nullptr; }

/// The calls by which a kernel loads columns.
std::ptrdiff_t columnLoads(const TableKernel &one) {
  ir::Kernel kernel = one.kernel.clone();
  const TableLaunch launch(one);
  const GpuCode code =
      codeOf(kernel, *target::findGpuTarget(*machine::findMachine(kMachine)), launch.arguments());
  std::ptrdiff_t count = 0;
  for (const llvm::Function &function : *code.module)
    if (function.getName().starts_with("llvm.amdgcn.global.load.tr"))
      count += function.getNumUses();
  return count;
}

/// Copies a tile that is held as loads by columns bring it, from a matrix that is smaller.
TableKernel copied(const char *type, const char *attributes) {
  const std::string text =
      llvm::formatv(
          "kernel @copied(%a: view<const {0}, 2>, %c: view<{0}, 2>) stage laid lanes 32 "
          "warps 1 {{\n"
          "layout #0 = register [[1,0],[2,0],[4,0]] lane [[0,1],[0,2],[0,4],[0,8],[0,16]] "
          "warp [] of [8x32]\n"
          "%0 = constant 0 : i64\n"
          "%1 = view.load %a, %0, %0{1} : {0}[8x32] #0\n"
          "view.store %c, %1, %0, %0\n}\n",
          type, attributes)
          .str();
  return {
      .name = llvm::formatv("copied {0}{1}", type, attributes),
      .kernel = parsedKernel(text),
      .grid = {1, 1, 1},
      .arguments = {llvm::formatv("random:{0}:5x16", type), llvm::formatv("zeros:{0}:8x32", type)}};
}

/// How many neighbours of a row of b a thread loads at once.
std::int64_t neighboursInRow(const Product &product) {
  const TableKernel one = product.kernel();
  ir::Kernel kernel = one.kernel.clone();
  const TableLaunch launch(one);
  codeOf(kernel, *target::findGpuTarget(*machine::findMachine(kMachine)), launch.arguments());
  std::int64_t width = 0;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::ViewLoad &&
        kernel.parameterName(*ir::rootParameter(kernel, op.operand(0))) == "b")
      width = layout::contiguousRegisters(kernel.layout(kernel.layoutOf(op.result())),
                                          layout::axisDim(1), 16)
                  .width;
  });
  return width;
}

const std::array<Product, 4> kTypes{
    {{"i8", "i32"}, {"f8e4m3fn", "f32"}, {"bf16", "f32"}, {"f16", "f32"}}};

} // namespace

TEST_CASE("tiles that are loaded by columns make the products that the interpreter makes") {
  if (isMissing()) return;
  for (Product product : kTypes) {
    for (const auto &[m, n, k, warps] :
         {std::array{64, 64, 32, 4}, {16, 32, 16, 1}, {32, 128, 16, 8}}) {
      product.m = m, product.n = n, product.k = k, product.warps = warps;
      for (const auto &[rows, columns, depth] :
           {std::array{m, 2 * n, 4 * k}, {m - 1, n + 16, 2 * k + 5}}) {
        product.rows = rows, product.columns = columns, product.depth = depth;
        CAPTURE(product.kernel().name);
        CHECK(columnLoads(product.kernel()) > 0);
        checkAsInterpreter(product.kernel(), kMachine);
      }
    }
  }
}

TEST_CASE("both factors can be loaded by columns") {
  if (isMissing()) return;
  for (Product product : {kTypes[0], kTypes[2]}) {
    product.isColumnMajor = true;
    const std::ptrdiff_t both = columnLoads(product.kernel());
    checkAsInterpreter(product.kernel(), kMachine);
    product.rows = 48, product.depth = 100;
    checkAsInterpreter(product.kernel(), kMachine);
    product.isColumnMajor = false;
    CHECK(both == 2 * columnLoads(product.kernel()));
  }
}

TEST_CASE("boxes may begin in front of what is loaded by columns") {
  if (isMissing()) return;
  for (Product product : {kTypes[0], kTypes[2]}) {
    for (const char *const where : {"%g, %0 [unit = elements]", "%0, %f [unit = elements]"}) {
      product.where = where;
      CHECK(columnLoads(product.kernel()) > 0);
      checkAsInterpreter(product.kernel(), kMachine);
    }
  }
}

TEST_CASE("loads with hints, or of other than zeros outside, are not by columns") {
  if (isMissing()) return;
  for (const char *const type : {"bf16", "f8e4m3fn"}) {
    CHECK(columnLoads(copied(type, "")) == 1);
    checkAsInterpreter(copied(type, ""), kMachine);
    for (const char *const attributes :
         {" [padding = nan]", " [cache = streaming]", " [eviction = first]"}) {
      CAPTURE(std::string(attributes));
      CHECK(columnLoads(copied(type, attributes)) == 0);
      checkAsInterpreter(copied(type, attributes), kMachine);
    }
  }
  CHECK(columnLoads(copied("bool", "")) == 0); // which are bits in registers
  checkAsInterpreter(copied("bool", ""), kMachine);
}

TEST_CASE("what has no eight neighbours is not loaded by columns") {
  if (isMissing()) return;
  for (Product product : {kTypes[0], kTypes[2]}) {
    product.columns = 100;
    CHECK(columnLoads(product.kernel()) == 0);
    checkAsInterpreter(product.kernel(), kMachine);
    product.columns = 128;
    CHECK(columnLoads(product.kernel()) > 0);
    // By rows, as wide as they are.
    product.where = "%0, %l [unit = elements]";
    CHECK(columnLoads(product.kernel()) == 0);
    CHECK(neighboursInRow(product) == 4);
    product.where = "%k, %j [eviction = first]";
    CHECK(columnLoads(product.kernel()) == 0);
    CHECK(neighboursInRow(product) >= 4);
    product.where = "%k, %j", product.k = 64, product.n = 16;
    CHECK(columnLoads(product.kernel()) == 0);
    checkAsInterpreter(product.kernel(), kMachine);
  }
}
