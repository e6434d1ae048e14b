#include "backend/schedule/plan/plan.h"

#include "backend/machine/machine.h"
#include "backend/schedule/check/check.h"
#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/program_text.h"
#include "tools/imbrex/command.h"
#include "tools/imbrex/kernel_schedule.h"
#include "tools/imbrex/trips.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand planOptions("plan", "Make a schedule of sequential work: roles, slots, and all that "
                                   "orders them; or write down that of a kernel");
cl::opt<std::string> file(cl::Positional, cl::desc("FILE.imx (- is standard input)"),
                          Of{planOptions});
cl::opt<std::string> target("target", cl::value_desc("T"), cl::init("sm_90a"),
                            cl::desc("The machine whose room there is, one of `imbrex targets`"),
                            Of{planOptions});
cl::opt<std::string> loopName("loop", cl::value_desc("trips"),
                              cl::desc("The loop whose trips are to overlap"), Of{planOptions});
cl::list<std::string> tripTexts("trips", cl::CommaSeparated, cl::value_desc("k=8,tiles=2"),
                                cl::desc("How many trips the loops usually run"), Of{planOptions});
cl::list<std::string> signalling("signals", cl::CommaSeparated, cl::value_desc("queue"),
                                 cl::desc("Queues that can arrive at a barrier by themselves"),
                                 Of{planOptions});
Number slots("slots", cl::value_desc("n"), cl::desc("So many slots, and not as many as pay"),
             Of{planOptions});
Number warps("warps", cl::value_desc("n"),
             cl::desc("Warps of the role that computes, and not those of the work"),
             Of{planOptions});
cl::opt<bool> turns("turns", cl::desc("The warps that compute may do so in two groups by turns"),
                    Of{planOptions});
cl::opt<bool> registers("registers", cl::desc("Roles may change the number of their registers"),
                        Of{planOptions});
cl::opt<bool> explains("explain", cl::desc("Print why, as comments"), Of{planOptions});

/// The id of a name among a program's parts; an error where there is none.
template <class Id, class Parts>
Result<Id> named(const schedule::Program &program, const Parts &parts, const std::string &name,
                 Diag missing) {
  for (std::uint32_t i = 0; i < parts.size(); ++i)
    if (parts[i].name == name) return Id(i);
  return fail(missing, {}, program.name, name, listOf(parts));
}

/// Whether there is a plan for such a machine, and the numbers of the command line are some that a
/// plan can have.
Result<void> checkNumbers(const machine::Machine &machine) {
  const std::int32_t mostWarps = machine.maxThreads / machine.warpSize;
  if (warps.getNumOccurrences() > 0 && (warps < 1 || warps > mostWarps))
    return fail(Diag::BadOptionNumber, {}, "--warps", 1, mostWarps, warps.getValue(),
                "a block on " + std::string(machine.name) + " has no more");
  const schedule::Range depths = schedule::kSlots;
  if (slots.getNumOccurrences() > 0 && !depths.contains(slots))
    return fail(Diag::BadOptionNumber, {}, "--slots", depths.least, depths.most, slots.getValue(),
                "without it there are as many as pay");
  return {};
}

/// Whether the work leaves its order to the plan, if it can be planned at all.
Result<void> checkWork(const schedule::Program &work) {
  if (work.roles.size() != 1 || !work.rings.empty()) return {};
  Result<void> sound;
  schedule::forEachOp(work.roles.front().body, [&](const schedule::ScheduleOp &op) {
    constexpr std::uint16_t kWork = schedule::kAccesses | schedule::kLoop | schedule::kGuard;
    const bool isWork =
        (info(op.kind).fields & kWork) != 0 || op.kind == schedule::ScheduleOpKind::Commit;
    if (sound && !isWork) sound = fail(Diag::ScheduleOrderedWork, op.where, info(op.kind).mnemonic);
  });
  return sound;
}

/// The warps that compute: those of the work, unless the command line says how many.
std::int32_t warpsFor(const schedule::Program &work) {
  if (warps.getNumOccurrences() > 0 || work.roles.empty()) return warps;
  return work.roles.front().warps;
}

