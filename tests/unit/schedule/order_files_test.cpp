// golden/*.imx: a schedule whose roles say what they do, and behind `---` what orders them, the
// channels, and how it goes for a few trips.

#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/drains.h"
#include "backend/schedule/plan/synchronise.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "backend/schedule/timeline/timeline_pictures.h"
#include "backend/support/environment.h"
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

using namespace imbrex;
using namespace imbrex::schedule;
using testing::GoldenCase;

namespace {

/// `# order: in flight 1` for all queues, or `# order: signals products` for one.
std::vector<QueuePlan> queuesOf(const Program &program, const std::string &header) {
  std::istringstream words(header);
  std::string mark, order, how, what;
  words >> mark >> order >> how >> what;
  std::vector<QueuePlan> queues;
  for (const Queue &queue : program.queues) {
    const bool signals = how == "signals" && queue.name == what;
    int inFlight = 0;
    if (how == "in") words >> inFlight;
    queues.push_back({.inFlight = inFlight, .signals = signals});
  }
  return queues;
}

/// The channels as lines: "load -> compute: A, B in 4 slots".
std::string channelsOf(const Program &program) {
  Diagnostics ignored; // what is told twice is told where channels are used
  std::string text;
  for (const Channel &channel : findChannels(program, ignored)) {
    text += program[channel.producer].name + " -> ";
    for (const RoleId consumer : channel.consumers)
      text += (consumer == channel.consumers.front() ? "" : ", ") + program[consumer].name;
    std::string buffers;
    for (const Buffer &buffer : program.buffers)
      if (buffer.ring == channel.ring) buffers += (buffers.empty() ? "" : ", ") + buffer.name;
    text += ": " + buffers + " in " + toText(program[channel.ring].depth) + " slots\n";
  }
  return text;
}

std::string outputOf(const GoldenCase &one, const std::string &fileName) {
  Diagnostics diagnostics;
  const auto given = parse(one.input, fileName, diagnostics);
  REQUIRE_MESSAGE(given, diagnostics.render());
  REQUIRE_MESSAGE(verify(*given, diagnostics, Completeness::WithoutBarriers), diagnostics.render());
  auto safe = addBarriers(*given, queuesOf(*given, one.header), diagnostics);
  REQUIRE_MESSAGE(safe, diagnostics.render());
  const Program program = addDrains(std::move(*safe));
  CHECK_MESSAGE(report(prove(program), diagnostics), diagnostics.render());
  std::vector<std::int32_t> trips(program.trips.size(), 3);
  const auto timeline = simulate(program, trips);
  REQUIRE(timeline.ok());
  return channelsOf(program) + print(program) + mermaidOf(program, *timeline);
}

} // namespace

TEST_CASE("each golden schedule holds what orders it, who hands what to whom, and how it goes") {
  int files = 0;
  for (const auto &path : testing::goldenFiles("golden")) {
    CAPTURE(path.string());
    const std::string text = testing::readFile(path);
    auto cases = testing::goldenCases(text);
    for (GoldenCase &one : cases) {
      std::string output = outputOf(one, path.filename().string());
      if (!environment().updateGolden) CHECK(output == one.expected);
      one.expected = std::move(output);
      ++files;
    }
    if (environment().updateGolden && testing::goldenText(cases) != text)
      std::ofstream(path, std::ios::binary) << testing::goldenText(cases);
  }
  CHECK(files >= 4);
}
