#include "backend/schedule/timeline/labels.h"
#include "backend/schedule/timeline_pictures.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace imbrex::schedule {

using namespace timeline;

namespace {

std::string padded(const std::string &text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

/// Columns as wide as their widest cell; the last one is not padded.
std::string tableOf(const std::vector<std::vector<std::string>> &rows) {
  std::vector<std::size_t> widths;
  for (const auto &row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto &row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += " " + padded(row[i], widths[i] + 1);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// What a role waits for: "wait full", or "bus" where it waits for a resource.
std::string reasonOf(const Program &program, const Timeline &line, const Span &span) {
  if (span.resource != kNoResource)
    return line.resources[static_cast<std::size_t>(span.resource)].name;
  return labelOf(program, *span.op);
}

struct Waits {
  std::string reason;
  std::int64_t cycles = 0, held = 0, times = 0;
};

std::vector<Waits> waitsOf(const Program &program, const Timeline &line, RoleId role) {
  std::vector<Waits> waits;
  for (const Span &span : line.spans) {
    if (span.role != role || span.kind != Span::Kind::Wait) continue;
    const std::string reason = reasonOf(program, line, span);
    auto found = std::ranges::find(waits, reason, &Waits::reason);
    if (found == waits.end()) found = waits.insert(found, {.reason = reason});
    found->cycles += span.cycles();
    found->held += span.cycles() > 0;
    ++found->times;
  }
  return waits;
}

std::int64_t workOf(const Timeline &line, RoleId role) {
  std::int64_t cycles = 0;
  for (const Span &span : line.spans)
    if (span.role == role && span.kind == Span::Kind::Work) cycles += span.cycles();
  return cycles;
}

} // namespace

std::string limitOf(const Program &program, const Timeline &line) {
  if (line.binding != kNoResource) {
    const ResourceUse &resource = line.resources[static_cast<std::size_t>(line.binding)];
    return "'" + resource.name + "' is the limit, busy " + percent(resource.steadyShare) +
           " of the steady time";
  }
  if (line.critical.empty()) return "no limit is seen: nothing repeats itself often enough";
  std::string text;
  for (const CriticalStep &step : line.critical) {
    const Span &span = line.spans[static_cast<std::size_t>(step.span)];
    if (span.kind == Span::Kind::Instant || (step.cycles == 0 && span.kind != Span::Kind::Wait))
      continue;
    text += (text.empty() ? "" : ", ") + labelOf(program, *span.op);
    if (step.cycles > 0) text += " (" + std::to_string(step.cycles) + ")";
  }
  return "no resource is the limit, but a cycle of " + std::to_string(line.criticalCycles) +
         " cycles: " + text;
}

std::string describe(const Program &program, TripsId loop, const Interval &interval) {
  const std::string name = "'" + program[loop].name + "'";
  const auto decimals = [](double number) { return llvm::formatv("{0:f1}", number).str(); };
  std::string text = decimals(interval.cyclesPerTrip) + " cycles for each trip of " + name;
  if (interval.period > 1)
    text +=
        ", " + std::to_string(interval.periodCycles) + " for " + std::to_string(interval.period);
  if (interval.period == 0) text += " or so: they do not come to repeat themselves";
  if (!interval.busiest.empty())
    text += "; no fewer than " + decimals(interval.lowerBound) + ", by " + interval.busiest;
  return text;
}

std::string summaryOf(const Program &program, const Timeline &line) {
  std::string text = "schedule " + program.name + ": " + std::to_string(line.cycles) + " cycles\n" +
                     limitOf(program, line) + "\n";
  std::vector<std::vector<std::string>> rows = {{"resource", "busy", "of all", "steady"}};
  for (const ResourceUse &resource : line.resources)
    rows.push_back({resource.name, std::to_string(resource.busy), percent(resource.share),
                    percent(resource.steadyShare)});
  if (rows.size() > 1) text += tableOf(rows);
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    text += "role " + program.roles[role].name + ": works " +
            std::to_string(workOf(line, RoleId(role))) + " cycles\n";
    rows.clear();
    for (const Waits &waits : waitsOf(program, line, RoleId(role)))
      rows.push_back({waits.reason, std::to_string(waits.cycles) + " cycles",
                      "held up " + std::to_string(waits.held) + " of " +
                          std::to_string(waits.times) + " times"});
    text += tableOf(rows);
  }
  return text;
}

} // namespace imbrex::schedule
