#include "backend/compile.h"
#include "backend/lower/lower.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/support/parsed_kernel.h"
#include "tests/support/random_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <map>

namespace imbrex {
namespace {

/// What LLVM's verifier says of a kernel's code for a machine; empty when it is well formed.
std::string problemsOf(const ir::Kernel &source, const machine::Machine &machine,
                       const analysis::Assumptions &assumptions) {
  const target::GpuTarget &target = target::gpuTarget(machine);
  ir::Kernel kernel = source.clone();
  Diagnostics diagnostics;
  if (!runPasses(kernel, gpuPipeline(), {diagnostics, machine, assumptions}))
    return diagnostics.render();
  llvm::LLVMContext context;
  const auto lowered = lower::lowerKernel(kernel, target.vocabulary(), assumptions, [&] {
    auto module = std::make_unique<llvm::Module>(kernel.name(), context);
    target.prepare(*module);
    return module;
  });
  if (!lowered) return lowered.error().message;
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::verifyModule(*lowered->module, &stream);
  return text;
}

/// One machine for each size of a warp that there is code for.
std::vector<const machine::Machine *> oneForEachWarpSize() {
  std::vector<const machine::Machine *> chosen;
  for (const machine::Machine &machine : machine::allMachines()) {
    const bool isKnown = llvm::any_of(
        chosen, [&](const machine::Machine *m) { return m->warpSize == machine.warpSize; });
    if (!isKnown && target::findGpuTarget(machine)) chosen.push_back(&machine);
  }
  return chosen;
}

TEST_CASE("every case of the semantics page becomes well-formed code") {
  for (const machine::Machine *machine : oneForEachWarpSize())
    for (const semantics::Case &question : semantics::allCases()) {
      CAPTURE(machine->name);
      CAPTURE(question.name);
      const ir::Kernel kernel = semantics::kernelOf(question);
      for (const auto &assumptions : {analysis::Assumptions{}, analysis::usualAssumptions(kernel)})
        CHECK(problemsOf(kernel, *machine, assumptions) == "");
    }
}

TEST_CASE("what is only read is said to be, unless the kernel may hear of others' writes") {
  const auto isReadOnly = [](const std::string &between, const machine::Machine &machine,
                             bool isUsual) {
    ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%x: view<const f32, 1>, %y: view<f32, 1>, %f: ptr<i32>) stage tiles {\n"
        "%z = constant 0 : i32\n" +
        between + "%a = view.load %x, %z : f32[64]\nview.store %y, %a, %z\n}\n");
    Diagnostics diagnostics;
    const auto assumptions = isUsual ? analysis::usualAssumptions(kernel) : analysis::Assumptions{};
    const auto code = compileForGpu(kernel, target::gpuTarget(machine), assumptions, diagnostics);
    REQUIRE_MESSAGE(code, diagnostics.render());
    const auto module = code->copy();
    const auto isSaid = [&](llvm::StringRef name) {
      for (const llvm::Function &function : *module)
        for (const llvm::Argument &argument : function.args())
          if (argument.getName() == name) return argument.hasAttribute(llvm::Attribute::ReadOnly);
      return false;
    };
    CHECK_FALSE(isSaid("y"));
    return isSaid("x");
  };
  for (const machine::Machine *machine : oneForEachWarpSize()) {
    CAPTURE(machine->name);
    CHECK(isReadOnly("", *machine, true));
    CHECK_FALSE(isReadOnly("", *machine, false)); // the views may overlap
    CHECK_FALSE(isReadOnly("%o = atomic_rmw %f, %z : i32\n", *machine, true));
  }
}

TEST_CASE("whatever a kernel is called, assemblers take its symbol") {
  const machine::Machine &machine = *oneForEachWarpSize().front();
  const target::GpuTarget &target = target::gpuTarget(machine);
  const auto symbolOf = [&](const std::string &name) {
    ir::Kernel kernel(name);
    kernel.setStage(ir::Stage::Tiles);
    Diagnostics diagnostics;
    REQUIRE(runPasses(kernel, gpuPipeline(), {diagnostics, machine, {}}));
    llvm::LLVMContext context;
    const auto lowered = lower::lowerKernel(kernel, target.vocabulary(), {}, [&] {
      auto module = std::make_unique<llvm::Module>("named", context);
      target.prepare(*module);
      return module;
    });
    REQUIRE(lowered);
    return lowered->interface.name;
  };
  CHECK(symbolOf("add_2") == "add_2");
  CHECK(symbolOf("a.b") == "a_b");
  CHECK(symbolOf("2d") == "_2d");
  for (const char *name : {"", "_", "%"}) CHECK(symbolOf(name) == "_kernel");
}

TEST_CASE("random kernels become well-formed code") {
  constexpr std::uint32_t kSeeds = 50;
  for (const machine::Machine *machine : oneForEachWarpSize())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      CAPTURE(machine->name);
      CAPTURE(seed);
      const ir::Kernel kernel = testing::randomKernel(seed).kernel;
      for (const auto &assumptions : {analysis::Assumptions{}, analysis::usualAssumptions(kernel)})
        CHECK(problemsOf(kernel, *machine, assumptions) == "");
    }
}

