#include "backend/target/host/run/jit.h"

#include "backend/launching/amx_permission.h"
#include "backend/support/check.h"
#include "backend/target/host/run/runtime_calls.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <atomic>
#include <optional>

namespace imbrex::host {
namespace {

template <class T>
T orAbort(llvm::Expected<T> value) {
  if (!value) IMBREX_UNREACHABLE("the JIT failed: {0}", llvm::toString(value.takeError()));
  if constexpr (std::is_reference_v<T>)
    return *value;
  else
    return std::move(*value);
}
void orAbort(llvm::Error error) {
  if (error) IMBREX_UNREACHABLE("the JIT failed: {0}", llvm::toString(std::move(error)));
}

llvm::orc::JITTargetMachineBuilder processorFound() {
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
  const llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  builder.setCPU(llvm::sys::getHostCPUName().str());
  builder.getFeatures() = featuresBesides(builder.getTargetTriple(), builder.getCPU(), found);
  if (found.lookup("amx-tile") && !mayUseAmx())
    builder.getFeatures().AddFeature("amx-tile", false); // and what LLVM knows to rest on it
  return builder;
}

/// All of LLVM that outlives a compilation. Never destroyed: statics may launch while they go.
class Session {
public:
  static Session &instance() {
    static auto &session = *new Session;
    return session;
  }

  std::optional<Compiler> compiler;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::atomic<int> programs = 0;

private:
  Session() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser(); // for inline_asm
    llvm::orc::JITTargetMachineBuilder builder = processorFound();
    compiler.emplace(targetMachineOf(builder));
    jit =
        orAbort(llvm::orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(std::move(builder))
                    .setPlatformSetUp(llvm::orc::setUpInactivePlatform) // no code of ours starts up
                    .create());
    defineRuntimeCalls();
  }

  void defineRuntimeCalls() {
    llvm::orc::SymbolMap symbols;
    for (const RuntimeCall &call : runtimeCalls())
      symbols[jit->mangleAndIntern(call.name)] = {llvm::orc::ExecutorAddr::fromPtr(call.address),
                                                  llvm::JITSymbolFlags::Exported};
    orAbort(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }
};

class OrcCode final : public LoadedCode {
public:
  OrcCode(llvm::orc::JITDylib &dylib, llvm::orc::LLJIT &jit) : dylib_(dylib), jit_(jit) {}
  ~OrcCode() override { llvm::consumeError(jit_.getExecutionSession().removeJITDylib(dylib_)); }

  void *address(const std::string &symbol) const override {
    return orAbort(jit_.lookup(dylib_, symbol)).toPtr<void *>();
  }

private:
  llvm::orc::JITDylib &dylib_;
  llvm::orc::LLJIT &jit_;
};

} // namespace

Compiler &nativeCompiler() { return *Session::instance().compiler; }
Compiler &portableCompiler() {
  static auto &only = *[] {
    Session::instance(); // which has LLVM know its targets
    llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
    builder.setCPU(portableCpu(builder.getTargetTriple(), llvm::sys::getHostCPUFeatures()));
    return new Compiler(targetMachineOf(std::move(builder)));
  }();
  return only;
}
const HostMachine &machine() { return nativeCompiler().machine(); }

llvm::SubtargetFeatures featuresBesides(const llvm::Triple &triple, llvm::StringRef cpu,
                                        const llvm::StringMap<bool> &found) {
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  IMBREX_CHECK(target, "LLVM has no code for this processor: {0}", problem);
  const std::unique_ptr<llvm::MCSubtargetInfo> named(
      target->createMCSubtargetInfo(triple, cpu, ""));
  llvm::SubtargetFeatures besides;
  for (const llvm::SubtargetFeatureKV &feature : named->getAllProcessorFeatures()) {
    const auto at = found.find(feature.Key);
    if (at != found.end() && at->second != named->getFeatureBits()[feature.Value])
      besides.AddFeature(feature.Key, at->second);
  }
  return besides;
}

std::unique_ptr<llvm::TargetMachine> targetMachineOf(llvm::orc::JITTargetMachineBuilder builder) {
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return orAbort(builder.createTargetMachine());
}

std::unique_ptr<LoadedCode> load(std::unique_ptr<llvm::MemoryBuffer> object) {
  Session &session = Session::instance();
  const std::string name = "program" + std::to_string(session.programs++);
  llvm::orc::JITDylib &dylib = orAbort(session.jit->createJITDylib(name));
  dylib.addToLinkOrder(session.jit->getMainJITDylib());
  orAbort(session.jit->addObjectFile(dylib, std::move(object)));
  return std::make_unique<OrcCode>(dylib, *session.jit);
}

} // namespace imbrex::host
