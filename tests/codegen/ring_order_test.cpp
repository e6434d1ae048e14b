#include "backend/analysis/ring_copies.h"
#include "backend/report.h"
#include "backend/schedule/program/channels.h"
#include "llvm/Support/Regex.h"
#include "tests/codegen/random_loops.h"
#include "tests/codegen/ring_assembly.h"
#include "tests/support/made_object.h"

/// What the assembly of pipelined loops does, against what was proven of them.
namespace imbrex::testing {
namespace {

constexpr const char *kMachines[] = {"sm_80", "sm_89", "sm_120a"};

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

/// May end between its loops, by what it has loaded.
struct leaving_rows {
  void operator()(view<const f32, 2> x, scalar<i32> n, view<f32, 2> sums) const {
    var all = zeros<f32, 8, 64>();
    for (auto m : range(0, n)) {
      for (auto k : range(0, n).pipelined(3)) all += x[box<8, 64>(m, k)];
      exit_if(sum(sum<1>(x[box<8, 64>(m, 0)])) > 1000.0F);
    }
    for (auto k : range(0, n).pipelined(3)) all += x[box<8, 64>(k, k)];
    sums[box<8, 64>(0, 0)] = all;
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
  kernels.push_back(
      row("leaving", leaving_rows{}, {1, 1, 1}, {"random:40x300", "3", "zeros:8x64"}));
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

TEST_CASE("the assembly of random loops, with assertions in some, is what was meant") {
  // Also loops in a row over the same numbers by other steps, jumps to jumps to copies, a condition
  // of what was left before the index went on, and a flag that is set anew once it was asked.
  std::vector<std::uint64_t> seeds{26, 53, 63, 142, 335, 132};
  for (std::uint64_t seed = 0; seed < 14; ++seed) seeds.push_back(seed);
  for (const char *name : {"sm_80", "sm_90a", "gfx950"}) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    for (const std::uint64_t seed : seeds) {
      CAPTURE(name);
      CAPTURE(seed);
      const Compiled made = compiled(randomLoops(seed), *target);
      const auto text = makeAssembly(*made.code, *target);
      CHECK_MESSAGE(text, text.error().message);
    }
  }
}

TEST_CASE("the assembly of nests and rows of many loops is what was meant") {
  // Also a byte that is made of a word in two ways.
  for (const char *name : {"sm_80", "sm_90a", "gfx950"}) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    for (const std::uint64_t seed : {0, 2, 3, 4, 5, 6, 10, 13}) {
      CAPTURE(name);
      CAPTURE(seed);
      const Compiled made = compiled(randomLoops(seed, kManyLoops), *target);
      const auto text = makeAssembly(*made.code, *target);
      CHECK_MESSAGE(text, text.error().message);
    }
  }
}

TEST_CASE("so many conditions that no one can look at all choices of them are compared, too") {
  const target::GpuTarget *target = targetNamed("sm_80");
  if (target == nullptr) return;
  // Copies of a stream, each under a condition of its own.
  std::vector<TableKernel> kernels = oneOfEach(2);
  const auto stream = std::ranges::find_if(
      kernels, [](const TableKernel &one) { return one.name.starts_with("stream"); });
  REQUIRE(stream != kernels.end());
  const Compiled made = compiled(*stream, *target);
  Diagnostics diagnostics;
  auto schedule = passes::pipeline::readSchedule(made.kernel, target->machine(), diagnostics);
  REQUIRE(schedule);
  std::optional<schedule::ScheduleOp> copy, commit;
  schedule::forEachOp(schedule->program.roles.front().body, [&](const schedule::ScheduleOp &op) {
    if (op.kind == schedule::ScheduleOpKind::Issue) copy = op;
    if (op.kind == schedule::ScheduleOpKind::Commit) commit = op;
  });
  REQUIRE(copy);
  REQUIRE(commit);
  constexpr int kCopies = 12; // 2^12 choices
  std::vector<schedule::ScheduleOp> body;
  for (int i = 0; i < kCopies; ++i)
    body.push_back({.kind = schedule::ScheduleOpKind::If,
                    .guard = {schedule::Guard::Measure::Left, schedule::TripsId(0), i},
                    .body = {*copy}});
  body.push_back(*commit);
  schedule->program.roles.front().body = std::move(body);
  const RingOrder order = ringOrderOf(*schedule, made.kernel, target->machine());
  CHECK(order.steps.size() < 100);
  const auto differs = [&](std::size_t copies, std::size_t commits) {
    std::vector<target::RingEvent> events(copies, {target::RingEventKind::Copy});
    events.insert(events.end(), commits, {target::RingEventKind::Commit});
    return differenceFrom(order, {{.label = "all", .events = std::move(events), .ends = true}})
        .has_value();
  };
  const std::size_t ofOne =
      analysis::copiesOf(made.kernel, schedule->rings.front(), target->machine())
          .vectors.registers.size() /
      static_cast<std::size_t>(
          analysis::copiesOf(made.kernel, schedule->rings.front(), target->machine())
              .vectors.width);
  CHECK(differs(0, 1)); // that there are copies at all can be told
  for (std::size_t copies = 1; copies <= kCopies; ++copies) {
    CAPTURE(copies);
    CHECK_FALSE(differs(copies * ofOne, 1));
  }
  CHECK(differs((kCopies + 1) * ofOne, 1));
  CHECK(differs(ofOne, 0));
  CHECK(differs(ofOne, 2));
}

namespace {

/// Of a random kernel's assembly: which lines may not be another's place, or go the other way.
class Changed {
public:
  Changed(const char *target, std::uint64_t seed)
      : target_(targetNamed(target)), made_(compiled(randomLoops(seed), *target_)),
        lines_(linesOf(*makeAssembly(*made_.code, *target_))) {}

