#include "backend/interpret/interpret.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "tests/codegen/ring_assembly.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// A kernel with a ring, by hand.
std::string withRing(const std::string &ops) {
  return "kernel @k(%p: ptr<const f32>, %n: i32, %b: bool) stage scheduled lanes 32 warps 1 {\n"
         "layout #0 = register [[1],[2]] lane [[4],[8],[16],[32],[64]] warp [] of [128]\n"
         "layout #1 = register [[1],[2]] lane [[8],[4],[16],[32],[64]] warp [] of [128]\n"
         "layout #2 = offset [[1],[2],[4],[8],[16],[32],[64]] of [128]\n"
         "%r = ring.new [slots = 2] : ring<f32[128]> #0\n%true = constant true : bool\n"
         "%i = arange : i32[128] #0\n%p0 = broadcast %p : ptr<const f32>[128] #0\n"
         "%at = ptr.add %p0, %i : ptr<const f32>[128] #0\n%zero = constant 0 : i32\n"
         "%one = constant 1 : i32\n" +
         ops + "}\n";
}

const std::string kCopy = "ring.copy %r, %true, %at [width = 4]\nring.commit\n";
const std::string kWait = "ring.drain\nmeet\n";
const std::string kTake = "%s = ring.slot %r : shared<f32[128]> #2\n";
const std::string kLoad = "%x = shared.load %s : f32[128] #1\n";
const std::string kRead = kTake + kLoad; // of what others have copied
const std::string kReadOwn = kTake + "%x = shared.load %s : f32[128] #0\n";
const std::string kReadNext = "%t = ring.slot %r : shared<f32[128]> #2\n"
                              "%y = shared.load %t : f32[128] #1\n";

/// What the proof of a kernel says against it.
std::string checkedKernel(const std::string &text, const char *machine = "sm_120a") {
  Diagnostics diagnostics;
  passes::pipeline::proveRings(parsedKernel(text), *machine::findMachine(machine), diagnostics);
  return diagnostics.render();
}

std::string checked(const std::string &ops, const char *machine = "sm_120a") {
  return checkedKernel(withRing(ops), machine);
}

/// A kernel on tiles of 32 x 32, by hand.
std::string withTiles(const std::string &ops) {
  return R"(
kernel @k(%v: view<const f32, 2>, %n: i32) stage scheduled lanes 32 warps 1 {
  layout #0 = register [[0,1],[0,2],[4,0],[8,0],[16,0]] lane [[0,4],[0,8],[0,16],[1,0],[2,0]] warp [] of [32x32]
  layout #1 = offset [[0,1],[0,2],[0,4],[0,8],[0,16],[1,0],[2,0],[4,0],[8,0],[16,0]] of [32x32]
  %true = constant true : bool
)" + ops +
         "}\n";
}

} // namespace

TEST_CASE("a kernel with rings from a file is held to the same proof") {
  CHECK(checked(kCopy + kWait + kRead) == "");
  CHECK(checked(kCopy + "ring.drain\n" + kRead) != "");
  CHECK(checked(kCopy + "meet\n" + kRead) != "");
  CHECK(checked(kCopy + "meet\nring.drain\n" + kRead) != "");
  CHECK(checked(kCopy + "ring.drain [count = 1]\nmeet\n" + kRead) != "");
  CHECK(checked(kRead) != "");
  // Twice round: nobody may fill a slot that others still read.
  const std::string twice = kCopy + kCopy + kWait + kRead + kReadNext;
  CHECK(checked(twice) == "");
  CHECK(checked(twice + "meet\n" + kCopy + "ring.drain\n") == "");
  CHECK(checked(twice + kCopy + "ring.drain\n") != "");
  // In a branch, and behind a way out.
  CHECK(checked("if %b {\n" + kCopy + kWait + kRead + "yield\n}\n") == "");
  CHECK(checked("if %b {\n" + kCopy + "yield\n}\n" + kWait + kRead) != "");
  CHECK(checked(kCopy + "exit_if %b\n" + kWait + kRead) != "");
  CHECK(checked("exit_if %b\n" + kCopy + kWait + kRead) == "");
  CHECK(checked("while {\n" + kCopy + kWait + kRead + "meet\nbreak_if %b\nyield\n}\n") == "");
  CHECK(checked("while {\n" + kCopy + kWait + kRead + "break_if %b\nyield\n}\n") == "");
}

