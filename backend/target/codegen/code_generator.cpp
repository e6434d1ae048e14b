#include "backend/target/codegen/code_generator.h"

#include "backend/lower/values/inline_assembly.h"
#include "backend/support/lifetime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/PassInfo.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetOptions.h"

#include <memory>
#include <mutex>

namespace imbrex::target {
namespace {

/// An error of LLVM's.
struct CodegenError {
  std::string text = {};        ///< Empty: there was none.
  bool ofRegisters = false;     ///< There are too few of them.
  std::uint64_t assembly = 0;   ///< The `srcloc` of the author's instructions it is about; 0: none.
  std::string instruction = {}; ///< Of these the one it is about, where that is known.
};

CodegenError errorOf(const llvm::DiagnosticInfo &info) {
  CodegenError error;
  if (const auto *parsed = llvm::dyn_cast<llvm::DiagnosticInfoSrcMgr>(&info);
      parsed != nullptr && parsed->isInlineAsmDiag()) {
    error.assembly = parsed->getLocCookie();
    error.text = parsed->getSMDiag().getMessage();
    error.instruction = parsed->getSMDiag().getLineContents().trim();
    return error;
  }
  if (const auto *unfit = llvm::dyn_cast<llvm::DiagnosticInfoInlineAsm>(&info)) {
    error.assembly = unfit->getLocCookie();
    error.text = unfit->getMsgStr().str();
    return error;
  }
  llvm::raw_string_ostream stream(error.text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info.print(printer);
  // AMD's has a second one, of registers that whole warps use, of no kind of its own.
  error.ofRegisters = llvm::isa<llvm::DiagnosticInfoRegAllocFailure>(info) ||
                      llvm::StringRef(error.text).contains("cannot find enough VGPRs");
  return error;
}

/// Keeps the first error that LLVM reports while it lives; without it LLVM would end the process.
class ErrorScope {
public:
  explicit ErrorScope(llvm::LLVMContext &context)
      : context_(context), before_(context.getDiagnosticHandler()) {
    context.setDiagnosticHandler(std::make_unique<Handler>(first_));
  }
  ~ErrorScope() { context_.setDiagnosticHandler(std::move(before_)); }
  const CodegenError &first() const { return first_; }

private:
  class Handler final : public llvm::DiagnosticHandler {
  public:
    explicit Handler(CodegenError &first) : first_(first) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      if (info.getSeverity() == llvm::DS_Error && first_.text.empty()) first_ = errorOf(info);
      return true;
    }

  private:
    CodegenError &first_;
  };

  llvm::LLVMContext &context_;
  std::unique_ptr<llvm::DiagnosticHandler> before_;
  CodegenError first_;
};

/// The line of the call that has this number as `srcloc`; unknown where there is none.
Location lineOfAssembly(const llvm::Module &module, std::uint64_t number) {
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      const llvm::MDNode *node = instruction.getMetadata("srcloc");
      const llvm::DILocation *line = instruction.getDebugLoc();
      if (node == nullptr || line == nullptr) continue;
      if (llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0))->getZExtValue() != number)
        continue;
      llvm::SmallString<64> path(line->getDirectory());
      llvm::sys::path::append(path, line->getFilename());
      return {.file = internFileName(path.str()), .line = line->getLine()};
    }
  return {};
}

Failure<Diagnostic> refusalOf(const CodegenError &error, const llvm::Module &module,
                              const llvm::TargetMachine &machine) {
  if (error.assembly != 0)
    if (const Location where = lineOfAssembly(module, error.assembly); where.known())
      return lower::badAssembly(where, "LLVM",
                                {.words = error.text, .instruction = error.instruction});
  if (error.ofRegisters)
    return fail(Diag::RegistersRanOut, {}, std::string_view(module.getName()),
                machine.getTargetCPU().str(), "");
  return fail(Diag::CodeRefused, {}, "LLVM", machine.getTargetCPU().str(), error.text);
}

class OwnPass final : public llvm::MachineFunctionPass {
public:
  explicit OwnPass(const InsertedPass &own) : llvm::MachineFunctionPass(id), run_(own.run) {}
  bool runOnMachineFunction(llvm::MachineFunction &function) override { return run_(function); }

private:
  static inline char id = 0; // LLVM knows passes by where this lies
  bool (*run_)(llvm::MachineFunction &);
};

