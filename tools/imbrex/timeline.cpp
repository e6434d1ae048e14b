#include "backend/schedule/timeline.h"

#include "backend/schedule/check.h"
#include "backend/schedule/timeline_pictures.h"
#include "llvm/ADT/StringRef.h"
#include "tools/imbrex/arguments.h"
#include "tools/imbrex/command.h"

#include <algorithm>
#include <cstdio>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

enum class Format : std::uint8_t { Text, Svg, Perfetto, Mermaid };

cl::SubCommand timelineOptions("timeline", "Show when everything in a schedule happens");
cl::opt<std::string> file(cl::Positional, cl::desc("FILE.ims (- is standard input)"),
                          cl::sub(timelineOptions), cl::cat(ownOptions()));
cl::list<std::string> tripTexts("trips", cl::CommaSeparated, cl::value_desc("k=8,tiles=2"),
                                cl::desc("How many trips the loops run"), cl::sub(timelineOptions),
                                cl::cat(ownOptions()));
cl::opt<Format> format(
    "format", cl::desc("What to make of it (text unless said):"), cl::init(Format::Text),
    cl::values(clEnumValN(Format::Text, "text", "what limits the schedule, and who waits for what"),
               clEnumValN(Format::Svg, "svg", "a drawing"),
               clEnumValN(Format::Perfetto, "perfetto", "JSON for trace viewers"),
               clEnumValN(Format::Mermaid, "mermaid", "a sequence diagram")),
    cl::sub(timelineOptions), cl::cat(ownOptions()));
cl::opt<std::string> output("o", cl::value_desc("FILE"),
                            cl::desc("Write there, and not to standard output"), cl::init("-"),
                            cl::sub(timelineOptions), cl::cat(ownOptions()));

/// Sets the trips that one `name=count` is about.
Result<void> readTrips(const schedule::Program &program, const std::string &text,
                       std::vector<std::int32_t> &counts) {
  const auto assignment = parseAssignment("--trips", text);
  if (!assignment) return assignment.failure();
  const auto trips = std::ranges::find(program.trips, assignment->name, &schedule::Trips::name);
  if (trips == program.trips.end())
    return fail(Diag::UnknownTrips, {}, program.name, assignment->name);
  std::int32_t &count = counts[static_cast<std::size_t>(trips - program.trips.begin())];
  if (llvm::StringRef(assignment->value).getAsInteger(10, count) || count < 0)
    return fail(Diag::BadTripCount, {}, assignment->value, assignment->name);
  return {};
}

/// By trips; an error where one is not said.
Result<std::vector<std::int32_t>> countsOf(const schedule::Program &program) {
  constexpr std::int32_t kUnsaid = -1;
  std::vector<std::int32_t> counts(program.trips.size(), kUnsaid);
  for (const std::string &text : tripTexts)
    if (auto read = readTrips(program, text, counts); !read) return read.failure();
  const auto unsaid = std::ranges::find(counts, kUnsaid);
  if (unsaid == counts.end()) return counts;
  const auto place = static_cast<std::size_t>(unsaid - counts.begin());
  return fail(Diag::MissingTrips, {}, program.trips[place].name);
}

/// The loops' intervals, each a line.
Result<std::string> intervalsOf(const schedule::Program &program,
                                const std::vector<std::int32_t> &counts) {
  std::string text;
  for (std::uint32_t trips = 0; trips < counts.size(); ++trips) {
    const auto interval = schedule::initiationInterval(program, schedule::TripsId(trips), counts);
    if (!interval) return interval.failure();
    text += describe(program, schedule::TripsId(trips), *interval) + "\n";
  }
  return text;
}

Result<std::string> pictureOf(const schedule::Program &program,
                              const std::vector<std::int32_t> &counts) {
  const auto timeline = schedule::simulate(program, counts);
  if (!timeline) return timeline.failure();
  switch (format) {
  case Format::Svg: return svgOf(program, *timeline);
  case Format::Perfetto: return traceOf(program, *timeline);
  case Format::Mermaid: return mermaidOf(program, *timeline);
  case Format::Text: break;
  }
  const auto intervals = intervalsOf(program, counts);
  if (!intervals) return intervals.failure();
  return summaryOf(program, *timeline) + *intervals;
}

/// Whether it is written; else why not is reported. The schedule is checked for these trips first,
/// since a timeline shows one of the ways that it can go.
bool show(Diagnostics &diagnostics) {
  const auto program = readSchedule(file, diagnostics);
  if (!program) return false;
  const auto counts = countsOf(*program);
  if (!counts) return diagnostics.add(counts.error()), false;
  if (!schedule::report(schedule::checkAt(*program, *counts), diagnostics)) return false;
  const auto picture = pictureOf(*program, *counts);
  if (!picture) return diagnostics.add(picture.error()), false;
  return writeOutput(output, *picture, diagnostics);
}

int run() {
  if (file.empty()) return reportMissingSchedule("timeline");
  Diagnostics diagnostics;
  const bool ok = show(diagnostics);
  std::fputs(diagnostics.render().c_str(), stderr);
  return ok ? kSuccess : kFailure;
}

} // namespace

const Subcommand kTimeline{.options = &timelineOptions, .run = run};

} // namespace imbrex::tool
