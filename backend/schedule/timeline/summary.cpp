#include "backend/schedule/timeline/labels.h"
#include "backend/schedule/timeline/timeline_pictures.h"
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
std::string reasonOf(const Program &program, const Timeline &line, const WaitUse &wait) {
  if (wait.resource != kNoResource)
    return line.resources[static_cast<std::size_t>(wait.resource)].name;
  return labelOf(program, *wait.op);
}

/// A loop that takes less of the time says little of it.
constexpr double kMostOfIt = 0.5;

/// The same reason at several places is one.
std::vector<std::vector<std::string>> waitsOf(const Program &program, const Timeline &line,
                                              const RoleUse &role) {
  struct Waits {
    std::string reason;
    std::int64_t cycles = 0, held = 0, times = 0;
  };
  std::vector<Waits> waits;
  for (const WaitUse &use : role.waits) {
    const std::string reason = reasonOf(program, line, use);
    auto found = std::ranges::find(waits, reason, &Waits::reason);
    if (found == waits.end()) found = waits.insert(found, {.reason = reason});
    found->cycles += use.cycles;
    found->held += use.held;
    found->times += use.times;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Waits &of : waits)
    rows.push_back(
        {of.reason, std::to_string(of.cycles) + " cycles",
         "held up " + std::to_string(of.held) + " of " + std::to_string(of.times) + " times"});
  return rows;
}

/// What takes time in a cycle, and what is waited for. What comes several times in a row is
/// counted, and a long cycle told by its beginning.
std::string inWords(const Program &program, const std::vector<CriticalStep> &cycle) {
  constexpr std::size_t kMostTold = 16;
  std::vector<std::pair<std::string, std::int64_t>> told; // with how often
  for (const CriticalStep &step : cycle) {
    const bool isTold = step.cycles > 0 || step.kind == TimelineSpan::Kind::Wait;
    if (step.kind == TimelineSpan::Kind::Instant || !isTold) continue;
    std::string text = labelOf(program, *step.op);
    if (step.cycles > 0) text += " (" + std::to_string(step.cycles) + ")";
    if (!told.empty() && told.back().first == text)
      ++told.back().second;
    else
      told.emplace_back(std::move(text), 1);
  }
  std::string text;
  for (std::size_t i = 0; i < told.size() && i < kMostTold; ++i) {
    const auto &[what, times] = told[i];
    text += (i == 0 ? "" : ", ") + (times > 1 ? std::to_string(times) + " × " : "") + what;
  }
  if (told.size() > kMostTold)
    text += ", … and " + std::to_string(told.size() - kMostTold) + " more";
  return text;
}

std::string noResourceBut(const Program &program, const std::vector<CriticalStep> &cycle) {
  return "no resource is the limit, but a cycle of " + std::to_string(cyclesOf(cycle)) +
         " cycles: " + inWords(program, cycle);
}

/// What limits a loop that repeats itself exactly.
std::string limitOf(const Program &program, const Timeline &line, const Interval &interval) {
  const bool isBusyAlways = interval.lowerBound >= interval.cyclesPerTrip;
  const bool isResource = std::ranges::find(line.resources, interval.busiest, &ResourceUse::name) !=
                          line.resources.end();
  if (isBusyAlways && isResource) return "'" + interval.busiest + "' is the limit, always busy";
  return noResourceBut(program, interval.critical);
}

} // namespace

std::string limitOf(const Program &program, const Timeline &line) {
  if (line.binding != kNoResource) {
    const ResourceUse &resource = line.resources[static_cast<std::size_t>(line.binding)];
    return "'" + resource.name + "' is the limit, busy " + percent(resource.steadyShare) +
           " of the steady time";
  }
  if (!line.critical.empty()) return noResourceBut(program, line.critical);
  if (!line.inLoop) return "no limit is seen: nothing repeats itself";
  const LoopLimit &in = *line.inLoop;
  const std::string loop = "'" + program[in.loop].name + "'";
  const std::string where = in.share >= kMostOfIt
                                ? "in " + loop + ", " + percent(in.share) + " of the time, "
                                : "in " + loop + ", once it is in its stride, ";
  return where + limitOf(program, line, in.interval);
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
            std::to_string(line.roles[role].works) + " cycles\n";
    text += tableOf(waitsOf(program, line, line.roles[role]));
  }
  return text;
}

} // namespace imbrex::schedule
