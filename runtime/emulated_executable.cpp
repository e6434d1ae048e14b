#include "runtime/emulated_executable.h"

#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/target/codegen/llvm_use.h"
#include "runtime/gpu/staged_arrays.h"
#include "runtime/grid_limits.h"
#include "runtime/spill_notice.h"
#include "runtime/variants.h"

namespace imbrex::runtime {
namespace {

class EmulatedExecutable : public Executable {
public:
  EmulatedExecutable(ir::Kernel kernel, const machine::Machine &machine)
      : target_(target::gpuTarget(machine)),
        variants_(std::move(kernel), "emulated:" + std::string(machine.name)) {}

  /// What the launch keeps, or, where none is known, most launches do.
  analysis::Assumptions keptBy(llvm::ArrayRef<ir::Argument> launch) const {
    return wanted(launch.empty() ? variants_.usual() : variants_.assumptionsOf(launch));
  }

  /// The code for launches of which this holds; null, and errors reported, where there is none.
  const emulate::EmulatedProgram *programFor(const analysis::Assumptions &kept,
                                             Diagnostics &diagnostics) const {
    return variants_.find(
        kept,
        [&](ir::Kernel &kernel,
            const analysis::Assumptions &assumptions) -> std::unique_ptr<emulate::EmulatedProgram> {
          const target::LlvmUse use({target_.machine().family, machine::Family::Cpu});
          if (!use.isPossible(kernel.name(), diagnostics)) return nullptr;
          const auto code = compileForGpu(kernel, target_, assumptions, diagnostics);
          if (!code) return nullptr;
          // To know, the GPU's own code is made, which nothing here runs: for authors who care.
          const ir::KernelAttrs &asked = code->interface.asked;
          if (asked.warps > 0 || asked.registers > 0) spillNotice_.tellOf(*code, target_);
          return emulate::EmulatedProgram::compile(*code->copy(), target_.machine(),
                                                   code->interface, diagnostics);
        });
  }

private:
  bool execute(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
               Diagnostics &diagnostics, const RunOptions &options) const override {
    if (const auto wrong = checkSizes(arguments, options.where))
      return diagnostics.add(*wrong), false;
    const emulate::EmulatedProgram *program =
        programFor(wanted(variants_.assumptionsOf(arguments)), diagnostics);
    if (program == nullptr) return false;
    if (const auto wrong = checkGrid(grid, target_.machine(), program->threads(), options.where))
      return diagnostics.add(*wrong), false;
    if (const auto wrong =
            checkClusters(grid, variants_.kernel().attributes().cluster, options.where))
      return diagnostics.add(*wrong), false;
    return program->run(grid, arguments, options.emulated, diagnostics);
  }

  /// A bare pointer is refused as by a GPU, of whose own memory there is none here: what runs here
  /// is to run there, and nobody could say where such an argument ends.
  std::optional<Diagnostic> checkSizes(llvm::ArrayRef<ir::Argument> arguments,
                                       Location where) const {
    const ir::Kernel &kernel = variants_.kernel();
    const auto isStaged = [](const ir::Argument &piece) { return piece.data != nullptr; };
    const auto name = gpu::parameterWithoutSize(kernel, gpu::regionsOf(kernel, arguments, isStaged),
                                                arguments, isStaged);
    if (!name) return std::nullopt;
    return diagnostic(Diag::UnsizedArgument, where, *name,
                      "emulated:" + std::string(target_.machine().name));
  }

  /// No other code for what makes no difference to it.
  analysis::Assumptions wanted(analysis::Assumptions of) const {
    return target_.machine().asyncCopies.haveEngine ? std::move(of)
                                                    : analysis::withoutBoxes(std::move(of));
  }

  const target::GpuTarget &target_;
  mutable Variants<emulate::EmulatedProgram> variants_;
  SpillNotice spillNotice_;
};

} // namespace

std::shared_ptr<const Executable> makeEmulatedExecutable(ir::Kernel kernel,
                                                         const machine::Machine &machine,
                                                         Diagnostics &diagnostics,
                                                         llvm::ArrayRef<ir::Argument> launch) {
  auto executable = std::make_shared<EmulatedExecutable>(std::move(kernel), machine);
  const bool isMade = executable->programFor(executable->keptBy(launch), diagnostics) != nullptr;
  return isMade ? executable : nullptr;
}

} // namespace imbrex::runtime