  bool differs(const Lines &lines) const {
    return differenceFrom(made_.code->rings, target_->ringsOf(textOf(lines))).has_value();
  }
  const Lines &lines() const { return lines_; }

  /// How many of the lines with this text can be told from those with the other in its place.
  int foundWith(const std::string &text, const std::string &other) const {
    int found = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::size_t at = lines_[i].find(text);
      if (at == std::string::npos) continue;
      Lines changed = lines_;
      changed[i].replace(at, text.size(), other);
      found += differs(changed) ? 1 : 0;
    }
    return found;
  }

private:
  const target::GpuTarget *target_;
  Compiled made_;
  Lines lines_;
};

} // namespace

TEST_CASE("a jump around copies that goes the other way is found, whatever was set anew") {
  if (targetNamed("sm_80") != nullptr) {
    const Changed code("sm_80", 335);
    CHECK_FALSE(code.differs(code.lines()));
    // Two loads depend on nothing but what is left, and one of them asks for it the other way
    // round.
    CHECK(code.foundWith("@%p", "@!%p") >= 2);
    for (std::size_t i = 0; i < code.lines().size(); ++i) {
      Lines twice = code.lines();
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), twice[i]);
      if (isCopy(code.lines()[i])) CHECK(code.differs(twice));
    }
  }
  if (targetNamed("gfx950") != nullptr) {
    const Changed code("gfx950", 9);
    CHECK_FALSE(code.differs(code.lines()));
    CHECK(code.foundWith("s_cbranch_vccz", "s_cbranch_vccnz") >= 1);
    CHECK(code.foundWith("s_cbranch_vccnz", "s_cbranch_vccz") >= 1);
    CHECK(code.foundWith("global_load_lds", "global_load") >= 4);
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
            // Who reads what others have copied waits for one group more, before all meet.
            const int left = std::stoi(line.substr(line.rfind('\t') + 1));
            CHECK((left == slots - 1 || left == slots - 2));
            weaker[i] = "cp.async.wait_group " + std::to_string(left + 1) + ";";
            CHECK(differs(weaker));
            stronger[i] = "cp.async.wait_all;";
            CHECK_FALSE(differs(stronger));
          }
        }
      }
  }
}

TEST_CASE("what is copied of boxes that lie in their views as a whole has no mask") {
  for (const char *name : kMachines) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    for (const int slots : {2, 3, 5})
      for (const TableKernel &one : oneOfEach(slots)) {
        if (!one.name.starts_with("product")) continue;
        CAPTURE(name);
        CAPTURE(one.name);
        std::ptrdiff_t masked = 0, whole = 0;
        for (const std::string &line :
             linesOf(*makeAssembly(*compiled(one, *target).code, *target)))
          if (isCopy(line)) ++(std::ranges::count(line, ',') == 3 ? masked : whole);
        // A body for each slot, as the products are a unit's; one for the other trips, and the
        // groups in front.
        CHECK(whole > 0);
        CHECK(whole % slots == 0);
        CHECK(masked == whole);
      }
  }
}

