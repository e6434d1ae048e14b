#include "tests/codegen/ring_assembly.h"

/// What the assembly does to barriers and to boxes that an engine loads, against what was proven.
namespace imbrex::testing {

namespace {

constexpr const char *kMachinesWithEngine[] = {"sm_90a", "sm_100a", "sm_103a", "sm_100f"};

/// Of each kind one whose boxes an engine loads: by a role of its own, or by one of the threads.
std::vector<TableKernel> withBoxes(int slots) {
  std::vector<TableKernel> kernels = oneOfEach(slots);
  std::erase_if(kernels, [](const TableKernel &one) { return one.name.starts_with("stream"); });
  return kernels;
}

bool isMake(const std::string &line) { return has(line, "mbarrier.init."); }
bool isShow(const std::string &line) { return has(line, "fence.mbarrier_init"); }
bool isQuestion(const std::string &line) { return has(line, "mbarrier.try_wait."); }
bool isAnnouncement(const std::string &line) { return has(line, "mbarrier.arrive.expect_tx."); }
bool isArrival(const std::string &line) {
  return has(line, "mbarrier.arrive.") && !isAnnouncement(line);
}
bool isGathering(const std::string &line) { return has(line, "bar.warp.sync"); }
bool isBox(const std::string &line) { return has(line, "cp.async.bulk.tensor."); }

/// Assembly to be changed, and held to what was proven.
struct Assembly {
  Assembly(const TableKernel &of, const char *machine)
      : target(*targetNamed(machine)), made(compiled(of, target)),
        lines(linesOf(*makeAssembly(*made.code, target))) {}

  /// What is different; empty: nothing.
  std::string difference(const Lines &changed) const {
    return differenceFrom(made.code->rings, target.ringsOf(textOf(changed)))
        .value_or(RingDifference{})
        .what;
  }
  std::size_t find(bool (*is)(const std::string &), std::size_t from = 0) const {
    const auto found = std::find_if(at(lines, from), lines.end(), is);
    REQUIRE(found != lines.end());
    return static_cast<std::size_t>(found - lines.begin());
  }

  static Lines::iterator at(Lines &of, std::size_t line) {
    return of.begin() + static_cast<std::ptrdiff_t>(line);
  }
  static Lines::const_iterator at(const Lines &of, std::size_t line) {
    return of.begin() + static_cast<std::ptrdiff_t>(line);
  }
  std::string without(std::size_t line) const {
    Lines changed = lines;
    changed.erase(at(changed, line));
    return difference(changed);
  }
  std::string twice(std::size_t line) const {
    Lines changed = lines;
    changed.insert(at(changed, line), lines[line]);
    return difference(changed);
  }
  /// In front of another line.
  std::string moved(std::size_t line, std::size_t to) const {
    Lines changed = lines;
    changed.erase(at(changed, line));
    changed.insert(at(changed, to > line ? to - 1 : to), lines[line]);
    return difference(changed);
  }
  std::string with(std::size_t line, const std::string &text) const {
    Lines changed = lines;
    changed[line] = text;
    return difference(changed);
  }

