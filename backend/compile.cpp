#include "backend/compile.h"

#include "backend/analysis/full_registers.h"
#include "backend/assembly.h"
#include "backend/lower/lower.h"
#include "backend/lower/values/inline_assembly.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/layouts/assign_layouts.h"
#include "backend/passes/layouts/layout_plan.h"
#include "backend/passes/pipeline/check_boxes.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/pipeline.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <limits>

namespace imbrex {
namespace {

/// What code is wanted.
struct Request {
  const target::GpuTarget &target;
  const analysis::Assumptions &assumptions;
  StageTimes *times;
};

/// A kernel on its way to a target's code, as far as it has come. A step that says false has
/// reported why.
struct Compilation {
  ir::Kernel &kernel;
  const target::GpuTarget &target;
  const analysis::Assumptions &assumptions;
  Diagnostics &diagnostics;
  std::chrono::nanoseconds planning{}; ///< Of the passes, those that schedule loops.
  std::optional<passes::pipeline::KernelSchedule> proven = {};
  GpuCode code = {};

  const machine::Machine &machine() const { return target.machine(); }
};

/// Instructions of the author's must be for this machine, and their operands must be there; the
/// instructions themselves only the assembler can judge.
bool hasValidAssembly(Compilation &of) {
  const ir::Kernel &kernel = of.kernel;
  bool isValid = true;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::InlineAsm) return;
    const auto &target = op.attrs<ir::AsmAttrs>().target;
    const bool isForeign = target != of.machine().name;
    const auto problem =
        isForeign ? std::nullopt : lower::assemblyProblem(kernel, op, of.target.assemblyClasses());
    if (isForeign)
      of.diagnostics.report(Diag::ForeignAssembly, op.where, target, of.machine().name);
    if (problem) of.diagnostics.report(Diag::BadAssembly, op.where, *problem);
    isValid &= !isForeign && !problem;
  });
  return isValid;
}

/// What LLVM does for a kernel grows faster than the square of its loops and ifs: a thousand loops
/// take seconds, five thousand minutes.
bool hasFewBodies(Compilation &of) {
  constexpr std::int64_t kMostBodies = 1024;
  std::int64_t count = 0;
  const ir::Op *beyond = nullptr;
  ir::walk(of.kernel.body(), [&](const ir::Op &op) {
    const bool hasBody =
        op.kind == ir::OpKind::For || op.kind == ir::OpKind::While || op.kind == ir::OpKind::If;
    if (hasBody && ++count == kMostBodies + 1) beyond = &op;
  });
  if (beyond == nullptr) return true;
  of.diagnostics.report(Diag::TooManyBodies, beyond->where, of.kernel.name(), count,
                        of.machine().name, kMostBodies);
  return false;
}

/// Bring a kernel to stage Scheduled: the table of pipeline.cpp. One that comes laid or scheduled,
/// from a file, has passed some of it, but perhaps for another machine.
bool runItsPasses(Compilation &of) {
  passes::PassContext context(of.diagnostics, of.machine(), of.assumptions);
  context.onPass = [&](std::string_view pass, std::chrono::nanoseconds took) {
    const auto isOne = [&](const Pass &one) { return one.name == pass; };
    if (llvm::any_of(gpuPipelineFrom(ir::Stage::Laid), isOne)) of.planning += took;
  };
  if (of.kernel.hasLayouts() && !passes::hasRoomFor(of.kernel, of.kernel.threads(), context))
    return false;
  return runPasses(of.kernel, gpuPipelineFrom(of.kernel.stage()), context);
}

/// "sm_90a, sm_100a": of whose launches it holds.
std::string machinesWhose(llvm::function_ref<bool(const machine::SpecialLaunches &)> holds) {
  std::string names;
  for (const machine::Machine &machine : machine::allMachines())
    if (holds(machine.launches)) names += (names.empty() ? "" : ", ") + std::string(machine.name);
  return names;
}

bool hasLaunchesOfMachine(Compilation &of) {
  const ir::Kernel &kernel = of.kernel;
  const machine::SpecialLaunches &there = of.machine().launches;
  const std::int64_t blocks = kernel.attributes().clusterBlocks();
  const bool hasProgrammatic = !kernel.attributes().programmatic || there.areProgrammatic;
  const auto lacks = [&](std::string_view what,
                         llvm::function_ref<bool(const machine::SpecialLaunches &)> holds) {
    of.diagnostics.report(Diag::LaunchOfMachine, kernel.where(), kernel.name(), what,
                          of.machine().name, machinesWhose(holds));
  };
  if (blocks > 1 && there.mostClusterBlocks == 1)
    lacks("cluster", [](const auto &launches) { return launches.mostClusterBlocks > 1; });
  else if (blocks > there.mostClusterBlocks)
    of.diagnostics.report(Diag::ClusterOfMachine, kernel.where(), kernel.name(), blocks,
                          of.machine().name, there.mostClusterBlocks);
  if (!hasProgrammatic)
    lacks("programmatic", [](const auto &launches) { return launches.areProgrammatic; });
  return blocks <= there.mostClusterBlocks && hasProgrammatic;
}

