#include "backend/compile.h"
#include "backend/report.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_row.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

/// What the assembly of pipelined loops does, against what was proven of them.
namespace imbrex::testing {
namespace {

constexpr const char *kMachines[] = {"sm_80", "sm_89", "sm_120a"};

const target::GpuTarget *targetNamed(std::string_view name) {
  return target::findGpuTarget(*machine::findMachine(name));
}

/// A kernel and its code, which names the kernel's ops.
struct Compiled {
  ir::Kernel kernel;
  std::optional<GpuCode> code;
};

Compiled compiled(const TableKernel &of, const target::GpuTarget &target) {
  Compiled made{.kernel = of.kernel.clone(), .code = {}};
  Diagnostics diagnostics;
  made.code =
      compileForGpu(made.kernel, target, analysis::usualAssumptions(of.kernel), diagnostics);
  REQUIRE_MESSAGE(made.code, diagnostics.render());
  return made;
}

/// One launch of each kernel: all of a kind have the same code.
std::vector<TableKernel> oneOfEach(int slots) {
  std::vector<TableKernel> kernels;
  for (TableKernel &one : pipelinedKernels(slots)) {
    const std::string kind = one.name.substr(0, one.name.find('_'));
    if (std::ranges::none_of(
            kernels, [&](const TableKernel &known) { return known.name.starts_with(kind); }))
      kernels.push_back(std::move(one));
  }
  return kernels;
}

using Lines = std::vector<std::string>;

Lines linesOf(const std::string &text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string textOf(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines) text += line + "\n";
  return text;
}

bool has(const std::string &line, const char *part) { return line.find(part) != std::string::npos; }

bool isCopy(const std::string &line) {
  return has(line, "cp.async.cg.") || has(line, "cp.async.ca.");
}
bool isCommit(const std::string &line) { return has(line, "cp.async.commit_group"); }
bool isWait(const std::string &line) { return has(line, "cp.async.wait_group"); }
bool isBarrier(const std::string &line) { return has(line, "bar.sync"); }

std::size_t count(const Lines &lines, bool (*is)(const std::string &)) {
  return static_cast<std::size_t>(std::ranges::count_if(lines, is));
}

} // namespace

TEST_CASE("the assembly of pipelined loops does what was proven of them") {
  for (const char *name : kMachines) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    for (const int slots : kPipelineSlots)
      for (const TableKernel &one : oneOfEach(slots)) {
        CAPTURE(name);
        CAPTURE(one.name);
        const Compiled made = compiled(one, *target);
        const auto text = makeAssembly(*made.code, *target);
        CHECK_MESSAGE(text, text.error().message);
        CHECK(count(linesOf(*text), isCopy) >= 2);
      }
  }
}

namespace {

/// Rows beside a tile, which few threads own: conditions within conditions.
template <int ROWS>
struct weighted {
  int slots;
  void operator()(view<const f16, 2> x, view<const f16, 2> w, view<f32, 2> y) const {
    auto [n] = program_id<1>();
    for (auto i : range(0, cdiv(x.extent(0), 8)).pipelined(slots)) {
      var sum = zeros<f32, 8, 64>();
      for (int row = 0; row < ROWS; ++row)
        sum = fma(cast<f32>(x[box_at<8, 64>(i * 8 - row, n * 64)]),
                  broadcast<8, 64>(cast<f32>(w[box<1, 64>(row, n)])), sum.get());
      y[box<8, 64>(i, n)] = sum.get();
    }
  }
};

/// A loop in each branch, of which the lanes of a warp might take different ones.
struct either_product {
  void operator()(view<const f32, 2> x, scalar<i32> which, view<f32, 2> y) const {
    auto [n] = program_id<1>();
    var sum = zeros<f32, 32, 64>();
    if_(
        which > 0,
        [&] {
          for (auto i : range(0, cdiv(x.extent(0), 32)).pipelined(2)) sum += x[box<32, 64>(i, n)];
        },
        [&] {
          for (auto i : range(0, cdiv(x.extent(0), 32)).pipelined(3)) sum -= x[box<32, 64>(i, n)];
        });
    y[box<32, 64>(0, n)] = sum.get();
  }
};

} // namespace