/// The code of a kernel, as lowered.
std::string codeOf(const std::string &text, const machine::Machine &machine) {
  ir::Kernel kernel = testing::parsedKernel(text);
  Diagnostics diagnostics;
  REQUIRE(
      runPasses(kernel, gpuPipeline(), {diagnostics, machine, analysis::usualAssumptions(kernel)}));
  llvm::LLVMContext context;
  const target::GpuTarget &target = target::gpuTarget(machine);
  const auto lowered =
      lower::lowerKernel(kernel, target.vocabulary(), analysis::usualAssumptions(kernel), [&] {
        auto module = std::make_unique<llvm::Module>("k", context);
        target.prepare(*module);
        return module;
      });
  REQUIRE(lowered);
  std::string code;
  llvm::raw_string_ostream(code) << *lowered->module;
  return code;
}

std::size_t count(const std::string &text, const std::string &part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST_CASE("the sums of whole warps are exchanged in one store a warp and wide loads") {
  for (const machine::Machine *machine : oneForEachWarpSize()) {
    CAPTURE(machine->name);
    const std::string code = codeOf(R"(kernel @k(%a: view<const f32, 1>, %p: ptr<f32>) stage tiles {
      %0 = program_id : i32
      %1 = view.load %a, %0 : f32[16384]
      %2 = reduce %1 [axis = 0] : f32
      store %p, %2
    })",
                                    *machine);
    const std::int32_t warps = 256 / machine->warpSize;
    // A slot of a float for each warp, rounded up to 16 bytes.
    CHECK(count(code, "[" + std::to_string(4 * warps) + " x i8]") == 1);
    CHECK(count(code, "load <4 x float>, ptr addrspace(3)") == static_cast<unsigned>(warps) / 4);
  }
}

TEST_CASE("numbers that are clamped take one instruction for each bound") {
  for (const machine::Machine *machine : oneForEachWarpSize()) {
    CAPTURE(machine->name);
    const std::string code = codeOf(R"(kernel @k(%p: ptr<f32>) stage tiles {
      %0 = load %p : f32
      %1 = constant 89 : f32
      %2 = min %0, %1 : f32
      store %p, %2
    })",
                                    *machine);
    CHECK(count(code, "call float @llvm.minimumnum.f32") == 1);
    CHECK(count(code, "fcmp") == 0);
  }
}

/// Products in a row, each of which adds to what the one before it has left.
std::string productsInARow(const machine::Machine &machine) {
  return codeOf(R"(kernel @k(%a: view<const f16, 2>, %c: view<f32, 2>) stage tiles {
      %0 = constant 0 : i32
      %x = view.load %a, %0, %0 : f16[64x64]
      %z = constant 0.0 : f32[64x64]
      %s = dot %x, %x, %z : f32[64x64]
      %t = dot %x, %x, %s : f32[64x64]
      view.store %c, %t, %0, %0
    })",
                machine);
}

TEST_CASE("sums go from product to product as the vector that the instruction leaves") {
  for (const machine::Machine &machine : machine::allMachines()) {
    if (!target::findGpuTarget(machine)) continue;
    CAPTURE(machine.name);
    const std::string code = productsInARow(machine);
    if (machine.warpSize == 64) CHECK(count(code, " = call <16 x float>") > 0);
    CHECK(count(code, "insertelement <16 x float>") == 0);
  }
}

TEST_CASE("what addresses of one tile have in common is computed once") {
  for (const machine::Machine *machine : oneForEachWarpSize()) {
    CAPTURE(machine->name);
    const std::string code = productsInARow(*machine);
    std::map<std::string, int> times;
    for (const llvm::StringRef line : llvm::split(code, '\n'))
      if (const auto sum = line.split(" = getelementptr i8, ptr addrspace(3) ").second;
          !sum.empty())
        ++times[sum.str()];
    CHECK(!times.empty());
    for (const auto &[sum, count] : times) {
      CAPTURE(sum);
      CHECK(count <= 2); // by who writes the tile, and by who reads it
    }
  }
}

TEST_CASE("no part of an index is moved by no bits") {
  for (const machine::Machine *machine : oneForEachWarpSize()) {
    CAPTURE(machine->name);
    const std::string code = productsInARow(*machine);
    CHECK(count(code, " = lshr ") > 0);
    for (const llvm::StringRef line : llvm::split(code, '\n')) {
      CAPTURE(line.str());
      CHECK_FALSE((line.contains(" = lshr ") && line.contains(", 0, !dbg")));
      CHECK_FALSE((line.contains(" = or disjoint ") && line.contains(", 0, !dbg")));
    }
  }
}

} // namespace
} // namespace imbrex
