#include "backend/package/archive/host_compiler.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

namespace imbrex::archive {
namespace {

/// All processors that this build of LLVM has code for: a library may be for another than this one.
void initialiseProcessors() {
#define IMBREX_INITIALISE(target)                                                                  \
  LLVMInitialize##target##TargetInfo();                                                            \
  LLVMInitialize##target##Target();                                                                \
  LLVMInitialize##target##TargetMC();                                                              \
  LLVMInitialize##target##AsmPrinter();                                                            \
  LLVMInitialize##target##AsmParser(); // for inline_asm
#if IMBREX_LLVM_HAS_X86
  IMBREX_INITIALISE(X86)
#endif
#if IMBREX_LLVM_HAS_AARCH64
  IMBREX_INITIALISE(AArch64)
#endif
#undef IMBREX_INITIALISE
}

} // namespace

std::string oldestCpu(const llvm::Triple &triple) { return triple.isX86() ? "x86-64" : "generic"; }

Result<std::unique_ptr<host::Compiler>> compilerFor(const llvm::Triple &triple,
                                                    const std::string &cpu) {
  static std::once_flag once;
  std::call_once(once, initialiseProcessors);
  if (!triple.isOSBinFormatELF() || !triple.isArch64Bit())
    return fail(Diag::NoProcessorCode, {}, triple.str(), "libraries are of ELF and 64 bits");
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) return fail(Diag::NoProcessorCode, {}, triple.str(), problem);
  const std::string known = cpu == "armv8-a" ? oldestCpu(triple) : cpu;
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, known, "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  return std::make_unique<host::Compiler>(std::move(machine));
}

} // namespace imbrex::archive