TEST_CASE(
    "the assembly of loops with small tiles, in branches and with many slots is what was meant") {
  std::vector<TableKernel> kernels;
  for (const int slots : {2, 3, 5}) {
    const std::vector<std::string> arguments{"random:40x130", "random:6x130", "zeros:40x130"};
    kernels.push_back(row("one_row", weighted<1>{slots}, {3, 1, 1}, arguments));
    kernels.push_back(row("four_rows", weighted<4>{slots}, {3, 1, 1}, arguments));
  }
  kernels.push_back(
      row("branches", either_product{}, {3, 1, 1}, {"random:40x130", "1", "zeros:32x130"}));
  for (TableKernel &one : pipelinedKernels(14))
    if (one.name.ends_with("_224")) kernels.push_back(std::move(one));
  for (const char *name : {"sm_80", "sm_90a", "gfx950"}) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    for (const TableKernel &one : kernels) {
      CAPTURE(name);
      CAPTURE(one.name);
      const Compiled made = compiled(one, *target);
      const auto text = makeAssembly(*made.code, *target);
      CHECK_MESSAGE(text, text.error().message);
      // There a lane loads 16 bytes or none: rows of 128 bytes are not loaded ahead.
      const bool isAhead =
          name != std::string("gfx950") || one.name.find("_row") == std::string::npos;
      CHECK((!made.code->rings.steps.empty() || !isAhead));
    }
  }
}

TEST_CASE("a copy, group, wait or meeting that the assembly lacks or has too many of is found") {
  for (const char *name : kMachines) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    for (const int slots : {2, 3, 5})
      for (const TableKernel &one : oneOfEach(slots)) {
        CAPTURE(name);
        CAPTURE(one.name);
        const Compiled made = compiled(one, *target);
        const Lines lines = linesOf(*makeAssembly(*made.code, *target));
        const auto differs = [&](const Lines &other) {
          return differenceFrom(made.code->rings, target->ringsOf(textOf(other))).has_value();
        };
        CHECK_FALSE(differs(lines));
        // A loop with one load has one copy in each of its groups, which may be left out.
        const bool mayLackCopies = one.name.starts_with("stream");
        for (std::size_t i = 0; i < lines.size(); ++i) {
          const std::string &line = lines[i];
          CAPTURE(i);
          CAPTURE(line);
          Lines without = lines, twice = lines;
          without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
          twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), line);
          if (isCopy(line)) {
            CHECK((differs(without) || mayLackCopies));
            CHECK(differs(twice));
          }
          if (isCommit(line)) {
            // A kernel that may end early may do so in place of closing an empty group.
            CHECK((differs(without) || one.name.starts_with("rows")));
            // An empty group more is that of a loop around, whose own one does not run.
            CHECK((differs(twice) || one.name.starts_with("attention")));
            Lines early = without;
            const auto before =
                std::find_if(early.rend() - static_cast<std::ptrdiff_t>(i), early.rend(), isCopy);
            if (before != early.rend()) {
              early.insert(before.base() - 1, line);
              CHECK(differs(early));
            }
          }
          if (isWait(line)) {
            CHECK(differs(without));
            CHECK_FALSE(differs(twice));
            Lines weaker = lines, stronger = lines;
            weaker[i] = "cp.async.wait_group " + std::to_string(slots - 1) + ";";
            CHECK(differs(weaker));
            stronger[i] = "cp.async.wait_all;";
            CHECK_FALSE(differs(stronger));
          }
        }
      }
  }
}

TEST_CASE("a meeting that the assembly lacks is found where no other barrier takes its place") {
  const target::GpuTarget *target = targetNamed("sm_80");
  if (target == nullptr) return;
  for (const TableKernel &one : oneOfEach(3)) {
    if (!one.name.starts_with("stream")) continue; // others meet in exchanges, too
    const Compiled made = compiled(one, *target);
    const Lines lines = linesOf(*makeAssembly(*made.code, *target));
    Lines without = lines;
    const auto wait = std::ranges::find_if(without, isWait);
    const auto meeting = std::find_if(wait, without.end(), isBarrier);
    REQUIRE(meeting != without.end());
    without.erase(meeting);
    const auto difference = differenceFrom(made.code->rings, target->ringsOf(textOf(without)));
    REQUIRE(difference);
    CHECK(has(*difference, "a meeting"));
  }
}

