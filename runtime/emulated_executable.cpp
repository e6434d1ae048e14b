#include "runtime/emulated_executable.h"

#include "backend/analysis/assumptions.h"
#include "backend/emulate/emulate.h"
#include "backend/lower/lower.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/IR/LLVMContext.h"

#include <algorithm>
#include <list>
#include <mutex>

namespace imbrex::runtime {
namespace {

/// A parameter's words have its name, which reports quote.
void nameArguments(const ir::Kernel &kernel, const lower::KernelInterface &interface,
                   llvm::Function &function) {
  for (std::size_t i = 0; i < interface.words.size(); ++i) {
    const lower::Word &word = interface.words[i];
    if (word.kind == lower::WordKind::Observations) continue;
    function.getArg(static_cast<unsigned>(i))
        ->setName(kernel.parameterName(static_cast<std::size_t>(word.parameter)));
  }
}

/// The code for launches that keep some assumptions. The program names ops of the kernel.
struct Variant {
  analysis::Assumptions assumptions;
  ir::Kernel kernel;
  std::unique_ptr<emulate::Program> program;
};

class EmulatedExecutable : public Executable {
public:
  EmulatedExecutable(ir::Kernel kernel, const machine::Machine &machine)
      : kernel_(std::move(kernel)), target_(target::gpuTarget(machine)) {}

  bool run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics,
           const RunOptions &options) const override {
    const emulate::Program *program =
        programFor(analysis::assumptionsOf(kernel_, arguments), diagnostics);
    if (program == nullptr) return false;
    emulate::Options how;
    how.seed = options.seed;
    how.counters = options.counters;
    return program->run(grid, arguments, how, diagnostics);
  }

  /// The code for launches of which this holds; null, and errors reported, where there is none.
  const emulate::Program *programFor(const analysis::Assumptions &kept,
                                     Diagnostics &diagnostics) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(variants_, kept, &Variant::assumptions);
    if (found != variants_.end()) return found->program.get();
    Variant variant{.assumptions = kept, .kernel = kernel_.clone(), .program = {}};
    variant.program = compile(variant, diagnostics);
    if (variant.program == nullptr) return nullptr;
    return variants_.emplace_back(std::move(variant)).program.get();
  }

private:
  std::unique_ptr<emulate::Program> compile(Variant &variant, Diagnostics &diagnostics) const {
    ir::Kernel &kernel = variant.kernel;
    if (!runPasses(kernel, gpuPipeline(), {diagnostics, target_.machine(), variant.assumptions}))
      return nullptr;
    llvm::LLVMContext context;
    llvm::Module module(kernel.name(), context);
    target_.prepare(module);
    const lower::KernelInterface interface =
        lower::lowerKernel(kernel, target_.vocabulary(), variant.assumptions, module);
    target_.optimise(module);
    nameArguments(kernel, interface, *module.getFunction(interface.name));
    return emulate::Program::compile(module, target_.machine(), interface, diagnostics);
  }

  ir::Kernel kernel_; // of any stage
  const target::GpuTarget &target_;
  mutable std::mutex mutex_; // of `variants_`
  mutable std::list<Variant> variants_;
};

} // namespace

std::shared_ptr<const Executable> makeEmulatedExecutable(ir::Kernel kernel,
                                                         const machine::Machine &machine,
                                                         Diagnostics &diagnostics) {
  const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
  auto executable = std::make_shared<EmulatedExecutable>(std::move(kernel), machine);
  return executable->programFor(usual, diagnostics) != nullptr ? executable : nullptr;
}

} // namespace imbrex::runtime
