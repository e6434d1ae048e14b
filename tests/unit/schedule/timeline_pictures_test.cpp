#include "backend/schedule/timeline/timeline_pictures.h"
#include "llvm/Support/JSON.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

std::size_t countOf(const std::string &text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

/// Whether every tag is closed in order, every attribute is quoted, and no text has in it what XML
/// does not allow.
bool isWellFormedXml(const std::string &text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < text.size()) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (c < ' ' && c != '\n') return false;
    if (c == '>') return false;
    if (c == '&') {
      const std::string entity = text.substr(at + 1, text.find(';', at) - at - 1);
      const bool isKnown = entity == "amp" || entity == "lt" || entity == "gt" ||
                           entity == "quot" || entity == "apos" || entity == "#39";
      if (!isKnown) return false;
    }
    if (c != '<') {
      ++at;
      continue;
    }
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.find('<') != std::string::npos || countOf(tag, "\"") % 2 != 0) return false;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

/// A program whose every name wants to be something else.
Program oddlyNamed() {
  Program program = pipelined({});
  const std::string odd = "<a b=\"c\">&'; #1:\x01\xff\xEF\xBF\xBF\n end";
  program.name = odd;
  for (Role &role : program.roles) role.name = odd;
  for (Ring &ring : program.rings) ring.name = odd;
  for (Buffer &buffer : program.buffers) buffer.name = odd;
  for (Barrier &barrier : program.barriers) barrier.name = odd;
  for (Queue &queue : program.queues) queue.name = odd;
  for (Role &role : program.roles)
    for (ScheduleOp &op : role.body.front().body.front().body)
      if (!op.cost.resource.empty()) op.cost.resource += odd;
  return program;
}

Timeline oddTimeline(const Program &program) {
  auto timeline = simulate(program, {1, 5});
  REQUIRE(timeline.ok());
  return *timeline;
}

} // namespace

TEST_CASE("the checker of XML sees what is wrong") {
  CHECK(isWellFormedXml("<a b=\"c\"><d/>x &amp; y</a>\n"));
  for (const char *text : {"<a>", "<a></b>", "<a><b></a></b>", "a > b", "<a b=\"></a>", "<a>&b</a>",
                           "<a>\x01</a>", "</a>", "<a"})
    CHECK_FALSE(isWellFormedXml(text));
}

TEST_CASE("a drawing is well-formed XML, whatever the names are") {
  const Program plain = pipelined({}), odd = oddlyNamed();
  CHECK(isWellFormedXml(svgOf(plain, timed(plain, {2, 5}))));
  const std::string svg = svgOf(odd, oddTimeline(odd));
  CHECK(isWellFormedXml(svg));
  CHECK(svg.find("&lt;a b=&quot;c&quot;&gt;&amp;&apos;; #1:") != std::string::npos);
  CHECK(svg.find("<script") == std::string::npos);
  const Program nothing = parsed("");
  CHECK(isWellFormedXml(svgOf(nothing, timed(nothing))));
}

TEST_CASE("a drawing has a lane for each role, resource and place in flight, and hatches waits") {
  const Program program = pipelined({.depth = 4});
  const Timeline timeline = timed(program, {1, 40});
  const std::string svg = svgOf(program, timeline);
  for (const char *lane :
       {">load</text>", ">compute</text>", ">bus 32 %</text>", ">alu 96 %</text>",
        ">load in flight</text>", ">compute in flight</text>"})
    CHECK_MESSAGE(countOf(svg, lane) == 1, lane);
  CHECK(countOf(svg, "font-weight=\"bold\" fill=\"#b03020\">alu") == 1);
  CHECK(svg.find("&apos;alu&apos; is the limit, busy 100 % of the steady time") !=
        std::string::npos);
  const auto waits = std::ranges::count_if(timeline.spans, [](const TimelineSpan &span) {
    return span.kind == TimelineSpan::Kind::Wait && span.cycles() > 0;
  });
  CHECK(countOf(svg, "fill=\"url(#wait)\"") == static_cast<std::size_t>(waits) + 1); // the legend
  // Each copy and product once on its resource, once in flight.
  CHECK(countOf(svg, "<title>load: copy A ") == 80);
  CHECK(countOf(svg, "<title>compute: issue products A ") == 80);
  CHECK(svg.find("<title>load: copy A 0, 0 to 50</title>") != std::string::npos);
  CHECK(svg.find("<title>load: copy A 0, 0 to 10</title>") != std::string::npos);
}