TEST_CASE("loads to LDS are all made, and waited for by their number and nothing more") {
  const target::GpuTarget *target = targetNamed("gfx950");
  if (target == nullptr) return;
  for (const TableKernel &one : largeProducts()) {
    CAPTURE(one.name);
    const Compiled made = compiled(one, *target);
    const auto text = makeAssembly(*made.code, *target);
    REQUIRE_MESSAGE(text, text.error().message);
    const Lines lines = linesOf(*text);
    const auto isLoad = [](const std::string &line) {
      return has(line, "global_load_lds_dwordx4");
    };
    const auto isWaitForLoads = [](const std::string &line) {
      return has(line, "s_waitcnt") && has(line, "vmcnt(");
    };
    const auto differs = [&](const Lines &other) {
      return differenceFrom(made.code->rings, target->ringsOf(textOf(other))).has_value();
    };
    // 64 x 64 and 64 x 32 elements of 4 bytes, 16 bytes a lane: the slots before the first trip,
    // and in the loop.
    const int slots = one.name.back() - '0';
    const std::int64_t ofGroup = (64 * 64 + 64 * 32) * 4 / 16 / made.code->interface.threads;
    CHECK(std::ranges::count_if(lines, isLoad) == slots * ofGroup);
    const std::string wait = "vmcnt(" + std::to_string((slots - 2) * ofGroup) + ")";
    std::size_t waits = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CAPTURE(lines[i]);
      Lines without = lines;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      if (isLoad(lines[i])) CHECK(differs(without));
      if (!isWaitForLoads(lines[i])) continue;
      ++waits;
      Lines weaker = lines;
      weaker[i] = "s_waitcnt vmcnt(" + std::to_string((slots - 2) * ofGroup + 1) + ")";
      if (has(lines[i], wait.c_str()) && waits == 1) {
        CHECK(differs(without));
        CHECK(differs(weaker));
      } else {
        CHECK(has(lines[i], "vmcnt(0)")); // behind the loop: what was not wanted
      }
    }
    CHECK(waits == 2);
    // The wave's own accesses to LDS are over before others may write there.
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (has(lines[i], "s_barrier")) CHECK(has(lines[i - 1], "lgkmcnt(0)"));
  }
}

TEST_CASE("code that is not what was proven is an error that says where") {
  const target::GpuTarget *target = targetNamed("sm_80");
  if (target == nullptr) return;
  Compiled three = compiled(oneOfEach(3).front(), *target);
  const Compiled four = compiled(oneOfEach(4).front(), *target);
  three.code->rings = four.code->rings;
  const auto text = makeAssembly(*three.code, *target);
  REQUIRE_FALSE(text);
  CHECK(text.error().kind == Diag::CodeUnlikeSchedule);
  CHECK(text.error().message ==
        "the assembly of kernel 'product_3_0' for sm_80 does not do what was proven of its rings: "
        "it has the end in '$L__BB0_14', where there should be a copy or the end of a group");
  CHECK_FALSE(makeObject(*three.code, *target));
  CHECK_FALSE(reportOf(*three.code, *target));
}

namespace {

/// Two copies, each behind a jump: whether the code may do one of them without the other.
bool mayPart(const std::string &first, const std::string &second) {
  using target::RingEventKind;
  // Two copies or none, and the end of their group.
  const RingOrder both{{{.next = {2, 4}},
                        {},
                        {.event = target::RingEvent{RingEventKind::Copy}, .next = {3}},
                        {.event = target::RingEvent{RingEventKind::Copy}, .next = {4}},
                        {.next = {5}},
                        {.event = target::RingEvent{RingEventKind::Commit}, .next = {1}}}};
  const std::string copy = "cp.async.cg.shared.global [%r1], [%rd1], 16;\n";
  const std::string text = "\n{\nmov.u32 %r9, %tid.x;\nld.global.b32 %r5, [%rd1];\n" + first +
                           " bra $A;\n" + copy + "$A:\n" + second + " bra $B;\n" + copy +
                           "$B:\ncp.async.commit_group;\nret;\n}\n";
  return differenceFrom(both, targetNamed("sm_80")->ringsOf(text)).has_value();
}

} // namespace

TEST_CASE("jumps on one predicate go the same way, until it is set anew") {
  if (targetNamed("sm_80") == nullptr) return;
  const std::string first = "setp.eq.s32 %p1, %r5, 0;\n@%p1";
  CHECK_FALSE(mayPart(first, "@%p1"));
  CHECK(mayPart(first, "@!%p1"));
  CHECK(mayPart(first, "setp.lt.s32 %p1, %r5, 0;\n@%p1"));
}

