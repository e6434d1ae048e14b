#include "backend/schedule/plan/plan.h"
#include "backend/schedule/program/attributes.h"

#include <cmath>
#include <utility>

namespace imbrex::schedule {
namespace {

std::string rounded(double cycles) {
  const auto tenths = std::llround(cycles * 10);
  return toText(tenths / 10) + (tenths % 10 ? "." + toText(tenths % 10) : "");
}

/// How much of the bound a plan takes; from twice on as that many times, which is easier to grasp.
std::string ofBound(double gap) {
  return gap < 2 ? rounded(gap * 100) + " % of it are taken"
                 : "taken are " + rounded(gap) + " times the bound";
}

std::string describe(const Candidate &candidate) {
  std::string text = candidate.roles + ", " + counted(candidate.slots, "slot");
  if (candidate.outerSlots > 1) text += ", " + toText(candidate.outerSlots) + " outside";
  if (candidate.inFlight > 0) text += ", " + toText(candidate.inFlight) + " in flight";
  text += ": ";
  if (!candidate.refused.empty()) return text + "no, " + candidate.refused;
  text += rounded(candidate.interval.cyclesPerTrip) + " cycles a trip, " +
          toText(candidate.demand.sharedBytes) + " bytes";
  std::string_view before = ", ";
  for (const std::int32_t registers : candidate.registers)
    text += std::string(std::exchange(before, " | ")) + toText(registers);
  return text + (candidate.registers.empty() ? "" : " registers");
}

} // namespace

std::string explain(const Plan &plan, const PlanRequest &request) {
  const Candidate &taken = plan.taken();
  std::string text = "taken: " + describe(taken) + "\n";
  text += "bound: " + rounded(taken.interval.lowerBound) + " cycles a trip, by " +
          taken.interval.busiest + "; " + ofBound(plan.gap()) + "\n";
  if (!taken.placement.empty()) text += taken.placement + "\n";
  text += "on " + std::string(request.machine.name) + " " +
          toText(request.machine.sharedMemoryBytes - taken.demand.sharedBytes) +
          " bytes are left\n";
  for (std::size_t i = 0; i < plan.candidates.size(); ++i)
    if (i != plan.chosen) text += "not:   " + describe(plan.candidates[i]) + "\n";
  return text;
}

} // namespace imbrex::schedule
