#include "tests/run/machines/emulated_cpu.h"

#include "backend/launching/observed_run.h"
#include "backend/lower/observations.h"
#include "backend/pipeline.h"
#include "backend/support/check.h"
#include "backend/target/host/inline_assembly.h"
#include "backend/target/host/kernel_code.h"
#include "backend/target/host/plan/loop_plan.h"
#include "backend/target/host/run/jit.h"
#include "backend/target/host/run/runtime_calls.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "tests/run/machines/copied_arguments.h"
#include "tests/run/machines/guest_link.h"
#include "tests/run/machines/guest_mail.h"

#include <cstring>

// Headers of LLVM that would declare them come only with the targets that it was built with.
extern "C" {
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
void LLVMInitializeAArch64AsmParser();
}

namespace imbrex::testing {
namespace {

/// As the JIT's, but for this CPU in place of the one found.
std::unique_ptr<llvm::TargetMachine> targetMachineOf(const std::string &cpu) {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64AsmParser(); // for inline_asm
  llvm::orc::JITTargetMachineBuilder builder(llvm::Triple("aarch64-unknown-linux-gnu"));
  builder.setCPU(cpu);
  return host::targetMachineOf(std::move(builder));
}

/// A function of the runtime, at the address that is the context. They take up to eight integers
/// and pointers and give none or one back, so that all can be called as if they took eight.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void callWithIntegers(guest_mail &mail, void *address) {
  using Function = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                     std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);
  const auto &x = mail.x;
  mail.x[0] = reinterpret_cast<Function>(address)(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
}

} // namespace

EmulatedCpu::EmulatedCpu(const std::string &emulator, const std::string &llvmName,
                         const std::string &emulatorName)
    : compiler_(targetMachineOf(llvmName)), guest_(emulator, emulatorName) {
  for (const host::RuntimeCall &call : host::runtimeCalls())
    symbols_[call.name] = guest_.addressOfCall(callWithIntegers, call.address);
  // All that LLVM calls in place of instructions.
  symbols_["memcpy"] =
      guest_.addressOfCall(callWithIntegers, reinterpret_cast<void *>(&std::memcpy));
}

bool EmulatedCpu::run(const ir::Kernel &source, const ir::Grid &grid,
                      llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
  ir::Kernel kernel = source.clone();
  if (!runPasses(kernel, hostPipeline(), diagnostics) ||
      !host::checkAssembly(kernel, compiler_, diagnostics))
    return false;
  CopiedArguments copied(arguments, guest_);
  const host::KernelCode code =
      host::compileKernel(kernel, host::traitsOf(kernel, copied.arguments()), compiler_);
  const auto inGuest = [&](const auto &data) {
    std::byte *at = guest_.allocateData(data.size() * sizeof(data[0]));
    std::memcpy(at, data.data(), data.size() * sizeof(data[0]));
    return reinterpret_cast<std::uint64_t>(at);
  };
  const lower::observations::SiteTable sites(code.sites, host::scratchElementBytes);
  launching::ObservedRun launch{.sites = sites.all()};
  std::byte *scratch = guest_.allocateData(static_cast<std::size_t>(code.scratchBytes));
  guest_.run(linkInto(guest_, symbols_, code.object->getMemBufferRef(), host::KernelCode::kEntry),
             {inGuest(host::argumentWords(kernel, copied.arguments())), inGuest(grid.extents), 0,
              static_cast<std::uint64_t>(grid.blocks()), reinterpret_cast<std::uint64_t>(scratch),
              reinterpret_cast<std::uint64_t>(&launch)});
  copied.copyBack();
  guest_.freeData();
  if (!launch.failed) return true;
  lower::observations::reportFailed(code.sites[launch.failed->site], *launch.failed, diagnostics);
  return false;
}

} // namespace imbrex::testing
