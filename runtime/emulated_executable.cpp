#include "runtime/emulated_executable.h"

#include "backend/analysis/assumptions.h"
#include "backend/compile.h"
#include "backend/emulate/emulate.h"

#include <algorithm>
#include <list>
#include <mutex>

namespace imbrex::runtime {
namespace {

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
    const auto found = std::ranges::find_if(
        variants_, [&](const Variant &variant) { return kept.cover(variant.assumptions); });
    if (found != variants_.end()) return found->program.get();
    Variant variant{.assumptions = kept, .kernel = kernel_.clone(), .program = {}};
    variant.program = compile(variant, diagnostics);
    if (variant.program == nullptr) return nullptr;
    return variants_.emplace_back(std::move(variant)).program.get();
  }

private:
  std::unique_ptr<emulate::Program> compile(Variant &variant, Diagnostics &diagnostics) const {
    const auto code = compileForGpu(variant.kernel, target_, variant.assumptions, diagnostics);
    if (!code) return nullptr;
    return emulate::Program::compile(*code->module, target_.machine(), code->interface,
                                     diagnostics);
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