bool hasThreadsOfMachine(Compilation &of) {
  const layout::Threads threads = ir::threadsInAll(of.kernel);
  const machine::Machine &machine = of.machine();
  if (threads.lanes == machine.warpSize && threads.count() <= machine.maxThreads) return true;
  of.diagnostics.report(Diag::ForeignLayouts, of.kernel.where(), of.kernel.name(), threads.warps,
                        threads.lanes, machine.name, machine.warpSize, machine.maxThreads);
  return false;
}

bool hasBoxesOfMachine(Compilation &of) {
  return passes::pipeline::checkBoxes(of.kernel, of.machine(), of.assumptions, of.diagnostics);
}

bool areRingsProven(Compilation &of) {
  of.proven = passes::pipeline::proveRings(of.kernel, of.machine(), of.diagnostics);
  return of.proven.has_value();
}

bool lowerIt(Compilation &of) {
  of.code.context = std::make_unique<llvm::LLVMContext>();
  of.code.assumptions = of.assumptions;
  of.code.kernel = &of.kernel;
  auto lowered = lower::lowerKernel(of.kernel, of.target.vocabulary(), of.assumptions, [&] {
    auto module = std::make_unique<llvm::Module>(of.kernel.name(), *of.code.context);
    of.target.prepare(*module);
    return module;
  });
  if (!lowered) return of.diagnostics.add(lowered.error()), false;
  of.code.module = std::move(lowered->module);
  of.code.interface = std::move(lowered->interface);
  return true;
}

/// What assembly will be held to is made of the very program that was proven.
bool expectRings(Compilation &of) {
  of.code.rings = ringOrderOf(*of.proven, of.kernel, of.machine());
  return true;
}

bool optimise(Compilation &of) {
  of.target.optimise(*of.code.module);
  return true;
}

constexpr auto kToCode = std::to_array<TimedStep<Compilation, bool>>({
    {"passes", runItsPasses},
    {"check", hasLaunchesOfMachine},
    {"check", hasThreadsOfMachine},
    {"check", hasFewBodies},
    {"check", hasValidAssembly},
    {"check", hasBoxesOfMachine},
    {"check", areRingsProven},
    {"lower", lowerIt},
    {"lower", expectRings},
    {"optimise", optimise},
});

/// With the warps that the kernel asks for, or that its passes choose.
std::optional<GpuCode> compileOnce(const Request &request, ir::Kernel &kernel,
                                   Diagnostics &diagnostics) {
  Compilation of{.kernel = kernel,
                 .target = request.target,
                 .assumptions = request.assumptions,
                 .diagnostics = diagnostics};
  auto requirements = analysis::launchRequirements(kernel);
  StageTimes taken;
  const bool isDone = runSteps(kToCode, of, &taken);
  // What schedules loops is told apart.
  taken.front().took -= of.planning;
  taken.insert(taken.begin() + 1, {"plan", of.planning});
  for (const auto &[stage, took] : taken) addTime(request.times, stage, took);
  if (!isDone) return std::nullopt;
  of.code.requirements = std::move(requirements);
  return std::move(of.code);
}

// --- warps that have room in their registers ---

/// Whether the author leaves the warps to the compiler, and it can tell what they spill.
bool choosesWarps(const ir::Kernel &kernel, const target::GpuTarget &target) {
  return kernel.attributes().warps == 0 && !kernel.hasLayouts() && target.assemblesByItself();
}

/// Whether registers may be short. It saves those that only want the code, and no assembly, the
/// time that this takes.
bool isCrowded(const ir::Kernel &laid, const machine::Machine &machine) {
  const std::int32_t asked = laid.attributes().registers,
                     most = machine::registersOfThread(machine, laid.threads().count());
  return 2 * analysis::registersAtFullest(laid) >= (asked > 0 ? std::min(asked, most) : most);
}

/// Of code for which no assembly can be made without more registers.
constexpr std::int64_t kTooMany = std::numeric_limits<std::int64_t>::max();

