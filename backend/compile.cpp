#include "backend/compile.h"

#include "backend/lower/lower.h"
#include "backend/lower/memory/shared_memory.h"
#include "backend/lower/values/inline_assembly.h"
#include "backend/passes/assign_layouts.h"
#include "backend/passes/pipeline/check_boxes.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/pipeline.h"
#include "backend/validate/access_order.h"
#include "backend/validate/exchange_order.h"
#include "llvm/ADT/STLExtras.h"
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
  /// The same, of which a known part is named apart.
  void lap(std::string_view stage, const StageTime &part) {
    lap(stage);
    if (times_ == nullptr) return;
    times_->back().took -= part.took;
    times_->push_back(part);
  }

private:
  StageTimes *times_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Instructions of the author's must be for this machine, and their operands must be there; the
/// instructions themselves only the assembler can judge.
bool hasValidAssembly(const ir::Kernel &kernel, const target::GpuTarget &gpu,
                      Diagnostics &diagnostics) {
  const machine::Machine &machine = gpu.machine();
  bool isValid = true;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::InlineAsm) return;
    const auto &target = op.attrs<ir::AsmAttrs>().target;
    const bool isForeign = target != machine.name;
    const auto problem =
        isForeign ? std::nullopt : lower::assemblyProblem(kernel, op, gpu.assemblyClasses());
    if (isForeign) diagnostics.report(Diag::ForeignAssembly, op.where, target, machine.name);
    if (problem) diagnostics.report(Diag::BadAssembly, op.where, *problem);
    isValid &= !isForeign && !problem;
  });
  return isValid;
}

/// What LLVM does for a kernel grows faster than the square of its loops and ifs: a thousand loops
/// take seconds, five thousand minutes.
bool hasFewBodies(const ir::Kernel &kernel, const machine::Machine &machine,
                  Diagnostics &diagnostics) {
  constexpr std::int64_t kMostBodies = 1024;
  std::int64_t count = 0;
  const ir::Op *beyond = nullptr;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    const bool hasBody =
        op.kind == ir::OpKind::For || op.kind == ir::OpKind::While || op.kind == ir::OpKind::If;
    if (hasBody && ++count == kMostBodies + 1) beyond = &op;
  });
  if (beyond == nullptr) return true;
  diagnostics.report(Diag::TooManyBodies, beyond->where, kernel.name(), count, machine.name,
                     kMostBodies);
  return false;
}

/// Bring a kernel to stage Laid, its loops pipelined. One that comes so, from a file, has passed
/// the pipeline, but perhaps for another machine.
bool layOut(ir::Kernel &kernel, const machine::Machine &machine,
            const analysis::Assumptions &assumptions, Diagnostics &diagnostics, Stopwatch &watch) {
  const bool isLaid = kernel.stage() == ir::Stage::Laid;
  passes::PassContext context(diagnostics, machine, assumptions);
  std::chrono::nanoseconds planning{};
  context.onPass = [&](std::string_view pass, std::chrono::nanoseconds took) {
    const auto isOne = [&](const Pass &one) { return one.name == pass; };
    if (llvm::any_of(laidPipeline(), isOne)) planning += took;
  };
  if (isLaid && !passes::hasRoomFor(kernel, kernel.threads(), context)) return false;
  if (!runPasses(kernel, isLaid ? laidPipeline() : gpuPipeline(), context)) return false;
  watch.lap("passes", {"plan", planning});
  const layout::Threads threads = ir::threadsInAll(kernel);
  if (threads.lanes == machine.warpSize && threads.count() <= machine.maxThreads) return true;
  diagnostics.report(Diag::ForeignLayouts, kernel.where(), kernel.name(), threads.warps,
                     threads.lanes, machine.name, machine.warpSize, machine.maxThreads);
  return false;
}

} // namespace

std::unique_ptr<llvm::Module> GpuCode::copy() const {
  auto copied = llvm::CloneModule(*module);
  lower::SharedMemory::placeAtLaunch(*copied);
  return copied;
}

std::optional<GpuCode> compileForGpu(ir::Kernel &kernel, const target::GpuTarget &target,
                                     const analysis::Assumptions &assumptions,
                                     Diagnostics &diagnostics, StageTimes *times) {
  Stopwatch watch(times);
  if (!layOut(kernel, target.machine(), assumptions, diagnostics, watch)) return std::nullopt;
  if (!hasFewBodies(kernel, target.machine(), diagnostics)) return std::nullopt;
  if (!hasValidAssembly(kernel, target, diagnostics)) return std::nullopt;
  if (!passes::pipeline::checkBoxes(kernel, target.machine(), assumptions, diagnostics))
    return std::nullopt;
  const auto proven = passes::pipeline::proveRings(kernel, target.machine(), diagnostics);
  if (!proven) return std::nullopt;
  watch.lap("check");
  GpuCode code{.context = std::make_unique<llvm::LLVMContext>(),
               .module = {},
               .interface = {},
               .assumptions = assumptions,
               .rings = {}};
  auto lowered = lower::lowerKernel(kernel, target.vocabulary(), assumptions, [&] {
    auto module = std::make_unique<llvm::Module>(kernel.name(), *code.context);
    target.prepare(*module);
    return module;
  });
  if (!lowered) return diagnostics.add(lowered.error()), std::nullopt;
  code.module = std::move(lowered->module);
  code.interface = std::move(lowered->interface);
  code.rings = ringOrderOf(*proven, kernel, target.machine());
  watch.lap("lower");
  target.optimise(*code.module);
  watch.lap("optimise");
  return code;
}

namespace {

Result<void> checkOrder(const GpuCode &code, const target::GpuTarget &target) {
  const auto disorder = exchangeRaceIn(*code.module, target);
  if (!disorder) return {};
  return fail(Diag::CodeUnordered, {}, code.interface.name, target.machine().name, *disorder);
}

/// Whether a text orders memory as its module asks, and does to rings what was proven.
Result<void> checkAssembly(const GpuCode &code, llvm::ArrayRef<RequiredAccess> asked,
                           const target::GpuTarget &target, const std::string &text) {
  const std::string_view machine = target.machine().name;
  if (const auto difference = differenceFrom(asked, target.accessesOf(text)))
    return fail(Diag::CodeUnlikeOrder, difference->where, code.interface.name, machine,
                difference->what);
  if (code.rings.steps.empty()) return {};
  return checkRings(code.rings, target.ringsOf(text), code.interface.name, machine);
}

} // namespace

Result<std::string> makeAssembly(const GpuCode &code, const target::GpuTarget &target,
                                 StageTimes *times) {
  Stopwatch watch(times);
  if (const auto ordered = checkOrder(code, target); !ordered) return ordered.failure();
  watch.lap("order");
  const auto module = code.copy();
  const std::vector<RequiredAccess> asked = numberAccesses(*module, target);
  auto text = target.assembly(*module);
  watch.lap("generate");
  if (!text) return text;
  const auto checked = checkAssembly(code, asked, target, *text);
  watch.lap("compare");
  if (!checked) return checked.failure();
  return text;
}

Result<target::ObjectCode> makeObject(const std::string &assembly, const target::GpuTarget &target,
                                      StageTimes *times) {
  Stopwatch watch(times);
  auto object = target.objectOf(assembly);
  watch.lap("assemble");
  return object;
}

const target::GpuTarget *gpuTargetOf(const machine::Machine &machine, Diagnostics &diagnostics) {
  const target::GpuTarget *target = target::findGpuTarget(machine);
  if (target == nullptr) diagnostics.report(Diag::NoGpuCode, {}, machine.name);
  return target;
}

} // namespace imbrex
