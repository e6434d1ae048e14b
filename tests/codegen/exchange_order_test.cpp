#include "backend/compile.h"
#include "backend/lower/memory/shared_memory.h"
#include "backend/validate/exchange_order.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <set>

namespace imbrex::testing {
namespace {

using llvm::Value;
using lower::SharedMemory;
using lower::Vocabulary;

/// What the check says of an exchange of one i32 a thread, of which each thread reads the one that
/// lies `offset` bytes from its own; in optimised code.
std::optional<std::string> disorderAt(const target::GpuTarget &target, std::int64_t offset,
                                      bool meets) {
  llvm::LLVMContext context;
  std::unique_ptr<SharedMemory> shared;
  const auto body = [&](const Vocabulary &words, Vocabulary::Builder &b, Value *x) -> Value * {
    shared = std::make_unique<SharedMemory>(*b.GetInsertBlock()->getModule(), words.sharedSpace(),
                                            SharedMemory::kMostRegions);
    constexpr std::int64_t kBytes = 1024;
    Value *const region = shared->begin(kBytes).base;
    const auto place = [&](Value *base) {
      return b.CreateGEP(b.getInt32Ty(), base, words.threadIndex(b));
    };
    b.CreateStore(x, place(region));
    if (meets) words.meetAll(b);
    Value *const moved =
        b.CreateGEP(b.getInt8Ty(), region, b.getInt32(static_cast<std::uint32_t>(offset)));
    Value *const read = b.CreateLoad(b.getInt32Ty(), place(moved));
    shared->end();
    return read;
  };
  const auto module = sample::kernel(context, target, body);
  const machine::Machine &machine = target.machine();
  shared->finish(machine.staticSharedMemoryBytes, machine.sharedMemoryBytes);
  target.optimise(*module);
  return exchangeRaceIn(*module, target);
}

bool isBarrier(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return false;
  const llvm::StringRef name = call->getCalledFunction()->getName();
  return name.starts_with("llvm.nvvm.barrier.cta") || name == "llvm.amdgcn.s.barrier";
}

std::vector<llvm::Instruction *> barriersIn(llvm::Module &module) {
  std::vector<llvm::Instruction *> barriers;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isBarrier(instruction)) barriers.push_back(&instruction);
  return barriers;
}

TEST_CASE("an access is one of the array that its address starts in, whatever is added to it") {
  for (const target::GpuTarget *target : sample::targets())
    for (const std::int64_t offset : {-4, 4, -1024, 1024, 4096}) {
      CAPTURE(std::string(target->machine().name));
      CAPTURE(offset);
      CHECK(disorderAt(*target, offset, true).value_or("") == "");
      CHECK(disorderAt(*target, offset, false).value_or("") ==
            "threads access memory that others have accessed since all met");
    }
}

/// Two exchanges in each trip, beside so much of a ring that the launch has to give the memory.
constexpr std::string_view kStream = R"(
kernel @k(%a: view<const f32, 2>, %q: ptr<f32>, %n: i32) stage tiles {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %sum = constant 0.0 : f32[64x64]
  %r = for %zero, %n, %one, %sum [pipelined = 4] (%k: i32, %s: f32[64x64]) {
    %x = view.load %a, %zero, %k : f32[64x64]
    %y = flip %x : f32[64x64]
    %z = mul %x, %y : f32[64x64]
    %w = flip %z : f32[64x64]
    %t = add %s, %w : f32[64x64]
    yield %t
  } : f32[64x64]
  %rows = reduce %r : f32[64]
  %all = reduce %rows : f32
  store %q, %all
}
)";
constexpr unsigned kFirstExchange = 8, kSecondExchange = 10, kBehindSlots = 14;

TEST_CASE("exchanges in memory that the launch gives are ordered, and would be missed without") {
  for (const char *name : {"sm_80", "sm_90a", "sm_120a"}) {
    CAPTURE(name);
    const machine::Machine &machine = *machine::findMachine(name);
    const target::GpuTarget *target = target::findGpuTarget(machine);
    if (target == nullptr) {
      MESSAGE("SKIP: no code for ", name, " in this build");
      continue;
    }
    ir::Kernel kernel = parsedKernel(kStream);
    Diagnostics diagnostics;
    const auto code =
        compileForGpu(kernel, *target, analysis::usualAssumptions(kernel), diagnostics);
    REQUIRE_MESSAGE(code, diagnostics.render());
    REQUIRE(code->interface.bytesAtLaunch > machine.staticSharedMemoryBytes);
    // Behind the loop's slots, where the rows are added up, exchanges lie where these were; not
    // where an engine fills them.
    const bool areOverSlots = !machine.asyncCopies.haveEngine;
    CHECK(SharedMemory::regionsOf(*code->module).size() == (areOverSlots ? 3 : 2));
    CHECK(exchangeRaceIn(*code->module, *target).value_or("") == "");
    std::set<std::string> found;
    for (std::size_t place = 0; place < barriersIn(*code->module).size(); ++place) {
      const auto without = llvm::CloneModule(*code->module);
      barriersIn(*without)[place]->eraseFromParent();
      found.insert(exchangeRaceIn(*without, *target).value_or(""));
    }
    for (const unsigned line : {kFirstExchange, kSecondExchange})
      CHECK(found.count("threads access memory at line " + std::to_string(line) +
                        " that others have accessed since all met") == 1);
    CHECK(found.count("threads access memory at line " + std::to_string(kBehindSlots) +
                      " where others have accessed slots since all met, or the other way round") ==
          (areOverSlots ? 1 : 0));
  }
}

} // namespace
} // namespace imbrex::testing
