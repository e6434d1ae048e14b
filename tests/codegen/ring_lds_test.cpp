#include "tests/codegen/ring_assembly.h"
#include "tests/support/parsed_kernel.h"

/// What AMD's assembly of pipelined loops does with LDS, against what was proven of them.
namespace imbrex::testing {

TEST_CASE("a load to LDS that is missing is found but in one of a loop's two codes") {
  const target::GpuTarget *target = targetNamed("gfx950");
  if (target == nullptr) return;
  for (const TableKernel &one : oneOfEach(3)) {
    CAPTURE(one.name);
    const Compiled made = compiled(one, *target);
    const Lines lines = linesOf(*makeAssembly(*made.code, *target));
    std::ptrdiff_t loads = 0, missed = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!isLoadToLds(lines[i])) continue;
      Lines without = lines;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      ++loads;
      missed += !differenceFrom(made.code->rings, target->ringsOf(textOf(without)));
    }
    // A wave alone meets nobody, and where its whole trips, or the others, lack the load, they do
    // what no trips do.
    const bool hasWholeTrips = one.name.starts_with("product");
    CHECK(missed == (hasWholeTrips ? 2 : 0));
    CHECK((loads > 0) == !one.name.starts_with("attention"));
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
      return has(line, "buffer_load_dwordx4") && has(line, " lds"); // of a view that is in reach
    };
    const auto isWaitForLoads = [](const std::string &line) {
      return has(line, "s_waitcnt") && has(line, "vmcnt(");
    };
    const auto differs = [&](const Lines &other) {
      return differenceFrom(made.code->rings, target->ringsOf(textOf(other))).has_value();
    };
    // 64 x 64 and 64 x 32 elements of 4 bytes, 16 bytes a lane: all slots but one before the first
    // trip, each in the loop of whole trips, and one in that of the others.
    const int slots = one.name.back() - '0';
    const std::int64_t ofGroup = (64 * 64 + 64 * 32) * 4 / 16 / made.code->interface.threads;
    CHECK(std::ranges::count_if(lines, isLoad) == 2 * slots * ofGroup);
    const std::string wait = "vmcnt(" + std::to_string((slots - 2) * ofGroup) + ")";
    int waits = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CAPTURE(lines[i]);
      Lines without = lines;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      if (isLoad(lines[i])) CHECK(differs(without));
      if (!isWaitForLoads(lines[i])) continue;
      ++waits;
      Lines weaker = lines;
      weaker[i] = "s_waitcnt vmcnt(" + std::to_string((slots - 2) * ofGroup + 1) + ")";
      if (has(lines[i], wait.c_str()) && waits <= slots + 1) {
        CHECK(differs(without));
        CHECK(differs(weaker));
      } else {
        CHECK(has(lines[i], "vmcnt(0)")); // behind the loops: what was not wanted
      }
    }
    CHECK(waits == slots + 2);
    // The wave's own accesses to LDS are over before others may write there.
    const auto isMark = [](const std::string &line) { return has(line, ".loc"); };
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!has(lines[i], "s_barrier")) continue;
      std::size_t before = i - 1;
      while (isMark(lines[before])) --before;
      CHECK(has(lines[before], "lgkmcnt(0)"));
    }
  }
}

namespace {

/// Eight loads to LDS a trip, of which one wave brings 1 KB each.
struct counted_rows {
  static constexpr int warps = 1;
  int slots;
  void operator()(view<const i32, 1> x, view<i32, 1> sums) const {
    for (auto i : range(cast<i32>(sums.extent(0))).pipelined(slots))
      sums[box<1>(i)] = reshape<1>(sum(x[box<2048>(i)]));
  }
};

} // namespace

TEST_CASE("more loads to LDS than their counter counts are waited for down to what it can name") {
  const target::GpuTarget *target = targetNamed("gfx950");
  if (target == nullptr) return;
  for (int slots = 6; slots <= 16; ++slots) {
    CAPTURE(slots);
    const Compiled made = compiled(
        row("counted_rows", counted_rows{slots}, {1, 1, 1}, {"random:40960", "zeros:20"}), *target);
    const auto text = makeAssembly(*made.code, *target);
    REQUIRE_MESSAGE(text, text.error().message);
    // In front of a read all but the trips behind it have landed; vmcnt(63) would be no wait.
    const std::string wait = "vmcnt(" + std::to_string(std::min((slots - 2) * 8, 62)) + ")";
    CHECK_MESSAGE(has(*text, wait.c_str()), *text);
    // No wave barrier is a meeting without its wait: loads to LDS overtake the wave's own reads.
    std::string weaker = *text;
    const std::string over = "lgkmcnt(0)";
    for (std::size_t at = 0; (at = weaker.find(over, at)) != std::string::npos;)
      weaker.replace(at, over.size(), "lgkmcnt(1)");
    CHECK(differenceFrom(made.code->rings, target->ringsOf(weaker)));
  }
}

TEST_CASE(
    "the only wave of a block meets nobody, and need not wait for its accesses to LDS there") {
  const target::GpuTarget *target = targetNamed("gfx1201");
  if (target == nullptr) return;
  const TableKernel one{.name = "k",
                        .kernel = parsedKernel(R"(
kernel @k(%a: view<const f8e5m2, 2>, %b: view<const f8e5m2, 2>, %c: view<f32, 2>) stage tiles {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %2 = constant 2 : i32
  %zero = constant 0.0 : f32[16x8]
  %sum = for %0, %2, %1, %zero [pipelined = 2] (%k: i32, %s: f32[16x8]) {
    %x = view.load %a, %0, %k : f8e5m2[16x16]
    %y = view.load %b, %0, %k : f8e5m2[8x16]
    %t = permute %y [order = [1, 0]] : f8e5m2[16x8]
    %d = dot %x, %t, %s : f32[16x8]
    yield %d
  } : f32[16x8]
  view.store %c, %sum, %0, %0
})"),
                        .grid = {},
                        .arguments = {}};
  const Compiled made = compiled(one, *target);
  const auto text = makeAssembly(*made.code, *target);
  REQUIRE_MESSAGE(text, text.error().message);
  const Lines lines = linesOf(*text);
  const auto differs = [&](const Lines &other) {
    return differenceFrom(made.code->rings, target->ringsOf(textOf(other))).has_value();
  };
  const auto meets = [](const std::string &line) { return has(line, "wave barrier"); };
  // Two in the code of whole trips, which all may be others, and two in that of the others.
  CHECK(std::ranges::count_if(lines, meets) == 4);
  int met = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!meets(lines[i]) || ++met <= 2) continue;
    Lines without = lines;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(differs(without));
  }
}

} // namespace imbrex::testing
