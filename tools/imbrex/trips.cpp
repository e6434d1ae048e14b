#include "tools/imbrex/trips.h"

#include "llvm/ADT/StringRef.h"
#include "tools/imbrex/arguments.h"

#include <algorithm>

namespace imbrex::tool {

namespace {

/// Sets the trips that one `name=count` is about.
Result<void> readTrips(const schedule::Program &program, const std::string &text,
                       std::vector<std::int32_t> &counts) {
  const auto assignment = parseAssignment("--trips", text);
  if (!assignment) return assignment.failure();
  const auto trips = std::ranges::find(program.trips, assignment->name, &schedule::Trips::name);
  if (trips == program.trips.end())
    return fail(Diag::UnknownTrips, {}, program.name, assignment->name, listOf(program.trips));
  std::int32_t &count = counts[static_cast<std::size_t>(trips - program.trips.begin())];
  if (count >= 0) return fail(Diag::RepeatedArgument, {}, assignment->name);
  if (llvm::StringRef(assignment->value).getAsInteger(10, count) || count < 0)
    return fail(Diag::BadTripCount, {}, assignment->value, assignment->name);
  return {};
}

} // namespace

Result<std::vector<std::int32_t>> tripCounts(const schedule::Program &program,
                                             llvm::ArrayRef<std::string> texts,
                                             llvm::ArrayRef<std::int32_t> otherwise) {
  constexpr std::int32_t kUnsaid = -1;
  std::vector<std::int32_t> counts(program.trips.size(), kUnsaid);
  for (const std::string &text : texts)
    if (auto read = readTrips(program, text, counts); !read) return read.failure();
  for (std::size_t i = 0; i < otherwise.size(); ++i)
    if (counts[i] == kUnsaid) counts[i] = otherwise[i];
  const auto unsaid = std::ranges::find(counts, kUnsaid);
  if (unsaid == counts.end()) return counts;
  const auto place = static_cast<std::size_t>(unsaid - counts.begin());
  return fail(Diag::MissingTrips, program.trips[place].where, program.trips[place].name);
}

} // namespace imbrex::tool
