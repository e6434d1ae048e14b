#include "backend/schedule/check/check.h"

#include "backend/machine/machine.h"
#include "backend/schedule/plan/budget.h"
#include "tools/imbrex/command.h"
#include "tools/imbrex/kernel_schedule.h"

#include <cstdio>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand checkOptions("check",
                            "Prove a schedule, or a kernel's, free of deadlocks and races");
cl::opt<std::string> file(cl::Positional, cl::desc("FILE.imx (- is standard input)"),
                          Of{checkOptions});
cl::opt<std::string> target("target", cl::value_desc("T"),
                            cl::desc("Hold memory, threads and registers against this machine too, "
                                     "one of `imbrex targets`; a kernel is compiled for it"),
                            Of{checkOptions});
Number minBlocks("min-blocks", cl::value_desc("n"), cl::init(1),
                 cl::desc("Blocks that share a core and its registers"), Of{checkOptions});

/// Of a target that the reader of the file has found.
bool checkTarget(const schedule::Program &program, Diagnostics &diagnostics) {
  if (target.empty()) {
    const bool isAlone = minBlocks.getNumOccurrences() > 0;
    if (isAlone) diagnostics.report(Diag::LonelyOption, {}, "--min-blocks", "--target");
    return !isAlone;
  }
  const machine::Machine &machine = *machine::findMachine(target.getValue());
  if (minBlocks < 1 || minBlocks > machine.maxBlocksPerCore) {
    diagnostics.report(Diag::BadOptionNumber, {}, "--min-blocks", 1, machine.maxBlocksPerCore,
                       minBlocks.getValue(),
                       "a core of " + std::string(machine.name) + " takes no more");
    return false;
  }
  return schedule::checkBudget(program, machine, minBlocks, diagnostics);
}

int check() {
  if (file.empty()) return reportMissingSchedule("check");
  Diagnostics diagnostics;
  const auto given = readGivenSchedule(file, target, diagnostics, ScheduleFor::Proof);
  bool ok = given.has_value();
  schedule::Verdict verdict;
  if (ok) {
    ok = checkTarget(given->program, diagnostics);
    verdict = schedule::prove(given->program);
    ok &= schedule::report(verdict, diagnostics);
  }
  const int code = conclude(ok, diagnostics);
  if (!ok) return code;
  std::printf("schedule '%s' is safe for all numbers of trips: %lld operations in %lld states\n",
              given->program.name.c_str(), static_cast<long long>(verdict.steps),
              static_cast<long long>(verdict.states));
  return code;
}

} // namespace

const Subcommand kCheck{&checkOptions, check};

} // namespace imbrex::tool
