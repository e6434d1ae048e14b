#include "backend/compile.h"

#include "backend/lower/lower.h"
#include "backend/pipeline.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace imbrex {
namespace {

/// Measures one stage after the other.
class Stopwatch {
public:
  explicit Stopwatch(StageTimes *times) : times_(times) {}
  void lap(std::string_view stage) {
    const auto now = std::chrono::steady_clock::now();
    if (times_ != nullptr) times_->push_back({stage, now - start_});
    start_ = now;
  }

private:
  StageTimes *times_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Instructions of the author's must be for this machine, and what is said of their operands must
/// have LLVM's form; the instructions themselves only the assembler can judge.
bool hasValidAssembly(const ir::Kernel &kernel, const machine::Machine &machine,
                      Diagnostics &diagnostics) {
  bool isValid = true;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::InlineAsm) return;
    const auto &attrs = op.attrs<ir::AsmAttrs>();
    const bool isForeign = attrs.target != machine.name;
    const auto constraints = llvm::InlineAsm::ParseConstraints(attrs.constraints);
    const bool isBad = constraints.empty() && !attrs.constraints.empty();
    if (isForeign)
      diagnostics.report(Diag::ForeignAssembly, op.where, attrs.target, machine.name);
    else if (isBad)
      diagnostics.report(Diag::BadAssembly, op.where, "'" + attrs.constraints + "'");
    isValid &= !isForeign && !isBad;
  });
  return isValid;
}

} // namespace

std::unique_ptr<llvm::Module> GpuCode::copy() const { return llvm::CloneModule(*module); }

std::optional<GpuCode> compileForGpu(ir::Kernel &kernel, const target::GpuTarget &target,
                                     const analysis::Assumptions &assumptions,
                                     Diagnostics &diagnostics, StageTimes *times) {
  Stopwatch watch(times);
  if (!runPasses(kernel, gpuPipeline(), {diagnostics, target.machine(), assumptions}))
    return std::nullopt;
  if (!hasValidAssembly(kernel, target.machine(), diagnostics)) return std::nullopt;
  watch.lap("passes");
  GpuCode code{.context = std::make_unique<llvm::LLVMContext>(), .module = {}, .interface = {}};
  code.module = std::make_unique<llvm::Module>(kernel.name(), *code.context);
  target.prepare(*code.module);
  code.interface = lower::lowerKernel(kernel, target.vocabulary(), assumptions, *code.module);
  watch.lap("lower");
  target.optimise(*code.module);
  watch.lap("optimise");
  return code;
}

const target::GpuTarget *gpuTargetOf(const machine::Machine &machine, Diagnostics &diagnostics) {
  const target::GpuTarget *target = target::findGpuTarget(machine);
  if (target == nullptr) diagnostics.report(Diag::NoGpuCode, {}, machine.name);
  return target;
}

} // namespace imbrex
