#include "backend/compile.h"

#include "backend/lower/lower.h"
#include "backend/lower/memory/shared_memory.h"
#include "backend/lower/values/inline_assembly.h"
#include "backend/passes/layouts/assign_layouts.h"
#include "backend/passes/pipeline/check_boxes.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/pipeline.h"
#include "backend/spills.h"
#include "backend/validate/access_order.h"
#include "backend/validate/exchange_order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <array>

namespace imbrex {
namespace {

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

/// A piece of code on its way to assembly.
struct Assembling {
  const GpuCode &code;
  const target::GpuTarget &target;
  llvm::function_ref<std::unique_ptr<llvm::Module>()> moduleOfCode; ///< To be used up.
  std::unique_ptr<llvm::Module> module = {};
  std::vector<RequiredAccess> asked = {};
  std::string text = {};

  std::string_view machine() const { return target.machine().name; }
};

/// A row of a table: what `--time` calls it, several by one name, and what it does.
template <class State, class Outcome>
struct TimedStep {
  std::string_view stage;
  Outcome (*run)(State &);
};

void addTime(StageTimes *times, std::string_view stage, std::chrono::nanoseconds took) {
  if (times == nullptr) return;
  if (times->empty() || times->back().stage != stage) times->push_back({stage, {}});
  times->back().took += took;
}

/// One after the other, up to the first that fails. What the last one that was run says.
template <class State, class Outcome, std::size_t N>
Outcome runSteps(const std::array<TimedStep<State, Outcome>, N> &steps, State &state,
                 StageTimes *times) {
  for (std::size_t i = 0;; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome = steps[i].run(state);
    addTime(times, steps[i].stage, std::chrono::steady_clock::now() - start);
    if (!outcome || i + 1 == N) return outcome;
  }
}

// --- from a kernel to code ---

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

// --- from code to assembly ---

/// Threads hand each other elements in order, in what LLVM's optimiser has left.
Result<void> checkExchanges(Assembling &of) {
  const auto race = exchangeRaceIn(*of.code.module, of.target);
  if (!race) return {};
  return fail(Diag::CodeUnordered, {}, of.code.interface.name, of.machine(), *race);
}

Result<void> generate(Assembling &of) {
  of.module = of.moduleOfCode();
  of.asked = assignAccessNumbers(*of.module, of.target);
  auto text = of.target.assembly(*of.module);
  if (!text && text.error().kind == Diag::RegistersRanOut)
    return fail(Diag::RegistersRanOut, of.code.interface.where, of.code.interface.name,
                of.machine(), moreRegisters(of.code.interface, of.target.machine()));
  if (!text) return text.failure();
  of.text = *std::move(text);
  return {};
}

/// The text orders memory as its module asks.
Result<void> compareAccesses(Assembling &of) {
  const auto difference = differenceFrom(of.asked, of.target.accessesOf(of.text));
  if (!difference) return {};
  return fail(Diag::CodeUnlikeOrder, difference->where, of.code.interface.name, of.machine(),
              difference->what);
}

/// A programmatic launch's kernel leaves memory alone until it has waited.
Result<void> compareWait(Assembling &of) {
  if (!of.code.interface.asked.programmatic) return {};
  const llvm::StringRef early = of.target.touchedBeforeWait(of.text);
  if (early.empty()) return {};
  return fail(Diag::CodeUnlikeOrder, of.code.interface.where, of.code.interface.name, of.machine(),
              "'" + early.str() + "' stands before the wait for the launch in front");
}

/// The text does to rings what was proven.
Result<void> compareRings(Assembling &of) {
  if (of.code.rings.steps.empty()) return {};
  return checkRings(of.code.rings, of.target.ringsOf(of.text), of.code.interface.name,
                    of.machine());
}

constexpr auto kToAssembly = std::to_array<TimedStep<Assembling, Result<void>>>({
    {"order", checkExchanges},
    {"generate", generate},
    {"compare", compareAccesses},
    {"compare", compareWait},
    {"compare", compareRings},
});

Result<std::string> assemblyOf(Assembling of, StageTimes *times) {
  if (const auto made = runSteps(kToAssembly, of, times); !made) return made.failure();
  return std::move(of.text);
}

/// The uses of each value as a copy has them, in the order of the code: what LLVM's passes find in
/// another order they may put into other code.
void orderUses(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      for (llvm::Use &use : instruction.operands()) use.set(use.get());
}

/// The module itself, as GpuCode::copy would be.
std::unique_ptr<llvm::Module> taken(GpuCode &code) {
  orderUses(*code.module);
  lower::SharedMemory::placeAtLaunch(*code.module);
  return std::move(code.module);
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
  Compilation of{
      .kernel = kernel, .target = target, .assumptions = assumptions, .diagnostics = diagnostics};
  auto requirements = analysis::launchRequirements(kernel);
  StageTimes taken;
  const bool isDone = runSteps(kToCode, of, &taken);
  if (times != nullptr) {
    // What schedules loops is told apart.
    taken.front().took -= of.planning;
    taken.insert(taken.begin() + 1, {"plan", of.planning});
    llvm::append_range(*times, taken);
  }
  if (!isDone) return std::nullopt;
  of.code.requirements = std::move(requirements);
  return std::move(of.code);
}

Result<std::string> makeAssembly(const GpuCode &code, const target::GpuTarget &target,
                                 StageTimes *times) {
  const auto module = [&] { return code.copy(); };
  return assemblyOf({.code = code, .target = target, .moduleOfCode = module}, times);
}

Result<std::string> makeAssemblyInPlace(GpuCode &code, const target::GpuTarget &target,
                                        StageTimes *times) {
  const auto module = [&] { return taken(code); };
  return assemblyOf({.code = code, .target = target, .moduleOfCode = module}, times);
}

Result<target::ObjectCode> makeObject(const std::string &assembly, const target::GpuTarget &target,
                                      StageTimes *times) {
  const auto start = std::chrono::steady_clock::now();
  auto object = target.objectOf(assembly);
  addTime(times, "assemble", std::chrono::steady_clock::now() - start);
  return object;
}

const target::GpuTarget *gpuTargetOf(const machine::Machine &machine, Diagnostics &diagnostics) {
  const target::GpuTarget *target = target::findGpuTarget(machine);
  if (target == nullptr) diagnostics.report(Diag::NoGpuCode, {}, machine.name);
  return target;
}

} // namespace imbrex
