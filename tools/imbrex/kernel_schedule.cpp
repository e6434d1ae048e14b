#include "tools/imbrex/kernel_schedule.h"

#include "backend/analysis/assumptions.h"
#include "backend/compile.h"
#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/read_schedule.h"
#include "backend/pipeline.h"
#include "backend/schedule/program/channels.h"
#include "backend/spills.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace imbrex::tool {
namespace {

/// Loops of the kernel that somebody marked.
std::int32_t markedLoops(const ir::Kernel &kernel) {
  std::int32_t loops = 0;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    loops += op.kind == ir::OpKind::For && op.attrs<ir::ForAttrs>().pipelined != 0;
  });
  return loops;
}

/// What the passes have said of loops, in one line: "pipelined 'for' at …: as it is, for …".
std::string reasonsIn(const std::string &explanation) {
  std::string reasons;
  for (llvm::StringRef rest = explanation; !rest.empty();) {
    const auto [line, behind] = rest.split('\n');
    rest = behind;
    const bool isOfLoop = line.starts_with("pipelined 'for'") || line.contains("not run ahead") ||
                          line.contains("is not copied");
    if (isOfLoop) reasons += (reasons.empty() ? "" : "; ") + line.trim().str();
  }
  return reasons;
}

/// Which loop each number of trips is of; of several, that they are.
std::string aboutTrips(const schedule::Program &program) {
  std::string text;
  std::int32_t loops = 0;
  for (std::uint32_t t = 0; t < program.trips.size(); ++t) {
    const schedule::Trips &trips = program.trips[t];
    if (!isOfLoop(program, schedule::TripsId(t))) continue;
    text += trips.name + ": the trips of the loop at " + toText(trips.where) + "\n";
    ++loops;
  }
  if (loops < 2) return text;
  return "it has " + std::to_string(loops) + " numbers of trips, each of a loop:\n" + text;
}

std::string aboutRoles(const schedule::Program &program) {
  const bool areTwo = program.roles.size() > 1;
  const auto isSeveral = [](const schedule::Role &role) { return role.warps > 1; };
  if (!areTwo && program.roles.front().warps == 1)
    return "one warp stands for all: each uses only what is its own\n";
  if (llvm::any_of(program.roles, isSeveral))
    return "the two warps of '" + llvm::find_if(program.roles, isSeveral)->name +
           "' stand for all: what any two do to each other, these do\n";
  return "'" + program.roles[0].name + "' is the thread that starts loads for all, and '" +
         program.roles[1].name + "' stands for the others\n";
}

} // namespace

bool isOfLoop(const schedule::Program &program, schedule::TripsId trips) {
  bool isLoop = false;
  for (const schedule::Role &role : program.roles)
    schedule::forEachOp(role.body, [&](const schedule::ScheduleOp &op) {
      isLoop |= op.kind == schedule::ScheduleOpKind::For && op.trips == trips;
    });
  return isLoop;
}

std::optional<GivenSchedule> scheduleOf(ir::Kernel kernel, const machine::Machine &machine,
                                        Diagnostics &diagnostics, ScheduleFor what) {
  GivenSchedule given{.program = {}, .isOfKernel = true};
  const std::int32_t marked = markedLoops(kernel);
  passes::PassContext context(diagnostics, machine, analysis::usualAssumptions(kernel));
  context.explanation = &given.explanation;
  const auto instead = settleWarps(kernel, machine, context.assumptions);
  if (!runPasses(kernel, gpuPipelineFrom(kernel.stage()), context)) return std::nullopt;
  const bool multiplies =
      what == ScheduleFor::Timeline && passes::pipeline::multipliesInLoops(kernel);
  if (!passes::pipeline::hasRings(kernel) && !multiplies) {
    std::string why = reasonsIn(given.explanation);
    if (why.empty())
      why = marked > 0 ? "nothing of its loops runs ahead" : "none of its loops is to be pipelined";
    diagnostics.report(Diag::KernelWithoutSchedule, kernel.where(), kernel.name(), machine.name,
                       why);
    return std::nullopt;
  }
  auto read = passes::pipeline::readSchedule(kernel, machine, diagnostics,
                                             what == ScheduleFor::Proof
                                                 ? passes::pipeline::ReadFor::Proof
                                                 : passes::pipeline::ReadFor::Timeline);
  if (!read) return std::nullopt;
  given.program = std::move(read->program);
  given.dealt = passes::pipeline::dealtUnits(kernel, machine);
  given.about = "kernel '" + kernel.name() + "' on " + std::string(machine.name) + "\n" +
                (instead ? whyOthers(*instead) + "\n" : "") + aboutRoles(given.program) +
                aboutTrips(given.program);
  return given;
}

std::optional<GivenSchedule> readGivenSchedule(const std::string &path, const std::string &target,
                                               Diagnostics &diagnostics, ScheduleFor what) {
  // Whatever the file holds.
  const machine::Machine *machine =
      target.empty() ? nullptr : machine::gpuNamed(target, diagnostics);
  if (diagnostics.hasErrors()) return std::nullopt;
  auto read = readKernelOrSchedule(path, diagnostics);
  if (!read) return std::nullopt;
  if (read->schedule) return GivenSchedule{.program = *std::move(read->schedule)};
  if (machine == nullptr) {
    diagnostics.report(Diag::KernelWithoutTarget, read->kernel->where(), read->kernel->name());
    return std::nullopt;
  }
  return scheduleOf(*std::move(read->kernel), *machine, diagnostics, what);
}

} // namespace imbrex::tool