TEST_CASE("a drawing of very many spans shows the first of them and says so") {
  const Program program = pipelined({.depth = 3});
  const Timeline timeline = timed(program, {1, 5000});
  CHECK(timeline.spans.size() > 10'000);
  const std::string svg = svgOf(program, timeline);
  CHECK(svg.size() < 3'000'000);
  CHECK(isWellFormedXml(svg));
  CHECK(svg.find(" are shown</text>") != std::string::npos);
  const auto numberBehind = [&](std::string_view word, std::size_t from) {
    return std::stod(svg.substr(svg.find(word, from) + word.size()));
  };
  const double width = numberBehind(" width=\"", 0);
  for (std::size_t at = svg.find("<rect x="); at != std::string::npos;
       at = svg.find("<rect x=", at + 1))
    CHECK(numberBehind(" x=\"", at) + numberBehind(" width=\"", at) <= width);
  const Timeline small = timed(program, {1, 50});
  CHECK(svgOf(program, small).find(" are shown") == std::string::npos);
}

TEST_CASE("a drawing numbers the uses of its operations, also those of two digits and more") {
  for (const std::int32_t trips : {12, 120}) {
    CAPTURE(trips);
    const Program program = pipelined({.depth = 3, .loadCycles = 100});
    const std::string svg = svgOf(program, timed(program, {1, trips}));
    const std::size_t legend = svg.find(">no ring</text>");
    int numbered = 0;
    for (std::int32_t use = 0; use < trips; ++use) {
      const std::string number = std::to_string(use) + "</text>";
      const std::size_t at = std::min(svg.find(">" + number, svg.find("<rect x=")),
                                      svg.find(" " + number, svg.find("<rect x=")));
      numbered += at < legend ? 1 : 0;
    }
    CHECK(numbered == trips);
  }
}

namespace {

struct Event {
  std::int64_t start, end;
};
using Track = std::pair<std::int64_t, std::int64_t>;

} // namespace

TEST_CASE("trace events are JSON, with one thing at a time on a track, each track with a name") {
  for (const bool isOdd : {false, true}) {
    const Program program = isOdd ? oddlyNamed() : pipelined({.depth = 3, .inFlight = 1});
    const Timeline timeline = isOdd ? oddTimeline(program) : timed(program, {2, 5});
    auto json = llvm::json::parse(traceOf(program, timeline));
    REQUIRE(static_cast<bool>(json));
    std::map<Track, std::vector<Event>> slices;
    std::set<Track> named;
    for (const llvm::json::Value &value : *json->getAsObject()->getArray("traceEvents")) {
      const llvm::json::Object &event = *value.getAsObject();
      const Track track{*event.getInteger("pid"), *event.getInteger("tid")};
      const std::int64_t start = *event.getInteger("ts");
      if (event.getString("ph") == "X")
        slices[track].push_back({start, start + *event.getInteger("dur")});
      if (event.getString("name") == "thread_name") named.insert(track);
    }
    for (auto &[track, events] : slices) {
      CHECK(named.contains(track));
      std::ranges::sort(events, {}, [](const Event &e) { return std::pair(e.start, e.end); });
      for (std::size_t i = 1; i < events.size(); ++i) CHECK(events[i].start >= events[i - 1].end);
    }
    CHECK(slices.size() == named.size());
    CHECK(slices.size() >= 6);
  }
}

TEST_CASE("an arrow leads from the filling of each use to the first in a role that reads it") {
  const Program program = parsed(R"(
    trips %k
    ring %AB depth 2 {
      buffer %A 64
      barrier %full
      barrier %empty arrivals 2
    }
    role %load {
      cursor %p in %AB
      for %k { wait %empty(%p) flipped expect %full(%p) bytes 64
               copy writes %A(%p) to %full(%p) bytes 64 takes 20 on bus busy 5 advance %p }
    }
    role %first {
      cursor %c in %AB
      for %k { wait %full(%c) access reads %A(%c) takes 3 access reads %A(%c) arrive %empty(%c)
               advance %c }
    }
    role %second {
      cursor %c in %AB
      for %k { wait %full(%c) access reads %A(%c) arrive %empty(%c) advance %c }
    })");
  auto json = llvm::json::parse(traceOf(program, timed(program, {4})));
  REQUIRE(static_cast<bool>(json));
  std::map<std::int64_t, std::vector<std::int64_t>> arrows; // by id: track and time of each end
  for (const llvm::json::Value &value : *json->getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &event = *value.getAsObject();
    if (event.getString("cat") != "ring") continue;
    auto &arrow = arrows[*event.getInteger("id")];
    CHECK(event.getString("ph") == (arrow.empty() ? "s" : "f"));
    arrow.insert(arrow.end(), {*event.getInteger("pid"), *event.getInteger("ts")});
  }
  REQUIRE(arrows.size() == 8); // four uses, two readers
  CHECK(arrows[1] == std::vector<std::int64_t>{3, 0, 1, 20});
  for (const auto &[id, ends] : arrows) CHECK(ends[3] >= ends[1] + 20);
}

TEST_CASE("an arrow begins at the last of several that fill a use, and none leads back") {
  const Program program = parsed(R"(
    trips %k
    ring %ACC depth 2 {
      buffer %sum 64 tensor
      barrier %full
      barrier %empty
    }
    role %multiply {
      cursor %r in %ACC
      queue %q serial
      for %k {
        wait %empty(%r) flipped
        issue %q writes %sum(%r) takes 5
        issue %q reads %sum(%r) writes %sum(%r) takes 5
        signal %full(%r) after %q
        advance %r
      }
    }
    role %finish {
      cursor %d in %ACC
      for %k { wait %full(%d) access reads %sum(%d) takes 3 arrive %empty(%d) advance %d }
    })");
  auto json = llvm::json::parse(traceOf(program, timed(program, {3})));
  REQUIRE(static_cast<bool>(json));
  std::vector<std::int64_t> starts;
  std::int64_t lanes = 0;
  for (const llvm::json::Value &value : *json->getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &event = *value.getAsObject();
    if (event.getString("cat") == "ring") starts.push_back(*event.getInteger("ts"));
    lanes += event.getString("name") == "thread_name" && event.getInteger("pid") == 3;
  }
  CHECK(starts == std::vector<std::int64_t>{5, 10, 15, 20, 25, 30});
  CHECK(lanes == 1); // one behind the other
}

TEST_CASE("a sequence diagram has the barrier of each slot, and an arrow for each step") {
  const Program program = pipelined({});
  CHECK(mermaidOf(program, timed(program, {1, 3})) == R"(sequenceDiagram
    participant R0 as load
    participant B0_0 as full 0
    participant B1_0 as empty 0
    participant B0_1 as full 1
    participant B1_1 as empty 1
    participant R1 as compute
    B1_0->>R0: wait empty 0
    R0->>B0_0: expect full 0 (64 bytes)
    R0-)B0_0: copy A 0 (64 bytes)
    B1_1->>R0: wait empty 1
    R0->>B0_1: expect full 1 (64 bytes)
    R0-)B0_1: copy A 1 (64 bytes)
    B0_0->>R1: wait full 0, 50 cycles
    R1->>R1: issue products A 0
    R1->>R1: commit products
    R1->>R1: drain products, 30 cycles
    R1->>B1_0: arrive empty 0
    B0_1->>R1: wait full 1
    R1->>R1: issue products A 1
    R1->>R1: commit products
    B1_0->>R0: wait empty 2, 80 cycles
    R0->>B0_0: expect full 2 (64 bytes)
    R0-)B0_0: copy A 2 (64 bytes)
    R1->>R1: drain products, 30 cycles
    R1->>B1_1: arrive empty 1
    B0_0->>R1: wait full 2, 20 cycles
    R1->>R1: issue products A 2
    R1->>R1: commit products
    R1->>R1: drain products, 30 cycles
    R1->>B1_0: arrive empty 2
)");
}

