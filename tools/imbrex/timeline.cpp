#include "backend/schedule/timeline/timeline.h"

#include "backend/schedule/check/check.h"
#include "backend/schedule/timeline/blocks_of_core.h"
#include "backend/schedule/timeline/timeline_pictures.h"
#include "tools/imbrex/command.h"
#include "tools/imbrex/kernel_schedule.h"
#include "tools/imbrex/trips.h"

#include <algorithm>
#include <cstdio>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

enum class Format : std::uint8_t { Text, Svg, Perfetto, Mermaid };

cl::SubCommand timelineOptions("timeline",
                               "Show when everything in a schedule, or in a kernel's, happens");
cl::opt<std::string> file(cl::Positional, cl::desc("FILE.imx (- is standard input)"),
                          Of{timelineOptions});
cl::list<std::string> tripTexts("trips", cl::CommaSeparated, cl::value_desc("k=8,tiles=2"),
                                cl::desc("How many trips the loops run"), Of{timelineOptions});
cl::opt<std::string> target("target", cl::value_desc("T"),
                            cl::desc("The machine that a kernel is compiled for, one of `imbrex "
                                     "targets`"),
                            Of{timelineOptions});
Number blocks("blocks", cl::value_desc("n"),
              cl::desc("So many blocks that share a core (1 unless said)"), cl::init(1),
              Of{timelineOptions});
cl::opt<Format, false, NamedValueParser<Format>> format(
    "format", cl::desc("What to make of it (text unless said):"), cl::init(Format::Text),
    cl::values(clEnumValN(Format::Text, "text", "what limits the schedule, and who waits for what"),
               clEnumValN(Format::Svg, "svg", "a drawing"),
               clEnumValN(Format::Perfetto, "perfetto", "JSON for trace viewers"),
               clEnumValN(Format::Mermaid, "mermaid", "a sequence diagram")),
    Of{timelineOptions});
cl::opt<std::string> output("o", cl::value_desc("FILE"),
                            cl::desc("Write there, and not to standard output"), cl::init("-"),
                            Of{timelineOptions});

/// That a core of any machine holds: no more than warps.
std::int32_t mostBlocks() {
  std::int32_t most = 1;
  for (const machine::Machine &machine : machine::allMachines())
    most = std::max(most, machine.maxWarpsPerCore);
  return most;
}

/// The loops' intervals, each a line; an error for each that cannot be told. They are found with
/// more trips than were asked for, which takes nothing from what is said of those.
std::string intervalsOf(const schedule::Program &program, const std::vector<std::int32_t> &counts,
                        Diagnostics &diagnostics) {
  std::string text;
  for (std::uint32_t trips = 0; trips < counts.size(); ++trips) {
    const auto interval = schedule::initiationInterval(program, schedule::TripsId(trips), counts);
    if (interval)
      text += describe(program, schedule::TripsId(trips), *interval) + "\n";
    else
      diagnostics.add(interval.error());
  }
  return text;
}

Result<std::string> pictureOf(const schedule::Program &program,
                              const std::vector<std::int32_t> &counts, Diagnostics &diagnostics) {
  const auto timeline = schedule::simulate(program, counts);
  if (!timeline) return timeline.failure();
  switch (format) {
  case Format::Svg: return svgOf(program, *timeline);
  case Format::Perfetto: return traceOf(program, *timeline);
  case Format::Mermaid: return mermaidOf(program, *timeline);
  case Format::Text: break;
  }
  return summaryOf(program, *timeline) + intervalsOf(program, counts, diagnostics);
}

/// How often what a kernel does once or not at all is done: once, unless somebody says else.
std::vector<std::int32_t> otherwise(const GivenSchedule &given) {
  std::vector<std::int32_t> counts;
  for (std::uint32_t t = 0; given.isOfKernel && t < given.program.trips.size(); ++t)
    counts.push_back(isOfLoop(given.program, schedule::TripsId(t)) ? -1 : 1);
  return counts;
}

bool isTooLarge(const schedule::Verdict &verdict) {
  return !verdict.isSafe() && verdict.findings.front().what.kind == Diag::ScheduleTooLarge;
}

/// Whether the schedule is safe for these trips, since a timeline shows one of the ways that it can
/// go. Of more than one run can have, what is safe for all trips is so for these. What nobody can
/// tell is a warning: the timeline notices itself where it stops.
bool isSafe(const schedule::Program &program, const std::vector<std::int32_t> &counts,
            Diagnostics &diagnostics) {
  const schedule::Verdict run = schedule::checkAt(program, schedule::sameTrips(counts));
  if (!isTooLarge(run)) return schedule::report(run, diagnostics);
  if (!schedule::prove(program).isSafe())
    diagnostics.report(Diag::TimelineUnchecked, program.where, program.name,
                       run.findings.front().what.message);
  return true;
}

/// Whether it is written; else why not is reported.
bool show(Diagnostics &diagnostics) {
  const auto given = readGivenSchedule(file, target, diagnostics, ScheduleFor::Timeline);
  if (!given) return false;
  const schedule::Program &program = given->program;
  const auto counts = tripCounts(program, tripTexts, otherwise(*given));
  if (!counts) return diagnostics.add(counts.error()), false;
  if (!isSafe(program, *counts, diagnostics)) return false;
  auto picture = blocks == 1 ? pictureOf(program, *counts, diagnostics)
                             : pictureOf(schedule::blocksOfCore(program, blocks, given->dealt),
                                         *counts, diagnostics);
  if (!picture) return diagnostics.add(picture.error()), false;
  const std::string about = format == Format::Text ? given->about : "";
  return writeOutput(output, about + *picture, diagnostics) && !diagnostics.hasErrors();
}

int run() {
  if (file.empty()) return reportMissingSchedule("timeline");
  Diagnostics diagnostics;
  if (blocks < 1 || blocks > mostBlocks()) {
    diagnostics.report(Diag::BadOptionNumber, {}, "--blocks", 1, mostBlocks(), blocks.getValue(),
                       "no core holds more");
    return conclude(false, diagnostics);
  }
  const bool ok = show(diagnostics);
  return conclude(ok, diagnostics);
}

} // namespace

const Subcommand kTimeline{.options = &timelineOptions, .run = run};

} // namespace imbrex::tool