class OwnIrPass final : public llvm::FunctionPass {
public:
  explicit OwnIrPass(const ReplacingPass &own) : llvm::FunctionPass(id), run_(own.run) {}
  bool runOnFunction(llvm::Function &function) override { return run_(function); }

private:
  static inline char id = 0;
  bool (*run_)(llvm::Function &);
};

/// Passes of LLVM's that do nothing for our code, or harm it.
constexpr llvm::StringLiteral kLeftOut[] = {
    // They move a sum as far down as its use allows, past all loads: sink.h stands in their place.
    "sink", "machine-sink",
    // They follow a source's variables. Our code has the lines of one, and no variables.
    "livedebugvalues", "removeredundantdebugvalues"};
/// This one would run three times; the last finds what the others do.
constexpr llvm::StringLiteral kRepeated = "early-cse";
constexpr int kRunsTooMany = 2;

/// LLVM's passes with what we and a target change.
class CodegenPasses final : public llvm::legacy::PassManager {
public:
  explicit CodegenPasses(const PassChanges &changes) : changes_(changes) {}

  void add(llvm::Pass *pass) override {
    const llvm::PassInfo *info = llvm::Pass::lookupPassInfo(pass->getPassID());
    const llvm::StringRef name = info != nullptr ? info->getPassArgument() : "";
    if (const ReplacingPass *own = replacementOf(name)) {
      delete pass;
      llvm::legacy::PassManager::add(new OwnIrPass(*own));
      return;
    }
    if (isLeftOut(name)) {
      delete pass;
      return;
    }
    llvm::legacy::PassManager::add(pass);
    for (const InsertedPass &behind : changes_.inserted)
      if (name == behind.name) llvm::legacy::PassManager::add(new OwnPass(behind));
  }

private:
  bool isLeftOut(llvm::StringRef name) {
    return llvm::is_contained(kLeftOut, name) || llvm::is_contained(changes_.leftOut, name) ||
           (name == kRepeated && runs_++ < kRunsTooMany);
  }

  const ReplacingPass *replacementOf(llvm::StringRef name) const {
    const auto *found = llvm::find_if(changes_.replaced,
                                      [&](const ReplacingPass &own) { return name == own.name; });
    return found != changes_.replaced.end() ? found : nullptr;
  }

  const PassChanges &changes_;
  int runs_ = 0; // of kRepeated
};

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const machine::Machine &machine,
                                                       llvm::StringRef triple) {
  std::string problem;
  const llvm::Triple parsed(triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(parsed, problem);
  IMBREX_CHECK(target != nullptr, "LLVM has no target {0}: {1}", triple, problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The next level only repeats what the optimiser has done.
  std::unique_ptr<llvm::TargetMachine> made(
      target->createTargetMachine(parsed, machine.cpu, machine.features, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
  IMBREX_CHECK(made != nullptr, "LLVM has no machine {0}", machine.cpu);
  return made;
}

} // namespace

llvm::TargetMachine &targetMachineOf(const machine::Machine &machine, llvm::StringRef triple) {
  using Machines = llvm::StringMap<std::unique_ptr<llvm::TargetMachine>>;
  std::unique_ptr<llvm::TargetMachine> &slot = threadOwned<Machines>()[machine.name];
  if (slot == nullptr) slot = makeTargetMachine(machine, triple);
  return *slot;
}

std::shared_mutex &llvmOptions() {
  static std::shared_mutex mutex;
  return mutex;
}

Result<std::string> generate(llvm::Module &module, llvm::TargetMachine &machine,
                             llvm::CodeGenFileType type, const PassChanges &changes) {
  const std::shared_lock lock(llvmOptions());
  const ErrorScope errors(module.getContext());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  CodegenPasses passes(changes);
  const bool refused = machine.addPassesToEmitFile(passes, stream, nullptr, type);
  IMBREX_CHECK(!refused, "LLVM cannot write this kind of file for {0}",
               machine.getTargetTriple().str());
  passes.run(module);
  if (!errors.first().text.empty()) return refusalOf(errors.first(), module, machine);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace imbrex::target
