// Products whose sums are the next product's operand. On gfx11 half of the lanes have the even k of
// the sums and half the odd ones, and each wants all: registers cross lanes, and pass through no
// shared memory. Against the interpreter.

#include "backend/target/gpu_target.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

struct Chain {
  std::string element, sums;
  std::int64_t n, k; ///< Of (64 x k) . (k x n) and (64 x n) . (n x k).
};

/// Of numbers from 0 to 3, whose sums all elements hold: the order of sums makes no difference.
TableKernel chained(const Chain &of) {
  const std::string m = "64", n = std::to_string(of.n), k = std::to_string(of.k);
  const auto tile = [](const std::string &element, const std::string &rows,
                       const std::string &columns) {
    return element + "[" + rows + "x" + columns + "]";
  };
  const auto loaded = [&](const std::string &name, const std::string &rows,
                          const std::string &columns) {
    const std::string bytes = tile("u8", rows, columns);
    return "%" + name + "b = view.load %" + name + ", %0, %0 : " + bytes + "\n%" + name +
           "m = constant 3 : " + bytes + "\n%" + name + "s = and %" + name + "b, %" + name +
           "m : " + bytes + "\n%" + name + "t = cast %" + name +
           "s : " + tile(of.element, rows, columns) + "\n";
  };
  const std::string zero = of.sums == "i32" ? "0" : "0.0";
  return {.name = "chained",
          .kernel = parsedKernel(
              "kernel @chained(%q: view<const u8, 2>, %k: view<const u8, 2>, %v: view<const u8, "
              "2>, %o: view<" +
              of.sums + ", 2>) stage tiles {\n%0 = constant 0 : i64\n%y = constant " + zero +
              " : " + tile(of.sums, m, n) + "\n%z = constant " + zero + " : " +
              tile(of.sums, m, k) + "\n" + loaded("q", m, k) + loaded("k", k, n) +
              loaded("v", n, k) + "%s = dot %qt, %kt, %y : " + tile(of.sums, m, n) +
              "\n%p = cast %s : " + tile(of.element, m, n) + "\n%r = dot %p, %vt, %z : " +
              tile(of.sums, m, k) + "\nview.store %o, %r, %0, %0\n}\n"),
          .grid = {.extents = {1, 1, 1}},
          .arguments = {"random:" + m + "x" + k, "random:" + k + "x" + n, "random:" + n + "x" + k,
                        "zeros:" + m + "x" + k}};
}

std::int64_t exchangesIn(ir::Kernel kernel, const target::GpuTarget &target) {
  const GpuCode code = codeOf(kernel, target);
  std::int64_t found = 0;
  for (const llvm::Function &function : *code.module)
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        found += call->getIntrinsicID() == llvm::Intrinsic::amdgcn_permlanex16 ? 1 : 0;
  return found;
}

} // namespace

TEST_CASE(
    "sums cross lanes to be an operand, two small ones in a word, and are the interpreter's") {
  for (const char *name : {"gfx1100", "gfx11-generic"}) {
    const target::GpuTarget *target = target::findGpuTarget(*machine::findMachine(name));
    if (target == nullptr) continue;
    for (const Chain &of :
         {Chain{"f16", "f32", 32, 32}, Chain{"f16", "f32", 48, 16}, Chain{"bf16", "f32", 32, 16},
          Chain{"bf16", "f32", 64, 28}, Chain{"i8", "i32", 32, 14}}) {
      CAPTURE(std::string(name));
      CAPTURE(of.element);
      CAPTURE(of.n);
      const TableKernel one = chained(of);
      CHECK(exchangesIn(one.kernel.clone(), *target) > 0);
      checkAsInterpreter(one, name);
    }
  }
}
