#include "runtime/emulated_executable.h"

#include "backend/emulate/emulate.h"
#include "backend/lower/lower.h"
#include "backend/target/gpu_target.h"
#include "llvm/IR/LLVMContext.h"
#include "runtime/promises.h"

#include <map>
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

class EmulatedExecutable : public Executable {
public:
  EmulatedExecutable(ir::Kernel kernel, const machine::Machine &machine)
      : kernel_(std::move(kernel)), target_(target::gpuTarget(machine)) {}

  bool run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics,
           const RunOptions &options) const override {
    const emulate::Program *program = programFor(promisesOf(kernel_, arguments), diagnostics);
    if (program == nullptr) return false;
    emulate::Options how;
    how.seed = options.seed;
    how.counters = options.counters;
    return program->run(grid, arguments, how, diagnostics);
  }

  /// The code for launches that keep these promises; null, and errors reported, where there is
  /// none.
  const emulate::Program *programFor(const lower::Promises &promises,
                                     Diagnostics &diagnostics) const {
    const std::scoped_lock lock(mutex_);
    auto &program = programs_[{promises.disjoint, promises.unitStrides}];
    if (!program) program = compile(promises, diagnostics);
    return program.get();
  }

private:
  std::unique_ptr<emulate::Program> compile(const lower::Promises &promises,
                                            Diagnostics &diagnostics) const {
    llvm::LLVMContext context;
    llvm::Module module(kernel_.name(), context);
    target_.prepare(module);
    const lower::KernelInterface interface =
        lower::lowerKernel(kernel_, target_.vocabulary(), promises, module);
    target_.optimise(module);
    nameArguments(kernel_, interface, *module.getFunction(interface.name));
    return emulate::Program::compile(module, target_.machine(), interface, diagnostics);
  }

  ir::Kernel kernel_;
  const target::GpuTarget &target_;
  mutable std::mutex mutex_; // of `programs_`
  mutable std::map<std::pair<bool, bool>, std::unique_ptr<emulate::Program>> programs_;
};

} // namespace

std::shared_ptr<const Executable> makeEmulatedExecutable(ir::Kernel kernel,
                                                         const machine::Machine &machine,
                                                         Diagnostics &diagnostics) {
  auto executable = std::make_shared<EmulatedExecutable>(std::move(kernel), machine);
  return executable->programFor({}, diagnostics) != nullptr ? executable : nullptr;
}

} // namespace imbrex::runtime