/// None where there is no assembly for another reason.
std::optional<std::int64_t> spilledBy(GpuCode &code, const target::GpuTarget &target,
                                      StageTimes *times) {
  auto assembly = makeAssembly(code, target, times);
  if (!assembly && assembly.error().kind == Diag::RegistersRanOut) return kTooMany;
  if (!assembly) return std::nullopt;
  code.assembly = std::move(*assembly);
  return target.resourcesIn(code.assembly).spilledBytes;
}

/// The warps to try, one behind the other, where a thread of so many spills: twice as many again
/// and again, or, where no block can have these, half, if that gives it as many registers as it
/// lacks.
llvm::SmallVector<std::int32_t, 4> warpsBeside(std::int32_t warps, std::int64_t spilled,
                                               const ir::Kernel &kernel,
                                               const machine::Machine &machine) {
  llvm::SmallVector<std::int32_t, 4> others;
  const std::int32_t most = passes::layouts::mostWarps(kernel, machine);
  for (std::int32_t more = 2 * warps; more <= most; more *= 2) others.push_back(more);
  const auto bytes = [&](std::int32_t of) {
    constexpr std::int32_t kBytesOfRegister = 4;
    return kBytesOfRegister * machine::registersOfThread(machine, of * machine.warpSize);
  };
  if (others.empty() && warps > 1 && bytes(warps / 2) - bytes(warps) >= spilled)
    others.push_back(warps / 2);
  return others;
}

Spilling spillingOf(const ir::Kernel &laid, std::int64_t bytes) {
  Spilling of{.warps = laid.threads().warps, .bytes = {}};
  if (bytes != kTooMany) of.bytes = bytes;
  return of;
}

/// Compiles again with other warps, as long as threads then spill less.
void fitWarps(const Request &request, const ir::Kernel &given, ir::Kernel &kernel, GpuCode &code) {
  const auto first = spilledBy(code, request.target, request.times);
  if (first.value_or(0) == 0) return;
  const Spilling spilling = spillingOf(kernel, *first);
  code.triedOthers = true;
  std::int64_t least = *first;
  for (const std::int32_t warps :
       warpsBeside(spilling.warps, *first, given, request.target.machine())) {
    ir::Kernel other = given.clone();
    ir::KernelAttrs asked = given.attributes();
    asked.warps = warps;
    other.setAttributes(asked);
    Diagnostics unheard; // Where these cannot be, those that spill are taken.
    auto made = compileOnce(request, other, unheard);
    const auto spilled = made ? spilledBy(*made, request.target, request.times) : std::nullopt;
    if (!spilled || *spilled >= least) return;
    other.setAttributes(given.attributes());
    made->interface.asked = given.attributes();
    made->kernel = &kernel;
    made->triedOthers = true;
    made->spilling = spilling;
    kernel = std::move(other);
    std::swap(code, *made);
    least = *spilled;
    if (least == 0) return;
  }
}

} // namespace

std::optional<GpuCode> compileForGpu(ir::Kernel &kernel, const target::GpuTarget &target,
                                     const analysis::Assumptions &assumptions,
                                     Diagnostics &diagnostics, StageTimes *times) {
  const Request request{target, assumptions, times};
  if (!choosesWarps(kernel, target)) return compileOnce(request, kernel, diagnostics);
  const ir::Kernel given = kernel.clone();
  auto code = compileOnce(request, kernel, diagnostics);
  if (code && isCrowded(kernel, target.machine())) fitWarps(request, given, kernel, *code);
  return code;
}

std::optional<Spilling> settleWarps(ir::Kernel &kernel, const machine::Machine &machine,
                                    const analysis::Assumptions &assumptions) {
  const target::GpuTarget *target = target::findGpuTarget(machine);
  if (target == nullptr || !choosesWarps(kernel, *target)) return std::nullopt;
  ir::Kernel made = kernel.clone();
  Diagnostics unheard; // The passes will say the same.
  const auto code = compileForGpu(made, *target, assumptions, unheard);
  if (!code || !code->spilling) return std::nullopt;
  ir::KernelAttrs asked = kernel.attributes();
  asked.warps = made.threads().warps;
  kernel.setAttributes(asked);
  return code->spilling;
}

const target::GpuTarget *gpuTargetOf(const machine::Machine &machine, Diagnostics &diagnostics) {
  const target::GpuTarget *target = target::findGpuTarget(machine);
  if (target == nullptr) diagnostics.report(Diag::NoGpuCode, {}, machine.name);
  return target;
}

} // namespace imbrex