TEST_CASE("under other names a tile has elements that other threads have copied") {
  const auto checkedRead = [](const std::string &read) {
    return checkedKernel(withTiles(R"(
  %r = ring.new [slots = 2] : ring<f32[32x32]> #0
  ring.copy_box %r, %true, %v, %n, %n [width = 4]
  ring.commit
  ring.drain
  %s = ring.slot %r : shared<f32[32x32]> #1
  %t = permute %s [order = [1, 0]] : shared<f32[32x32]>
  %x = shared.load )" + read + " : f32[32x32] #0\n"));
  };
  CHECK(checkedRead("%s") == "");
  CHECK(checkedRead("%t") != "");
}

TEST_CASE("a product waits for the slots of both its factors") {
  const auto checkedAfter = [](const std::string &first, const std::string &second, int inFlight) {
    return checkedKernel(withTiles(R"(
  %a = ring.new : ring<f32[32x32]> #0
  %b = ring.new : ring<f32[32x32]> #0
  ring.copy_box )" + first + R"(, %true, %v, %n, %n [width = 4]
  ring.commit
  ring.copy_box )" + second + R"(, %true, %v, %n, %n [width = 4]
  ring.commit
  ring.drain [count = )" + std::to_string(inFlight) +
                                   R"(]
  meet
  %s = ring.slot %a : shared<f32[32x32]> #1
  %t = ring.slot %b : shared<f32[32x32]> #1
  %none = constant 0 : f32
  %zero = broadcast %none : f32[32x32] #0
  %d = dot %s, %t, %zero : f32[32x32] #0
  ring.drain
)"));
  };
  CHECK(checkedAfter("%a", "%b", 0) == "");
  CHECK(checkedAfter("%a", "%b", 1) != "");
  CHECK(checkedAfter("%b", "%a", 0) == "");
  CHECK(checkedAfter("%b", "%a", 1) != "");
}

TEST_CASE("a slot is held until its last reader, wherever that stands") {
  const std::string two = kCopy + kCopy + kWait + kTake;
  const std::string again = "meet\n" + kCopy + "ring.drain\n";
  CHECK(checked(two + kLoad + again) == "");
  CHECK(checked(two + again + kLoad) != "");
  CHECK(checked(two + kLoad + again + "%late = shared.load %s : f32[128] #1\n") != "");
  CHECK(checked(two + kReadNext + kLoad) == ""); // the one before the last that was taken
  CHECK(checked(two + kReadNext + again + kLoad) != "");
  // The same in a body, and of a ring that has gone on in one.
  CHECK(checked(two + "if %b {\n" + kLoad + "yield\n}\n" + again) == "");
  CHECK(checked(two + again + "if %b {\n" + kLoad + "yield\n}\n") != "");
  CHECK(checked(two + "if %b {\n" + kReadNext + "yield\n}\n" + kLoad)
            .find("'shared.load' reads a slot of a ring that has gone on in a loop or condition") !=
        std::string::npos);
}

TEST_CASE("a thread that reads what it has copied itself need not meet the others, but waits") {
  const std::string ahead = kCopy + "ring.drain\n" + kReadOwn + kCopy;
  CHECK(checked(ahead + "ring.drain\n") == "");
  CHECK(checked(kCopy + kReadOwn) != "");
  CHECK(checked(kCopy + "ring.drain [count = 1]\n" + kReadOwn) != "");
  CHECK(checked(kCopy + kWait + kReadOwn) == ""); // who meets them all the same may do so
  // Its reads are over when the slot is filled again only where copies are not counted.
  const std::string twice = kCopy + kCopy + "ring.drain\n" + kReadOwn;
  CHECK(checked(twice + kCopy + "ring.drain\n") == "");
  CHECK(checked(twice + kCopy + "ring.drain\n", "gfx950") != "");
  // Two lanes, or two warps, have one element: another may have copied it.
  const auto copies = [&](const std::string &layout) {
    Diagnostics diagnostics;
    std::string text = withRing(kCopy + "ring.drain\n" + kReadOwn);
    const std::size_t at = text.find("layout #0 = "), end = text.find('\n', at);
    text.replace(at, end - at, "layout #0 = " + layout + " of [128]");
    passes::pipeline::proveRings(parsedKernel(text), *machine::findMachine("sm_120a"), diagnostics);
    return diagnostics.render();
  };
  CHECK(copies("register [[1],[2]] lane [[4],[8],[16],[32],[64]] warp []") == "");
  CHECK(copies("register [[1],[2],[64]] lane [[4],[8],[16],[32],[0]] warp []") != "");
}

TEST_CASE(
    "a condition that does not count trips cannot be read, nor one of a loop that may be left") {
  constexpr const char *kUnread = "the schedule of kernel 'k' cannot be read from its code";
  CHECK(checked("ring.copy %r, %b, %at [width = 4]\n").find(kUnread) != std::string::npos);
  const auto loop = [](const std::string &condition, const std::string &more) {
    return "for %zero, %n, %one (%k: i32) {\n%d = sub %n, %k : i32\n%u = bitcast %d : u32\n"
           "%z = constant 0 : u32\n%more = " +
           condition + " : bool\nring.copy %r, %more, %at [width = 4]\nring.commit\n" + kWait +
           kRead + "meet\n" + more + "yield\n}\n";
  };
  CHECK(checked(loop("gt %u, %z", "")) == "");
  CHECK(checked(loop("gt %d, %zero", "")).find(kUnread) != std::string::npos); // with a sign
  CHECK(checked(loop("ge %u, %z", "")).find(kUnread) != std::string::npos);
  CHECK(checked(loop("gt %u, %z", "break_if %b\n")).find(kUnread) != std::string::npos);
  // 2^32 + 0 trips are not 0.
  const auto far = [](const std::string &count) {
    return "%n64 = cast %n : i64\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n"
           "for %0, %n64, %1 (%k: i64) {\n%d = sub %n64, %k : i64\n%u = bitcast %d : u64\n"
           "%z = constant " +
           count + " : u64\n%more = gt %u, %z : bool\nring.copy %r, %more, %at [width = 4]\n" +
           "ring.commit\n" + kWait + kRead + "meet\nyield\n}\n";
  };
  CHECK(checked(far("0")) == "");
  CHECK(checked(far("4294967296")).find("with a number below 2^31") != std::string::npos);
}

TEST_CASE("what stands behind a way out of a branch waits and meets for itself") {
  const target::GpuTarget *target = targetNamed("sm_120a");
  if (target == nullptr) return;
  ir::Kernel kernel = parsedKernel(
      withRing("if %b {\n" + kWait + "exit_if %b\nyield\n}\n" + kCopy + kWait + kRead));
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, *target, analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const Lines lines = linesOf(*makeAssembly(*code, *target));
  CHECK_FALSE(differenceFrom(code->rings, target->ringsOf(textOf(lines))));
  Lines without = lines;
  std::erase_if(without, [](const std::string &line) { return isCopy(line) || isCommit(line); });
  for (const auto is : {isWait, isBarrier}) {
    const auto last = std::find_if(without.rbegin(), without.rend(), is);
    REQUIRE(last != without.rend());
    *last = "";
  }
  CHECK(differenceFrom(code->rings, target->ringsOf(textOf(without))));
}

TEST_CASE("an if by hand may hold nothing but copies, also where copies have no conditions") {
  const target::GpuTarget *target = targetNamed("gfx950");
  if (target == nullptr) return;
  ir::Kernel kernel = parsedKernel(R"(
kernel @k(%p: ptr<const f32>, %q: ptr<f32>, %b: bool) stage scheduled lanes 64 warps 1 {
  layout #0 = register [[1],[2]] lane [[4],[8],[16],[32],[64],[128]] warp [] of [256]
  layout #1 = offset [[1],[2],[4],[8],[16],[32],[64],[128]] of [256]
  %r = ring.new [slots = 2] : ring<f32[256]> #0
  %true = constant true : bool
  %i = arange : i32[256] #0
  %p0 = broadcast %p : ptr<const f32>[256] #0
  %at = ptr.add %p0, %i : ptr<const f32>[256] #0
  ring.copy %r, %true, %at [width = 4]
  ring.commit
  if %b {
    ring.copy %r, %true, %at [width = 4]
    yield
  }
  ring.commit
  ring.drain
  meet
  %s = ring.slot %r : shared<f32[256]> #1
  %x = shared.load %s : f32[256] #0
  %q0 = broadcast %q : ptr<f32>[256] #0
  %to = ptr.add %q0, %i : ptr<f32>[256] #0
  store %to, %x
}
)");
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, *target, analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto text = makeAssembly(*code, *target);
  REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : text.error().message));
  // The copy outside may not be missing.
  Lines lines = linesOf(*text);
  const auto copy = std::ranges::find_if(lines, isLoadToLds);
  REQUIRE(copy != lines.end());
  *copy = "";
  CHECK(differenceFrom(code->rings, target->ringsOf(textOf(lines))));
}

TEST_CASE("the interpreter finds slots that are filled or read too early") {
  const auto interpreted = [](const std::string &ops) {
    const ir::Kernel kernel = parsedKernel(withRing(ops));
    std::vector<float> data(128, 1.0F);
    const std::vector<ir::Argument> arguments{
        {.data = reinterpret_cast<std::byte *>(data.data()), .bytes = 512},
        {.scalar = 1},
        {.scalar = 0}};
    Diagnostics diagnostics;
    interpret::run(kernel, {}, arguments, diagnostics, {});
    return diagnostics.render();
  };
  CHECK(interpreted(kCopy + kRead) == "");
  CHECK(interpreted(kCopy + kCopy + kCopy)
            .find("'ring.copy' comes to a slot that was not read: "
                  "the ring has 2 slots") != std::string::npos);
  CHECK(interpreted(kRead).find("'ring.slot' finds no slot that was filled and not") !=
        std::string::npos);
  CHECK(interpreted("ring.copy %r, %b, %at\n" + kRead).find("finds no slot") != std::string::npos);
}
