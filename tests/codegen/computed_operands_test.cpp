// Products of which a factor is computed from what is stored: bytes, narrow floats, and halves of
// bytes, times a factor of each column and group of rows. Against the interpreter, on the units of
// every kind of machine; and where nothing need pass through shared memory twice, nothing does.

#include "backend/analysis/assumptions.h"
#include "backend/compile.h"
#include "backend/target/gpu_target.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "tests/codegen/kernel_table.h"
#include "tests/codegen/matrix_text.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

enum class Stored { Bytes, Floats, Nibbles };

/// c = a · (b · factors), k at a time for as many steps as there are.
struct Case {
  Stored stored;
  std::int64_t m, n, k, steps;
  bool isTransposed; ///< Rows of memory lie along k.
  bool hasFactors;
  int slots;
};

class CaseText : MatrixText {
public:
  explicit CaseText(const Case &of) : MatrixText(0), of_(of) {}

  TableKernel kernel() const {
    std::vector<std::string> arguments{"random:" + array(of_.m, of_.k * of_.steps),
                                       "random:" + memory(of_.k * of_.steps)};
    if (of_.hasFactors)
      arguments.push_back("random:" +
                          (of_.isTransposed ? array(of_.n, of_.steps) : array(of_.steps, of_.n)));
    arguments.push_back("zeros:" + array(of_.m, of_.n));
    return {.name = "product",
            .kernel = parsedKernel(text()),
            .grid = {.extents = {1, 1, 1}},
            .arguments = arguments};
  }

private:
  /// b as it is stored, and its elements.
  std::string memory(std::int64_t k) const {
    const std::int64_t depth = of_.stored == Stored::Nibbles ? k / 2 : k;
    return of_.isTransposed ? array(of_.n, depth) : array(depth, of_.n);
  }
  std::string elements() const {
    return of_.isTransposed ? array(of_.n, of_.k) : array(of_.k, of_.n);
  }
  std::string stored() const {
    return of_.stored == Stored::Bytes ? "i8" : of_.stored == Stored::Floats ? "f8e4m3fn" : "u8";
  }

  std::string text() const {
    const std::string sums = "f32[" + array(of_.m, of_.n) + "]";
    const std::string factors = of_.hasFactors ? ", %s: view<const bf16, 2>" : "";
    std::string text = "kernel @product(%a: view<const bf16, 2>, %b: view<const " + stored() +
                       ", 2>" + factors + ", %c: view<f32, 2>) stage tiles {\n" +
                       "%0 = constant 0 : i64\n%1 = constant 1 : i64\n%n = constant " +
                       std::to_string(of_.steps) + " : i64\n%z = constant 0.0 : " + sums +
                       "\n%r = for %0, %n, %1, %z [pipelined = " + std::to_string(of_.slots) +
                       "] (%k: i64, %sum: " + sums + ") {\n%x = view.load %a, %0, %k : bf16[" +
                       array(of_.m, of_.k) + "]\n%w = view.load %b, " + at("%k") + " : " +
                       stored() + "[" + memory(of_.k) + "]\n" + asHalves();
    if (of_.hasFactors) text += timesFactors();
    if (of_.isTransposed)
      text += "%y = permute %v [order = [1, 0]] : bf16[" + array(of_.k, of_.n) + "]\n";
    return text + "%d = dot %x, " + (of_.isTransposed ? "%y" : "%v") + ", %sum : " + sums +
           "\nyield %d\n} : " + sums + "\nview.store %c, %r, %0, %0\n}\n";
  }
  std::string at(const std::string &step) const {
    return of_.isTransposed ? "%0, " + step : step + ", %0";
  }

