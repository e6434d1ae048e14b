#include "backend/compile.h"
#include "backend/report.h"
#include "tests/codegen/pipelined_kernels.h"

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

TEST_CASE("jumps on one predicate go the same way, until it is set anew") {
  const auto graphOf = [](const std::string &between) {
    const target::GpuTarget *target = targetNamed("sm_80");
    return target->ringsOf(
        "\n{\n@%p1 bra $A;\ncp.async.cg.shared.global [%r1], [%rd1], 16;\n$A:\n" + between +
        "@%p1 bra $B;\ncp.async.cg.shared.global [%r1], [%rd1], 16;\n$B:\n"
        "cp.async.commit_group;\nret;\n}\n");
  };
  if (targetNamed("sm_80") == nullptr) return;
  using target::RingEventKind;
  // Two copies or none, and the end of their group.
  const RingOrder both{{{.next = {2, 4}},
                        {},
                        {.event = target::RingEvent{RingEventKind::Copy}, .next = {3}},
                        {.event = target::RingEvent{RingEventKind::Copy}, .next = {4}},
                        {.next = {5}},
                        {.event = target::RingEvent{RingEventKind::Commit}, .next = {1}}}};
  CHECK_FALSE(differenceFrom(both, graphOf("")));
  CHECK(differenceFrom(both, graphOf("setp.lt.s32 %p1, %r1, 0;\n")));
}

} // namespace imbrex::testing