Result<schedule::PlanRequest> requestOf(const schedule::Program &work,
                                        const machine::Machine &machine) {
  if (const auto sound = checkNumbers(machine); !sound) return sound.failure();
  if (const auto sound = checkWork(work); !sound) return sound.failure();
  if (loopName.empty()) return fail(Diag::LonelyOption, {}, "'imbrex plan'", "--loop");
  const auto loop = named<schedule::TripsId>(work, work.trips, loopName, Diag::UnknownTrips);
  if (!loop) return loop.failure();
  auto counts = tripCounts(work, tripTexts);
  if (!counts) return counts.failure();
  schedule::PlanRequest request = {.machine = machine,
                                   .loop = *loop,
                                   .trips = std::move(*counts),
                                   .signals = std::vector<bool>(work.queues.size()),
                                   .warps = warpsFor(work),
                                   .turns = turns,
                                   .registers = registers};
  if (slots.getNumOccurrences() > 0) request.slots = slots;
  for (const std::string &name : signalling) {
    const auto queue = named<schedule::QueueId>(work, work.queues, name, Diag::UnknownQueue);
    if (!queue) return queue.failure();
    request.signals[queue->index()] = true;
  }
  return request;
}

/// A kernel says what it wants by itself.
bool hasNoOptions(const ir::Kernel &kernel, Diagnostics &diagnostics) {
  const auto given = std::to_array<std::pair<std::string_view, int>>(
      {{"--loop", loopName.getNumOccurrences()},
       {"--trips", tripTexts.getNumOccurrences()},
       {"--signals", signalling.getNumOccurrences()},
       {"--slots", slots.getNumOccurrences()},
       {"--warps", warps.getNumOccurrences()},
       {"--turns", turns.getNumOccurrences()},
       {"--registers", registers.getNumOccurrences()}});
  for (const auto &[option, times] : given)
    if (times > 0) {
      diagnostics.report(Diag::KernelOption, kernel.where(), option, kernel.name());
      return false;
    }
  return true;
}

/// Prints what a kernel's threads do when it is compiled.
bool write(ir::Kernel kernel, const machine::Machine &machine, Diagnostics &diagnostics) {
  if (!hasNoOptions(kernel, diagnostics)) return false;
  const auto given = scheduleOf(std::move(kernel), machine, diagnostics, ScheduleFor::Text);
  if (!given || !schedule::report(schedule::prove(given->program), diagnostics)) return false;
  std::fputs(asComments("// ", given->about).c_str(), stdout);
  if (explains) std::fputs(asComments("// ", given->explanation).c_str(), stdout);
  std::fputs(schedule::print(given->program).c_str(), stdout);
  return true;
}

bool make(Diagnostics &diagnostics) {
  auto read = readKernelOrSchedule(file, diagnostics, schedule::Completeness::WithoutBarriers);
  const machine::Machine *machine = machine::gpuNamed(target.getValue(), diagnostics);
  if (!read || !machine) return false;
  if (read->kernel) return write(*std::move(read->kernel), *machine, diagnostics);
  const auto &work = read->schedule;
  const auto request = requestOf(*work, *machine);
  if (!request) return diagnostics.add(request.error()), false;
  const auto plan = schedule::planSchedule(*work, *request, diagnostics);
  if (!plan) return false;
  // What is wrong with the work shows in the plan: then there is none to go on with.
  if (!schedule::report(schedule::prove(plan->program), diagnostics)) return false;
  if (explains) std::fputs(asComments("// ", schedule::explain(*plan, *request)).c_str(), stdout);
  std::fputs(schedule::print(plan->program).c_str(), stdout);
  return true;
}

int run() {
  if (file.empty()) return reportMissingSchedule("plan");
  Diagnostics diagnostics;
  const bool ok = make(diagnostics);
  return conclude(ok, diagnostics);
}

} // namespace

const Subcommand kPlan{.options = &planOptions, .run = run};

} // namespace imbrex::tool