  const target::GpuTarget &target;
  Compiled made;
  Lines lines;
};

/// A loop of 7 trips, and one behind it of which nobody knows how many it has.
struct two_products {
  void operator()(view<const f16, 2> a, view<const f16, 2> b, view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, 16, 32>();
    for (auto k : range(0, 7).pipelined(3)) sums += dot(a[box<16, 16>(m, k)], b[box<16, 32>(k, n)]);
    for (auto k : range(0, cdiv(a.extent(1), 16)).pipelined(2))
      sums -= dot(a[box<16, 16>(m, k)], b[box<16, 32>(k, n)]);
    c[box<16, 32>(m, n)] = sums;
  }
};

TableKernel twoProducts() {
  return row("two_products", two_products{}, {2, 2, 1},
             {"random:24x24", "random:24x56", "zeros:24x56"});
}

/// `of` with one text in place of another, which it must have.
std::string replaced(std::string of, const std::string &from, const std::string &to) {
  const std::size_t at = of.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, of);
  return of.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("the assembly of loops whose boxes an engine loads does what was proven of them") {
  for (const char *name : kMachinesWithEngine) {
    if (targetNamed(name) == nullptr) continue;
    for (const int slots : kPipelineSlots)
      for (const TableKernel &one : withBoxes(slots)) {
        CAPTURE(name);
        CAPTURE(one.name);
        const Assembly assembly(one, name);
        // Of one load that a role of its own starts there is one.
        CHECK(count(assembly.lines, isBox) >= (one.name.starts_with("steps") ? 1 : 2));
        CHECK(assembly.difference(assembly.lines) == "");
      }
    for (const TableKernel &one : largeProducts()) {
      CAPTURE(one.name);
      const Assembly assembly(one, name); // whose slots and barriers are places in one array
      CHECK(assembly.difference(assembly.lines) == "");
      for (const target::CodeBlock &block : assembly.target.ringsOf(textOf(assembly.lines)))
        for (const target::RingEvent &event : block.events) {
          const bool isAtBarrier = event.kind == target::RingEventKind::Arrive ||
                                   event.kind == target::RingEventKind::Expect ||
                                   event.kind == target::RingEventKind::Box;
          CHECK((event.barrier != target::kUntold) ==
                (isAtBarrier || event.kind == target::RingEventKind::Make));
        }
    }
  }
}

TEST_CASE("the assembly of a loop with boxes and copies is held to both") {
  for (const char *name : kMachinesWithEngine) {
    if (targetNamed(name) == nullptr) continue;
    for (const TableKernel &one : mixedLoads()) {
      CAPTURE(name);
      CAPTURE(one.name);
      const Assembly assembly(one, name);
      CHECK(count(assembly.lines, isBox) >= 1);
      CHECK(count(assembly.lines, isCopy) >= 1);
      CHECK(assembly.difference(assembly.lines) == "");
      for (std::size_t i = 0; i < assembly.lines.size(); ++i) {
        const std::string &line = assembly.lines[i];
        CAPTURE(line);
        if (isAnnouncement(line) || isBox(line) || isQuestion(line) || isCommit(line) ||
            isWait(line))
          CHECK(assembly.without(i) != "");
      }
    }
  }
}

TEST_CASE("what the assembly lacks or does too often to barriers and boxes is found") {
  for (const char *name : kMachinesWithEngine) {
    if (targetNamed(name) == nullptr) continue;
    std::vector<TableKernel> kernels = withBoxes(3);
    for (TableKernel &one : largeProducts()) kernels.push_back(std::move(one));
    kernels.push_back(twoProducts());
    for (const TableKernel &one : kernels) {
      const Assembly assembly(one, name);
      CHECK(assembly.difference(assembly.lines) == "");
      for (std::size_t i = 0; i < assembly.lines.size(); ++i) {
        const std::string &line = assembly.lines[i];
        CAPTURE(name);
        CAPTURE(one.name);
        CAPTURE(line);
        const bool isEvent =
            isMake(line) || isShow(line) || isAnnouncement(line) || isArrival(line) || isBox(line);
        const bool mayBeMore = isQuestion(line) || isGathering(line);
        if (isEvent || mayBeMore) CHECK(assembly.without(i) != "");
        if (isEvent) CHECK(assembly.twice(i) != "");
        if (mayBeMore) CHECK(assembly.twice(i) == ""); // the second answer counts
      }
    }
  }
}

TEST_CASE("what the assembly does otherwise to barriers and boxes is told in words") {
  if (targetNamed("sm_90a") == nullptr) return;
  const Assembly of(withBoxes(3).front(), "sm_90a");
  const std::size_t make = of.find(isMake), show = of.find(isShow);
  const std::size_t empty = of.find(isQuestion), full = of.find(isQuestion, empty + 1);
  const std::size_t announcement = of.find(isAnnouncement), first = of.find(isBox);
  const std::size_t second = of.find(isBox, first + 1), arrival = of.find(isArrival, full);
  REQUIRE(empty < announcement);
  REQUIRE(second < full);
  const auto changed = [&](std::size_t at, const std::string &from, const std::string &to) {
    return of.with(at, replaced(of.lines[at], from, to));
  };
  const auto lineWith = [&](const char *end) {
    const auto found = std::ranges::find_if(
        of.lines, [&](const std::string &line) { return line.ends_with(end); });
    REQUIRE(found != of.lines.end());
    return static_cast<std::size_t>(found - of.lines.begin());
  };
  const auto says = [](const std::string &text, const std::string &found, const char *meant) {
    CHECK_MESSAGE(text.starts_with("it has " + found + " in '"), text);
    CHECK_MESSAGE(text.substr(text.find("where there should be ")).find(meant) != text.npos, text);
  };
  const char *const waitForEmpty = "a wait at one of the barriers 3 to 5";
  const char *const waitForFull = "a wait at one of the barriers 0 to 2";
  const char *const announce = "the announcement of 1536 bytes at one of the barriers 0 to 2";
  const std::string announced = "the announcement of 1536 bytes at barrier 0";
  const std::string loads = "the load of a box that ends at barrier 0";
  const std::string arrives = "1 arrival at barrier 3";

  // A wait that is not made, or whose answer does not matter, or that ends when it should not.
  says(of.without(empty), announced, waitForEmpty);
  says(of.without(empty + 2), announced, waitForEmpty);
  says(changed(empty + 2, "@%", "@!%"), "a wait at barrier 3", announce);
  says(of.without(full), arrives, waitForFull);

  // What is lacking.
  CHECK(of.without(arrival) ==
        "1 arrival at one of the barriers 3 to 5 that should be there is not");
  says(of.without(announcement), loads, announce);
  says(of.without(second), "the end", "the load of a box that ends at one of the barriers 0 to 2");
  says(of.without(make), "the making of barrier 2 for 4 arrivals",
       "the making of barrier 2 for 1 arrival");
  says(of.without(show), "the end", "the fence behind new barriers");
  says(of.without(of.find(isBarrier, show)), "the end", "a meeting");

  // In another order: bytes that are announced when a box may have landed, a box in a slot that is
  // not empty, an arrival of who has not waited, barriers that the engine may not see.
  says(of.moved(announcement, first + 1), loads, announce);
  says(of.moved(first, empty - 1), loads, waitForEmpty);
  says(of.moved(arrival, full - 1), arrives, waitForFull);
  says(of.moved(show, make), "the fence behind new barriers",
       "the making of barrier 0 for 1 arrival");

  // Other barriers, bytes and arrivals.
  says(changed(lineWith(", barriers2;"), "barriers2", "barriers"), announced,
       "a meeting of a warp's lanes");
  says(changed(lineWith(", barriers;"), "barriers", "barriers2"),
       "the announcement of 1536 bytes at barrier 3", announce);
  says(changed(lineWith(", 1536;"), "1536", "1024"), "the announcement of 1024 bytes at barrier 0",
       announce);
  says(changed(make, "[barriers]", "[barriers2]"), "the making of barrier 2 for 1 arrival",
       "the making of barrier 0 for 1 arrival");
  REQUIRE(has(of.lines[arrival - 2], "mov.b32"));
  says(changed(arrival - 2, ", 1;", ", 2;"), "2 arrivals at barrier 3",
       "1 arrival at one of the barriers 3 to 5");
}

TEST_CASE("a loop whose length is known is not left out") {
  if (targetNamed("sm_90a") == nullptr) return;
  const Assembly of(twoProducts(), "sm_90a");
  std::vector<std::size_t> questions;
  for (std::size_t i = 0; i < of.lines.size(); ++i)
    if (isQuestion(of.lines[i])) questions.push_back(i);
  REQUIRE(questions.size() >= 4); // of each role and each loop
  const auto labelOf = [&](std::size_t question) {
    std::size_t line = questions[question];
    while (!of.lines[line].starts_with("$L__BB")) --line;
    return line;
  };
  const auto jumpsOver = [&](std::size_t from, std::size_t to) {
    Lines changed = of.lines;
    const std::string label = replaced(of.lines[labelOf(to)], ":", "");
    changed.insert(Assembly::at(changed, labelOf(from)), "@%p99 bra " + label + ";");
    return of.difference(changed);
  };
  // The one that loads comes first, its first loop written out; then those that compute.
  const std::size_t count = questions.size();
  CHECK(jumpsOver(0, count - 3) != "");
  CHECK(jumpsOver(count - 2, count - 1) != "");
  CHECK(jumpsOver(0, 1) == ""); // how often it runs is not compared
}

TEST_CASE("which barriers an address is of, is known where code tells it") {
  const target::GpuTarget *target = targetNamed("sm_90a");
  if (target == nullptr) return;
  const auto arrivalOf = [&](const std::string &code) {
    const std::string arrays =
        ".shared .align 16 .b8 second[16];\n.shared .align 16 .b8 first[16];";
    const target::CodeGraph graph = target->ringsOf("\n{\n" + arrays + "\n" + R"(mov.b32 %r1, 1;
mbarrier.init.shared.b64 [first], %r1;
mbarrier.init.shared.b64 [first+8], %r1;
mbarrier.init.shared.b64 [second], %r1;
mbarrier.init.shared.b64 [second+8], %r1;
)" + code + "\nret;\n}\n");
    const target::RingEvent &last = graph[graph.size() - 2].events.back();
    REQUIRE(last.kind == target::RingEventKind::Arrive);
    return last;
  };
  const auto arriveAt = [&](const std::string &made) {
    return arrivalOf(made + "mbarrier.arrive.shared.b64 %rd9, [%rd1], %r1;").barrier;
  };
  const auto arriveBy = [&](const std::string &made) {
    return arrivalOf(made + "mbarrier.arrive.shared.b64 %rd9, [first], %r2;").amount;
  };
  // By the addresses, which are in the order of the declarations.
  CHECK(arrivalOf("mbarrier.arrive.shared.b64 %rd9, [second+8], %r1;").barrier == 1);
  CHECK(arriveAt("mov.b64 %rd1, first;\n") == 2);
  CHECK(arriveAt("mov.b64 %rd2, first;\nadd.s64 %rd1, %rd2, 8;\n") == 3);
  CHECK(arriveAt("mov.b64 %rd1, first+8;\n") == 3);
  CHECK(arriveAt("mov.b64 %rd2, first;\ncvt.u32.u64 %r2, %rd2;\ncvt.u64.u32 %rd1, %r2;\n") == 2);
  // At an index: one of the array's.
  CHECK(arriveAt("mov.b64 %rd2, first;\nadd.s64 %rd1, %rd3, %rd2;\n") == 2);
  CHECK(arriveAt("mov.b64 %rd2, second+8;\nadd.s64 %rd1, %rd2, %rd3;\n") == 0);
  CHECK(arriveAt("mov.b64 %rd2, first;\nmov.b64 %rd3, first+8;\n"
                 "selp.b64 %rd1, %rd2, %rd3, %p1;\n") == 2);
  CHECK(arriveAt("mov.b64 %rd1, first;\n$L1:\nadd.s64 %rd1, %rd1, 8;\n@%p1 bra $L1;\n") == 2);
  // Behind a label, what was given before it may have come by another way.
  CHECK(arriveAt("mov.b64 %rd1, second;\n@%p1 bra $L1;\nmov.b64 %rd1, first;\n$L1:\n") ==
        target::kUntold);
  CHECK(arriveAt("mov.b64 %rd1, second;\nmov.b64 %rd1, first;\n") == 2);
  CHECK(arriveAt("mov.b64 %rd2, first;\nmov.b64 %rd3, second;\n"
                 "selp.b64 %rd1, %rd2, %rd3, %p1;\n") == target::kUntold);
  CHECK(arriveAt("ld.param.b64 %rd1, [p];\n") == target::kUntold);
  // How many arrive, where it is a constant.
  CHECK(arriveBy("mov.b32 %r2, 300;\n") == 300);
  CHECK(arriveBy("mov.b32 %r3, 300;\nadd.s32 %r2, %r3, -1;\n") == 299);
  CHECK(arriveBy("mov.b32 %r3, 300;\ncvt.u8.u32 %r2, %r3;\n") == target::kUntold);
  CHECK(arriveBy("mov.b32 %r2, 0f40000000;\n") == target::kUntold);
  CHECK(arriveAt("mov.b64 %rd2, first;\nmul.lo.s64 %rd1, %rd2, %rd3;\n") == target::kUntold);
}

TEST_CASE("a question is answered where a jump goes by its answer, and else it is none") {
  const target::GpuTarget *target = targetNamed("sm_90a");
  if (target == nullptr) return;
  const auto waitsIn = [&](const std::string &code) {
    const target::CodeGraph graph =
        target->ringsOf("\n{\n$L1:\nmbarrier.try_wait.parity.shared.b64 %p1, [first], %r1;\n" +
                        code + "\nret;\n}\n");
    std::string waits;
    for (const target::CodeBlock &block : graph) {
      CHECK(block.events.empty());
      for (const auto &edge : block.next)
        if (edge.event)
          waits += graph[edge.to].label == "$L1" ? "back" : edge.holds ? "holds" : "fails";
    }
    return waits;
  };
  CHECK(waitsIn("@!%p1 bra $L1;") == "holds");
  CHECK(waitsIn("@%p1 bra $L1;") == "back");                      // as long as it is over
  CHECK(waitsIn("not.pred %p2, %p1;\n@%p2 bra $L1;") == "holds"); // the first predicate does
  CHECK(waitsIn("not.pred %p2, %p1;\nnot.pred %p3, %p2;\n@!%p3 bra $L1;") == "holds");
  CHECK(waitsIn("not.pred %p1, %p1;\n@%p1 bra $L1;") == "fails");
  CHECK(waitsIn("not.pred %p2, %p1;\nsetp.lt.s32 %p2, %r1, 0;\n@%p2 bra $L1;") == "");
  CHECK(waitsIn("setp.lt.s32 %p1, %r1, 0;\n@!%p1 bra $L1;") == "");
  CHECK(waitsIn("$L2:\n@!%p1 bra $L1;") == "");
  CHECK(waitsIn("bra $L1;") == "");
}

} // namespace imbrex::testing
