#include "backend/assembly.h"

#include "backend/lower/memory/shared_memory.h"
#include "backend/spills.h"
#include "backend/validate/access_order.h"
#include "backend/validate/exchange_order.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <array>

namespace imbrex {
namespace {

/// A piece of code on its way to assembly.
struct Assembling {
  const GpuCode &code;
  const target::GpuTarget &target;
  llvm::function_ref<std::unique_ptr<llvm::Module>()> moduleOfCode; ///< To be used up.
  std::unique_ptr<llvm::Module> module = {};
  std::vector<RequiredAccess> asked = {};
  std::string text = {};

  std::string_view machine() const { return target.machine().name; }
};

/// Threads hand each other elements in order, in what LLVM's optimiser has left.
Result<void> checkExchanges(Assembling &of) {
  const auto race = exchangeRaceIn(*of.code.module, of.target);
  if (!race) return {};
  return fail(Diag::CodeUnordered, {}, of.code.interface.name, of.machine(), *race);
}

Result<void> generate(Assembling &of) {
  of.module = of.moduleOfCode();
  of.asked = assignAccessNumbers(*of.module, of.target);
  auto text = of.target.assembly(*of.module);
  if (!text && text.error().kind == Diag::RegistersRanOut)
    return fail(Diag::RegistersRanOut, of.code.interface.where, of.code.interface.name,
                of.machine(), moreRegisters(of.code, of.target.machine()));
  if (!text) return text.failure();
  of.text = *std::move(text);
  return {};
}

/// The text orders memory as its module asks.
Result<void> compareAccesses(Assembling &of) {
  const auto difference = differenceFrom(of.asked, of.target.accessesOf(of.text));
  if (!difference) return {};
  return fail(Diag::CodeUnlikeOrder, difference->where, of.code.interface.name, of.machine(),
              difference->what);
}

/// A programmatic launch's kernel leaves memory alone until it has waited.
Result<void> compareWait(Assembling &of) {
  if (!of.code.interface.asked.programmatic) return {};
  const llvm::StringRef early = of.target.touchedBeforeWait(of.text);
  if (early.empty()) return {};
  return fail(Diag::CodeUnlikeOrder, of.code.interface.where, of.code.interface.name, of.machine(),
              "'" + early.str() + "' stands before the wait for the launch in front");
}

/// The text does to rings what was proven.
Result<void> compareRings(Assembling &of) {
  if (of.code.rings.steps.empty()) return {};
  return checkRings(of.code.rings, of.target.ringsOf(of.text), of.code.interface.name,
                    of.machine());
}

constexpr auto kToAssembly = std::to_array<TimedStep<Assembling, Result<void>>>({
    {"order", checkExchanges},
    {"generate", generate},
    {"compare", compareAccesses},
    {"compare", compareWait},
    {"compare", compareRings},
});

Result<std::string> assemblyOf(Assembling of, StageTimes *times) {
  if (const auto made = runSteps(kToAssembly, of, times); !made) return made.failure();
  return std::move(of.text);
}

/// The uses of each value as a copy has them, in the order of the code: what LLVM's passes find in
/// another order they may put into other code.
void orderUses(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      for (llvm::Use &use : instruction.operands()) use.set(use.get());
}

/// The module itself, as GpuCode::copy would be.
std::unique_ptr<llvm::Module> taken(GpuCode &code) {
  orderUses(*code.module);
  lower::SharedMemory::placeAtLaunch(*code.module);
  return std::move(code.module);
}

} // namespace

std::unique_ptr<llvm::Module> GpuCode::copy() const {
  auto copied = llvm::CloneModule(*module);
  lower::SharedMemory::placeAtLaunch(*copied);
  return copied;
}

Result<std::string> makeAssembly(const GpuCode &code, const target::GpuTarget &target,
                                 StageTimes *times) {
  if (!code.assembly.empty()) return code.assembly;
  const auto module = [&] { return code.copy(); };
  return assemblyOf({.code = code, .target = target, .moduleOfCode = module}, times);
}

Result<std::string> makeAssemblyInPlace(GpuCode &code, const target::GpuTarget &target,
                                        StageTimes *times) {
  if (!code.assembly.empty()) return std::move(code.assembly);
  const auto module = [&] { return taken(code); };
  return assemblyOf({.code = code, .target = target, .moduleOfCode = module}, times);
}

Result<target::ObjectCode> makeObject(const std::string &assembly, const target::GpuTarget &target,
                                      StageTimes *times) {
  const auto start = std::chrono::steady_clock::now();
  auto object = target.objectOf(assembly);
  addTime(times, "assemble", std::chrono::steady_clock::now() - start);
  return object;
}

} // namespace imbrex