  std::string asHalves() const {
    const std::string to = of_.hasFactors ? "%q" : "%v", all = elements();
    if (of_.stored != Stored::Nibbles) return to + " = cast %w : bf16[" + all + "]\n";
    const std::string bytes = "u8[" + memory(of_.k) + "]", pairs = "u8[" + memory(of_.k) + "x2]";
    std::string text = "%f = constant 15 : " + bytes + "\n%h = constant 4 : " + bytes +
                       "\n%lo = and %w, %f : " + bytes + "\n%hi = shr %w, %h : " + bytes +
                       "\n%j = join %lo, %hi : " + pairs + "\n";
    if (!of_.isTransposed)
      text += "%p = permute %j [order = [0, 2, 1]] : u8[" + std::to_string(of_.k / 2) + "x2x" +
              std::to_string(of_.n) + "]\n";
    return text + "%u = reshape " + (of_.isTransposed ? "%j" : "%p") + " : u8[" + all +
           "]\n%i = bitcast %u : i8[" + all + "]\n%e = constant 8 : i8[" + all +
           "]\n%g = sub %i, %e : i8[" + all + "]\n" + to + " = cast %g : bf16[" + all + "]\n";
  }

  std::string timesFactors() const {
    const std::string row = of_.isTransposed ? array(of_.n, 1) : array(1, of_.n), all = elements();
    return "%t = view.load %s, " + at("%k") + " : bf16[" + row + "]\n%o = broadcast %t : bf16[" +
           all + "]\n%v = mul %q, %o : bf16[" + all + "]\n";
  }

  const Case &of_;
};

Case randomCase(Stored stored, std::mt19937 &rng) {
  const auto one = [&](std::initializer_list<std::int64_t> of) { return oneOf(rng, of); };
  return {.stored = stored,
          .m = one({7, 16, 64}),
          .n = one({16, 48, 64, 128}),
          .k = stored == Stored::Nibbles ? one({32, 64}) : one({16, 32, 48, 64}),
          .steps = one({1, 3}),
          .isTransposed = one({0, 1}) == 1,
          .hasFactors = one({0, 1}) == 1,
          .slots = static_cast<int>(one({1, 2, 3}))};
}

/// What a machine's code does with tiles in shared memory, besides copies from global memory.
struct Exchanges {
  int reads = 0;  ///< Of slots, into registers.
  int stores = 0; ///< Of instructions of a thread.
};

Exchanges exchangesOf(const Case &of, std::string_view machine) {
  ir::Kernel kernel = CaseText(of).kernel().kernel.clone();
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, *target::findGpuTarget(*machine::findMachine(machine)),
                                  analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  Exchanges found;
  ir::walk(kernel.body(),
           [&](const ir::Op &op) { found.reads += op.kind == ir::OpKind::SharedLoad; });
  constexpr unsigned kShared = 3; // address space, of both vendors
  for (const llvm::Function &function : *code->module)
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
        found.stores += store->getPointerAddressSpace() == kShared;
  return found;
}

} // namespace

TEST_CASE("products of computed factors are those of the interpreter, on every emulated machine") {
  std::mt19937 rng(4);
  for (const char *machine : kMachinesWithUnits) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    for (const Stored stored : {Stored::Bytes, Stored::Floats, Stored::Nibbles}) {
      const Case random = randomCase(stored, rng);
      checkAsInterpreter(CaseText(random).kernel(), machine);
    }
  }
}

TEST_CASE("a factor whose rows lie along k is read from its slot as it is multiplied") {
  for (const char *machine : {"sm_80", "sm_89", "sm_90a", "gfx950"}) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    for (const Stored stored : {Stored::Bytes, Stored::Floats, Stored::Nibbles}) {
      const Exchanges found = exchangesOf({.stored = stored,
                                           .m = 64,
                                           .n = 128,
                                           .k = 128,
                                           .steps = 4,
                                           .isTransposed = true,
                                           .hasFactors = false,
                                           .slots = 3},
                                          machine);
      CAPTURE(std::string(machine));
      CAPTURE(static_cast<int>(stored));
      CHECK(found.reads == 1);
      CHECK(found.stores == 0);
    }
  }
}