TEST_CASE("long trips are code once, with a branch around masked copies, and lack none of them") {
  for (const char *name : kMachines) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    for (const int slots : {2, 3}) {
      const TableKernel one = std::move(longTrips(slots).back());
      CAPTURE(name);
      CAPTURE(one.name);
      const Compiled made = compiled(one, *target);
      const Lines lines = linesOf(*makeAssembly(*made.code, *target));
      std::ptrdiff_t masked = 0, whole = 0;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!isCopy(lines[i])) continue;
        ++(std::ranges::count(lines[i], ',') == 3 ? masked : whole);
        Lines without = lines;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(differenceFrom(made.code->rings, target->ringsOf(textOf(without))));
      }
      // Of two tiles, 16 bytes each; masked in front of the loop as well.
      const std::int64_t ofTrip = 2 * 32 * 32 * 4 / 16 / made.code->interface.threads;
      CHECK(whole == ofTrip);
      CHECK(masked == slots * ofTrip);
      CHECK(count(lines, isWait) == 1);
    }
  }
}

namespace {

/// The pointers into global memory that loops have at their heads.
std::size_t pointersOfLoops(const GpuCode &code) {
  constexpr unsigned kGlobal = 1;
  std::size_t count = 0;
  for (const llvm::Function &function : *code.module)
    for (const llvm::BasicBlock &block : function)
      for (const llvm::PHINode &phi : block.phis()) {
        const auto *pointer = llvm::dyn_cast<llvm::PointerType>(phi.getType());
        count += pointer && pointer->getAddressSpace() == kGlobal;
      }
  return count;
}

} // namespace

TEST_CASE("rows of a box have one distance in long trips, in short ones a pointer each") {
  for (const char *name : kMachines) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) continue;
    CAPTURE(name);
    CHECK(pointersOfLoops(*compiled(longTrips(2).back(), *target).code) == 0);
    // A row of each factor's tile for each thread; they have a body for each slot.
    for (const TableKernel &one : oneOfEach(3))
      if (one.name.starts_with("product"))
        CHECK(pointersOfLoops(*compiled(one, *target).code) == 2);
  }
}

TEST_CASE("in front of whole trips' copies there is a branch, and nothing that other trips need") {
  const target::GpuTarget *target = targetNamed("sm_80");
  if (target == nullptr) return;
  const Compiled made = compiled(longTrips(2).back(), *target);
  const Lines lines = linesOf(*makeAssembly(*made.code, *target));
  const auto wait = std::ranges::find_if(lines, isWait);
  REQUIRE(wait != lines.end());
  const auto meeting = std::find_if(wait, lines.end(), isBarrier);
  const auto isBranch = [](const std::string &line) { return has(line, "bra"); };
  const auto branch = std::find_if(meeting, lines.end(), isBranch);
  REQUIRE(branch != lines.end());
  const auto isOfIndices = [](const std::string &line) {
    return has(line, "add.") || has(line, "sub.") || has(line, "mul.");
  };
  CHECK(std::count_if(meeting, branch, isOfIndices) == 0);
}

namespace {

/// Threads hand on what others of them have copied.
struct turned_tiles {
  void operator()(view<const f32, 2> x, view<f32, 2> y) const {
    auto [n] = program_id<1>();
    for (auto k : range(0, cdiv(x.extent(1), 32)).pipelined(3))
      y[box<32, 32>(k, n)] = permute<1, 0>(x[box<32, 32>(n, k)]);
  }
};

} // namespace

TEST_CASE("a meeting that the assembly lacks is found where no other barrier takes its place") {
  const target::GpuTarget *target = targetNamed("sm_80");
  if (target == nullptr) return;
  const TableKernel one =
      row("turned", turned_tiles{}, {2, 1, 1}, {"random:64x100", "zeros:100x64"});
  const Compiled made = compiled(one, *target);
  const Lines lines = linesOf(*makeAssembly(*made.code, *target));
  Lines without = lines, weaker = lines;
  const auto wait = std::ranges::find_if(without, isWait);
  CHECK(has(*wait, "\t1;"));
  const auto meeting = std::find_if(wait, without.end(), isBarrier);
  REQUIRE(meeting != without.end());
  without.erase(meeting);
  const auto difference = differenceFrom(made.code->rings, target->ringsOf(textOf(without)));
  REQUIRE(difference);
  CHECK(has(difference->what, "a meeting"));
  *std::ranges::find_if(weaker, isWait) = "cp.async.wait_group 2;";
  CHECK(differenceFrom(made.code->rings, target->ringsOf(textOf(weaker))));
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
  CHECK_MESSAGE(llvm::Regex("^the assembly of kernel 'product_3_0' for sm_80 does not do what was "
                            "proven of its rings: it has the end in '\\$L__BB0_[0-9]+', where "
                            "there should be a copy or the end of a group$")
                    .match(text.error().message),
                text.error().message);
  CHECK_FALSE(makeObject(*three.code, *target));
  CHECK_FALSE(reportOf(*three.code, *target));
}

} // namespace imbrex::testing