TEST_CASE("jumps on one condition go the same way, in whatever form it is computed") {
  if (targetNamed("sm_80") == nullptr) return;
  CHECK_FALSE(mayPart("setp.gt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.u32 %p2, %r5, 9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.le.s32 %p1, %r5, 8;\n@%p1", "setp.ge.s32 %p2, %r5, 9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.le.s32 %p1, %r5, %r9;\n@%p1", "setp.gt.s32 %p2, %r5, %r9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.lt.s32 %p1, %r5, %r9;\n@%p1", "setp.gt.s32 %p2, %r9, %r5;\n@%p2"));
  CHECK_FALSE(mayPart("setp.eq.s32 %p1, %r5, %r9;\nnot.pred %p3, %p1;\n@%p3",
                      "setp.ne.s32 %p2, %r5, %r9;\n@%p2"));
  const std::string some = "and.b32 %r2, %r9, 24;\nsetp.eq.b32 %p1, %r2, 0;\n@%p1";
  CHECK_FALSE(mayPart(some, "and.b32 %r3, %r9, 24;\nsetp.eq.b32 %p2, %r3, 0;\n@%p2"));
  CHECK(mayPart(some, "and.b32 %r3, %r9, 24;\nsetp.ne.b32 %p2, %r3, 0;\n@%p2"));
  CHECK(mayPart(some, "and.b32 %r3, %r9, 56;\nsetp.eq.b32 %p2, %r3, 0;\n@%p2"));
}

TEST_CASE("conditions that only look alike may differ") {
  if (targetNamed("sm_80") == nullptr) return;
  CHECK(mayPart("setp.gt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.u32 %p2, %r5, 8;\n@!%p2"));
  CHECK(mayPart("setp.lt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.s32 %p2, %r5, 8;\n@%p2"));
  CHECK(mayPart("setp.gt.u32 %p1, %r5, -1;\n@%p1", "setp.lt.u32 %p2, %r5, 0;\n@!%p2"));
  CHECK(mayPart("setp.lt.f32 %p1, %r5, %r9;\n@%p1", "setp.ge.f32 %p2, %r5, %r9;\n@!%p2")); // NaN
  // What is read anew may be something else, into another register or into the same.
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n@%p1",
                "ld.global.b32 %r6, [%rd1];\nsetp.eq.s32 %p2, %r6, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n@%p1",
                "ld.global.b32 %r5, [%rd1];\nsetp.eq.s32 %p2, %r5, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n@%p1",
                "ld.global.v2.b32 {%r4, %r5}, [%rd1];\nsetp.eq.s32 %p2, %r5, 0;\n@%p2"));
  CHECK(mayPart("mov.u32 %r2, %clock;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1",
                "mov.u32 %r3, %clock;\nsetp.eq.s32 %p2, %r3, 0;\n@%p2"));
}

namespace {

constexpr const char *kMachinesWithEngine[] = {"sm_90a", "sm_100a", "sm_103a"};

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
bool isBox(const std::string &line) { return has(line, "cp.async.bulk.tensor."); }

/// Assembly to be changed, and held to what was proven.
struct Assembly {
  Assembly(const TableKernel &of, const char *machine)
      : target(*targetNamed(machine)), made(compiled(of, target)),
        lines(linesOf(*makeAssembly(*made.code, target))) {}

  /// What is different; empty: nothing.
  std::string difference(const Lines &changed) const {
    return differenceFrom(made.code->rings, target.ringsOf(textOf(changed))).value_or("");
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
        CHECK(count(assembly.lines, isBox) >= 2);
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
        if (isEvent || isQuestion(line)) CHECK(assembly.without(i) != "");
        if (isEvent) CHECK(assembly.twice(i) != "");
        if (isQuestion(line)) CHECK(assembly.twice(i) == ""); // the second answer counts
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
  says(of.without(make), "the making of barrier 2 for 2 arrivals",
       "the making of barrier 2 for 1 arrival");
  says(of.without(show), "the end", "the fence behind new barriers");
  says(of.without(of.find(isBarrier, show)), "a wait at barrier 0", "a meeting");

  // In another order: bytes that are announced when a box may have landed, a box in a slot that is
  // not empty, an arrival of who has not waited, barriers that the engine may not see.
  says(of.moved(announcement, first + 1), loads, announce);
  says(of.moved(first, empty - 1), loads, waitForEmpty);
  says(of.moved(arrival, full - 1), arrives, waitForFull);
  says(of.moved(show, make), "the fence behind new barriers",
       "the making of barrier 0 for 1 arrival");

  // Other barriers, bytes and arrivals.
  says(changed(lineWith(", barriers2;"), "barriers2", "barriers"), announced, waitForFull);
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