TEST_CASE("a sequence diagram shows queues that signal, meetings, fences and drains in part") {
  const Program program = parsed(R"(
    barrier %done
    meeting %all parties 2
    role %a {
      queue %q serial async
      fence
      issue %q takes 4
      issue %q takes 4
      signal %done after %q
      drain %q to 1
      meet %all
    }
    role %b { wait %done access takes 2 meet %all })");
  CHECK(mermaidOf(program, timed(program)) == R"(sequenceDiagram
    participant R0 as a
    participant B0_0 as done
    participant R1 as b
    R0->>R0: fence
    R0->>R0: issue q
    R0->>R0: issue q
    R0-)B0_0: signal done when q is done
    R0->>R0: drain q to 1, 4 cycles
    B0_0->>R1: wait done, 8 cycles
    R1->>R1: access
    R1->>R1: meet all
    R0->>R0: meet all, 6 cycles
)");
}

TEST_CASE("a participant may be called end") {
  const Program program = parsed("role %end { fence }");
  CHECK(mermaidOf(program, timed(program)) ==
        "sequenceDiagram\n    participant R0 as (end)\n    R0->>R0: fence\n");
}

TEST_CASE("a sequence diagram keeps to what viewers take, and its names to one line") {
  const Program program = pipelined({.depth = 9});
  const std::string text = mermaidOf(program, timed(program, {1, 2000}));
  CHECK(text.size() < 50'000);
  CHECK(text.find("participant B0_0 as full\n") != std::string::npos);
  CHECK(text.find("Note over R0,R1: the diagram ends here, at cycle ") != std::string::npos);
  const Program odd = oddlyNamed();
  const std::string lines = mermaidOf(odd, oddTimeline(odd));
  CHECK(lines.find("participant R0 as <a b=\"c\">&'#59; #35;1#58;") != std::string::npos);
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
    CHECK((at == 0 || lines.substr(at, 4) == "    "));
}

TEST_CASE("a summary says what limits the schedule and who waits for what") {
  const Program waiting = pipelined({.loadCycles = 100});
  CHECK(summaryOf(waiting, timed(waiting, {1, 20})) ==
        R"(schedule test: 1330 cycles
no resource is the limit, but a cycle of 130 cycles: copy A (100), wait full, issue products A (30), drain products, wait empty
  resource  busy  of all  steady
  bus       200   15 %    15 %
  alu       600   45 %    45 %
role load: works 0 cycles
  wait empty  1200 cycles  held up 18 of 20 times
role compute: works 0 cycles
  wait full       730 cycles  held up 10 of 20 times
  drain products  600 cycles  held up 20 of 20 times
)");
  const Program bound = parsed("role %a { access takes 9 on alu busy 9 }\n"
                               "role %b { access takes 9 on alu busy 9 }\n");
  CHECK(summaryOf(bound, timed(bound)) == R"(schedule test: 18 cycles
'alu' is the limit, busy 100 % of the steady time
  resource  busy  of all  steady
  alu       18    100 %   100 %
role a: works 9 cycles
role b: works 9 cycles
  alu  9 cycles  held up 1 of 1 times
)");
  const Program brief = parsed("role %a { access takes 9 }");
  CHECK(limitOf(brief, timed(brief)) == "no limit is seen: nothing repeats itself");
}

TEST_CASE("a summary tells the limit of the loop that most of the time goes into") {
  const auto limit = [](const std::string &body, const std::vector<std::int32_t> &trips) {
    const Program program = parsed("trips %tiles trips %k in %tiles role %a { for %tiles {\n" +
                                   body + " access takes 50 access takes 51 } }");
    return limitOf(program, timed(program, trips));
  };
  CHECK(limit("for %k { access takes 1 }", {2, 400}) ==
        "in 'k', 80 % of the time, no resource is the limit, but a cycle of 1 cycles: access (1)");
  CHECK(limit("for %k { access takes 2 on alu busy 2 }", {2, 400}) ==
        "in 'k', 89 % of the time, 'alu' is the limit, always busy");
  CHECK(limit("for %k { access takes 1 }", {9, 4}) ==
        "no resource is the limit, but a cycle of 105 cycles: access (50), access (51), "
        "4 × access (1)");
  CHECK(limit("for %k { access takes 1 }", {1, 4}) ==
        "in 'tiles', 100 % of the time, no resource is the limit, but a cycle of 105 cycles: "
        "4 × access (1), access (50), access (51)");
}

TEST_CASE("an interval is told with its period and its bound") {
  const Program program = pipelined({.depth = 3, .loadCycles = 100});
  const auto interval = initiationInterval(program, TripsId(1), {1, 1});
  REQUIRE(interval.ok());
  CHECK(describe(program, TripsId(1), *interval) ==
        "43.3 cycles for each trip of 'k', 130 for 3; no fewer than 30.0, by alu");
  Interval irregular;
  irregular.cyclesPerTrip = 7;
  CHECK(describe(program, TripsId(1), irregular) ==
        "7.0 cycles for each trip of 'k' or so: they do not come to repeat themselves");
}
