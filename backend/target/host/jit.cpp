#include "backend/target/host/jit.h"

#include "backend/support/check.h"
#include "backend/support/environment.h"
#include "backend/support/file_name.h"
#include "backend/target/host/runtime_calls.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>

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

/// All of LLVM that outlives a compilation. Compilations take turns: a target machine serves one.
class Session {
public:
  static Session &instance() {
    static Session session;
    return session;
  }

  std::mutex mutex;
  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Machine machine;
  std::atomic<int> programs = 0;

private:
  Session() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser(); // for inline_asm
    auto builder = orAbort(llvm::orc::JITTargetMachineBuilder::detectHost());
    builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    target = orAbort(builder.createTargetMachine());
    machine = describe(*target);
    jit =
        orAbort(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(builder)).create());
    defineRuntimeCalls();
  }

  static Machine describe(const llvm::TargetMachine &target) {
    const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    const llvm::Triple &triple = target.getTargetTriple();
    Machine machine;
    machine.name = "host-" + triple.getArchName().str();
    // AVX-512 as every CPU since Skylake-X has it: the byte and word forms, and short vectors.
    const bool avx512 =
        features.lookup("avx512bw") && features.lookup("avx512vl") && features.lookup("avx512dq");
    machine.hasRange = avx512;
    if (avx512)
      machine.vectors = {.bits = 512, .registers = 32};
    else if (features.lookup("avx2"))
      machine.vectors = {.bits = 256, .registers = 16};
    else
      machine.vectors = {.bits = 128, .registers = triple.isAArch64() ? 32 : 16};
    return machine;
  }

  void defineRuntimeCalls() {
    llvm::orc::SymbolMap symbols;
    for (const RuntimeCall &call : runtimeCalls())
      symbols[jit->mangleAndIntern(call.name)] = {llvm::orc::ExecutorAddr::fromPtr(call.address),
                                                  llvm::JITSymbolFlags::Exported};
    orAbort(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }
};

/// The few passes that pay: our code is already in the shape that we want, but keeps what it
/// carries in allocas and recomputes addresses.
void optimise(llvm::Module &module, llvm::TargetMachine &target) {
  llvm::PassBuilder builder(&target);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

std::unique_ptr<llvm::MemoryBuffer> generate(llvm::Module &module, llvm::TargetMachine &target,
                                             llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const bool refused = target.addPassesToEmitFile(passes, stream, nullptr, type);
  IMBREX_CHECK(!refused, "this target cannot write object code");
  passes.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), module.getName(), false);
}

/// NAME, NAME-2, …: where this module is dumped, one name per compilation.
std::filesystem::path dumpStem(const llvm::Module &module) {
  static std::mutex mutex;
  static std::map<std::string, int> dumped;
  const std::filesystem::path folder = environment().dump;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const std::lock_guard lock(mutex);
  const std::string name = fileNameFor(std::string_view(module.getName()));
  const int count = ++dumped[name];
  return folder / (name + (count == 1 ? "" : "-" + std::to_string(count)));
}

void dump(const llvm::Module &module, const std::filesystem::path &stem) {
  std::error_code error;
  llvm::raw_fd_ostream file(stem.string() + ".ll", error);
  if (!error) module.print(file, nullptr);
}

// Code generation consumes a module, so that the listing is made of a copy.
void dumpAssembly(const llvm::Module &module, llvm::TargetMachine &target,
                  const std::filesystem::path &stem) {
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  std::error_code error;
  llvm::raw_fd_ostream file(stem.string() + ".s", error);
  if (!error) file << generate(*copy, target, llvm::CodeGenFileType::AssemblyFile)->getBuffer();
}

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

const Machine &machine() { return Session::instance().machine; }

void prepareModule(llvm::Module &module) {
  const llvm::TargetMachine &target = *Session::instance().target;
  module.setTargetTriple(target.getTargetTriple());
  module.setDataLayout(target.createDataLayout());
}

void compileForTrial(llvm::Module &module) {
  Session &session = Session::instance();
  const std::lock_guard lock(session.mutex);
  session.target->setOptLevel(llvm::CodeGenOptLevel::Default);
  generate(module, *session.target, llvm::CodeGenFileType::ObjectFile);
}

std::unique_ptr<LoadedCode> compileAndLoad(std::unique_ptr<llvm::Module> module,
                                           llvm::CodeGenOptLevel effort) {
  Session &session = Session::instance();
  const bool dumps = !environment().dump.empty();
  const std::filesystem::path stem = dumps ? dumpStem(*module) : std::filesystem::path();
  std::string problems;
  llvm::raw_string_ostream problemStream(problems);
  if (dumps) dump(*module, stem);
  const bool broken = llvm::verifyModule(*module, &problemStream);
  IMBREX_CHECK(!broken, "the host target made invalid LLVM IR: {0}", problems);

  std::unique_ptr<llvm::MemoryBuffer> object;
  {
    const std::lock_guard lock(session.mutex);
    optimise(*module, *session.target);
    session.target->setOptLevel(effort);
    if (dumps) dumpAssembly(*module, *session.target, stem);
    object = generate(*module, *session.target, llvm::CodeGenFileType::ObjectFile);
  }
  const std::string name = "program" + std::to_string(session.programs++);
  llvm::orc::JITDylib &dylib = orAbort(session.jit->createJITDylib(name));
  dylib.addToLinkOrder(session.jit->getMainJITDylib());
  orAbort(session.jit->addObjectFile(dylib, std::move(object)));
  return std::make_unique<OrcCode>(dylib, *session.jit);
}

} // namespace imbrex::host
