#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>

using namespace imbrex;

namespace {

/// A launch over buffers of i32, for what it reports.
class Launch {
public:
  explicit Launch(std::string ops, std::string parameters = "%x: ptr<i32>, %y: ptr<i32>")
      : text_("kernel @k(" + std::move(parameters) + ") stage tiles {\n" + std::move(ops) + "}\n") {
    for (auto *buffer : {&x, &y}) {
      ir::Argument argument;
      argument.data = reinterpret_cast<std::byte *>(buffer->data());
      argument.bytes = std::ssize(*buffer) * 4;
      argument.extents = {4};
      argument.strides = {1};
      arguments.push_back(argument);
    }
  }

  bool run() {
    auto kernel = ir::parse(text_, "k.imx", diagnostics_);
    REQUIRE_MESSAGE((kernel && ir::verify(*kernel, diagnostics_)), diagnostics_.render());
    return interpret::run(*kernel, grid, arguments, diagnostics_, options);
  }
  std::string error() {
    CHECK_FALSE(run());
    return diagnostics_.render();
  }
  /// Empty when all went well.
  std::string report() {
    run();
    return diagnostics_.render();
  }

  // Apart in memory, so that one past x is not y.
  std::array<std::int32_t, 4> x{1, 2, 3, 4};
  std::array<std::int32_t, 64> gap{};
  std::array<std::int32_t, 4> y{};
  std::vector<ir::Argument> arguments;
  ir::Grid grid;
  interpret::InterpreterOptions options;

private:
  std::string text_;
  Diagnostics diagnostics_;
};

/// `%to`: four pointers into x from an offset on.
std::string pointersFrom(std::int64_t first) {
  return "  %i = arange [start = " + std::to_string(first) + "] : i64[4]\n" +
         "  %p = broadcast %x : ptr<i32>[4]\n" + "  %to = ptr.add %p, %i : ptr<i32>[4]\n";
}

} // namespace

TEST_CASE("a load one element past the end is found, and says where") {
  CHECK(
      Launch(pointersFrom(1) + "  %v = load %to : i32[4]\n").error() ==
      "k.imx:5: error: 'load' touches element 4 of 'x', which ends 4 bytes past its 16 bytes, at "
      "tile index [3] of block [0, 0, 0]\n"
      "  hint: mask off what lies outside, or give 'x' a view, whose boxes stop at its extents\n");
}

TEST_CASE("a store before the start is found") {
  CHECK(
      Launch(pointersFrom(-2) + "  %v = load %p : i32[4]\n  store %to, %v\n").error() ==
      "k.imx:6: error: 'store' touches element -2 of 'x', which starts 8 bytes before it, at tile "
      "index [0] of block [0, 0, 0]\n"
      "  hint: mask off what lies outside, or give 'x' a view, whose boxes stop at its extents\n");
}

TEST_CASE("an element half inside is outside") {
  Launch launch("  %v = load %x : i32\n");
  launch.arguments[0].bytes = 3;
  CHECK(
      launch.error() ==
      "k.imx:2: error: 'load' touches element 0 of 'x', which ends 1 byte past its 3 bytes, in "
      "block [0, 0, 0]\n"
      "  hint: mask off what lies outside, or give 'x' a view, whose boxes stop at its extents\n");
}

TEST_CASE("a pointer that strays into another buffer is found") {
  Launch launch(pointersFrom(0) + "  %v = load %to : i32[4]\n");
  launch.arguments[0].bytes = 8;
  launch.arguments[1].data = launch.arguments[0].data + 8;
  CHECK(launch.error() ==
        "k.imx:5: error: 'load' touches element 2 of 'x', which ends 4 bytes past its 8 bytes and "
        "lies in 'y', at tile index [2] of block [0, 0, 0]\n"
        "  hint: mask off what lies outside; 'y' has a pointer of its own\n");
}

TEST_CASE("an offset so large that its bytes wrap around is outside") {
  CHECK(Launch("  %far = constant 4611686018427387904 : i64\n"
               "  %p = ptr.add %x, %far : ptr<i32>\n"
               "  %v = load %p : i32\n")
            .error()
            .find("k.imx:4: error: 'load' touches element") == 0);
}

TEST_CASE("a null pointer is named") {
  Launch launch("  %v = load %x : i32\n");
  launch.arguments[0].data = nullptr;
  launch.arguments[0].bytes = ir::Argument::kUnknownSize;
  CHECK(launch.error() == "k.imx:2: error: 'load' touches element 0 of 'x', which is a null "
                          "pointer, in block [0, 0, 0]\n"
                          "  hint: pass a buffer for 'x'\n");
}

TEST_CASE("pointers may be anywhere as long as nothing is touched there") {
  CHECK(Launch(pointersFrom(1000000) + "  %off = constant false : bool[4]\n"
                                       "  %v = load %to, %off : i32[4]\n"
                                       "  store %to, %v, %off\n"
                                       "  %old = atomic_rmw %to, %v, %off : i32[4]\n")
            .report() == "");
}

TEST_CASE("a pointer of unknown size is not checked") {
  Launch launch(pointersFrom(0) + "  %v = load %to : i32[4]\n");
  launch.arguments[0].bytes = ir::Argument::kUnknownSize;
  CHECK(launch.report() == "");
}

TEST_CASE("a view that claims more than its buffer has is found") {
  Launch launch("  %zero = constant 0 : i32\n  %v = view.load %x, %zero : i32[8]\n",
                "%x: view<const i32, 1>, %y: ptr<i32>");
  launch.arguments[0].extents[0] = 8;
  CHECK(
      launch.error() ==
      "k.imx:3: error: 'view.load' touches element 4 of 'x', which ends 4 bytes past its 16 "
      "bytes, at tile index [4] of block [0, 0, 0]\n"
      "  hint: mask off what lies outside, or give 'x' a view, whose boxes stop at its extents\n");
}

TEST_CASE("a view whose strides overflow is found") {
  Launch launch("  %zero = constant 0 : i32\n  %v = view.load %x, %zero : i32[4]\n",
                "%x: view<const i32, 1>, %y: ptr<i32>");
  launch.arguments[0].strides[0] = std::numeric_limits<std::int64_t>::max() / 2 + 1;
  CHECK(launch.error().find("k.imx:3: error: 'view.load' touches element") == 0);
}

TEST_CASE("a read of what nothing has written is found") {
  std::array<std::uint8_t, 16> unwritten{};
  unwritten[9] = 1;
  Launch launch(pointersFrom(0) + "  %v = load %to : i32[4]\n");
  launch.arguments[0].unwritten = unwritten.data();
  CHECK(launch.error() ==
        "k.imx:5: error: 'load' reads element 2 of 'x', which nothing has written, at tile index "
        "[2] of block [0, 0, 0]\n"
        "  hint: fill 'x' before the launch, or store to it first\n");
}

TEST_CASE("a store writes, for good") {
  std::array<std::uint8_t, 16> unwritten{};
  unwritten.fill(1);
  Launch launch("  %one = constant 1 : i32\n  store %x, %one\n  %v = load %x : i32\n");
  launch.arguments[0].unwritten = unwritten.data();
  CHECK(launch.report() == "");
  CHECK(std::count(unwritten.begin(), unwritten.end(), 1) == 12);
}

TEST_CASE("an atomic reads what it finds") {
  std::array<std::uint8_t, 16> unwritten{};
  unwritten.fill(1);
  Launch launch("  %one = constant 1 : i32\n  %v = atomic_rmw %x, %one : i32\n");
  launch.arguments[0].unwritten = unwritten.data();
  CHECK(
      launch.error().find("k.imx:3: error: 'atomic_rmw' reads element 0 of 'x', which nothing has "
                          "written") == 0);
}

TEST_CASE("the other nibble of a byte may be unwritten") {
  std::array<std::uint8_t, 16> unwritten{};
  unwritten.fill(1);
  Launch launch("  %zero = constant 0 : i32\n  %two = constant 2 : f4e2m1[1]\n"
                "  view.store %x, %two, %zero\n  %v = view.load %x, %zero : f4e2m1[1]\n",
                "%x: view<f4e2m1, 1>, %y: ptr<i32>");
  launch.arguments[0].unwritten = unwritten.data();
  CHECK(launch.report() == "");
}

// ---- Races

namespace {

std::string inTwoBlocks(std::string ops) {
  Launch launch("  %b = program_id : i32\n  %zero = constant 0 : i32\n"
                "  %first = eq %b, %zero : bool\n" +
                std::move(ops));
  launch.grid.extents[0] = 2;
  return launch.report();
}

} // namespace

TEST_CASE("two blocks that write the same element race") {
  CHECK(
      inTwoBlocks("  store %x, %b\n") ==
      "k.imx:5: error: 'store' and 'store' at k.imx:5 touch the same element 0 of 'x' from blocks "
      "[1, 0, 0] and [0, 0, 0] in no order, and at least one writes\n"
      "  hint: give each block its own part of 'x', or use atomics\n");
}

TEST_CASE("a block that reads what another writes races, in either order, and names both lines") {
  const std::string readFirst = "  if %first {\n    %v = load %x : i32\n    yield\n  } else {\n"
                                "    store %x, %b\n    yield\n  }\n";
  CHECK(inTwoBlocks(readFirst).find("k.imx:9: error: 'store' and 'load' at k.imx:6 touch") == 0);
  const std::string writeFirst = "  if %first {\n    store %x, %b\n    yield\n  } else {\n"
                                 "    %v = load %x : i32\n    yield\n  }\n";
  CHECK(inTwoBlocks(writeFirst).find("k.imx:9: error: 'load' and 'store' at k.imx:6 touch") == 0);
}

TEST_CASE("a race with an earlier reader is found behind a later one of the same block") {
  CHECK(inTwoBlocks("  %v = load %x : i32\n  if %first {\n    yield\n  } else {\n"
                    "    store %x, %v\n    yield\n  }\n")
            .find("k.imx:9: error: 'store' and 'load' at k.imx:5 touch") == 0);
}

TEST_CASE("blocks may read together, and touch neighbours") {
  CHECK(inTwoBlocks("  %v = load %x : i32\n  %p = ptr.add %y, %b : ptr<i32>\n"
                    "  store %p, %v\n  %w = load %p : i32\n") == "");
}

TEST_CASE("atomics do not race with each other, but with a plain access") {
  CHECK(inTwoBlocks("  %old = atomic_rmw %x, %b : i32\n") == "");
  CHECK(inTwoBlocks("  if %first {\n    %old = atomic_rmw %x, %b : i32\n    yield\n  } else {\n"
                    "    %v = load %x : i32\n    yield\n  }\n")
            .find("k.imx:9: error: 'load' and 'atomic_rmw' at k.imx:6 touch") == 0);
}

TEST_CASE("a release that is acquired orders what comes before it and after") {
  const auto handOver = [](const std::string &release, const std::string &acquire) {
    return inTwoBlocks("  if %first {\n    store %x, %b\n"
                       "    %old = atomic_rmw %y, %b [order = " +
                       release +
                       "] : i32\n"
                       "    yield\n  } else {\n"
                       "    %old = atomic_rmw %y, %b [order = " +
                       acquire +
                       "] : i32\n"
                       "    %v = load %x : i32\n    yield\n  }\n");
  };
  CHECK(handOver("release", "acquire") == "");
  CHECK(handOver("acq_rel", "acq_rel") == "");
  CHECK(handOver("relaxed", "acquire").find("error: 'load' and 'store'") != std::string::npos);
  CHECK(handOver("release", "relaxed").find("error: 'load' and 'store'") != std::string::npos);
  CHECK(handOver("acquire", "release").find("error: 'load' and 'store'") != std::string::npos);
}

TEST_CASE("a release comes behind its atomic's own access, if that writes") {
  const auto plainBehind = [](const std::string &first) {
    return inTwoBlocks("  %none = constant -1 : i32\n  if %first {\n    store %x, %b\n    " +
                       first +
                       " : i32\n    yield\n  } else {\n"
                       "    %old = atomic_rmw %y, %b [order = acquire] : i32\n    store %y, %b\n"
                       "    %v = load %x : i32\n    yield\n  }\n");
  };
  CHECK(plainBehind("%old = atomic_rmw %y, %b [order = release]") == "");
  CHECK(plainBehind("%old = atomic_cas %y, %b, %b") == "");
  CHECK(plainBehind("%old = atomic_rmw %y, %b [order = relaxed]")
            .find("k.imx:12: error: 'store' and 'atomic_rmw' at k.imx:8 touch") == 0);
  CHECK(plainBehind("%old = atomic_cas %y, %none, %b")
            .find("k.imx:12: error: 'store' and 'atomic_cas' at k.imx:8 touch") == 0);
}

TEST_CASE("an atomic of a block's own scope is a plain access to other blocks") {
  const auto twice = [](const std::string &first, const std::string &second) {
    return inTwoBlocks("  if %first {\n    %old = atomic_rmw %x, %b [scope = " + first +
                       "] : i32\n    yield\n  } else {\n"
                       "    %old = atomic_rmw %x, %b [scope = " +
                       second + "] : i32\n    yield\n  }\n");
  };
  CHECK(twice("device", "system") == "");
  const std::string_view race = "k.imx:9: error: 'atomic_rmw' and 'atomic_rmw' at k.imx:6 touch";
  CHECK(twice("block", "block").find(race) == 0);
  CHECK(twice("device", "block").find(race) == 0);
  CHECK(twice("block", "device").find(race) == 0);
}

TEST_CASE("two blocks that write the two halves of a byte race") {
  Launch launch("  %b = program_id : i32\n  %two = constant 2 : f4e2m1[1]\n"
                "  view.store %x, %two, %b\n",
                "%x: view<f4e2m1, 1>, %y: ptr<i32>");
  launch.grid.extents[0] = 2;
  CHECK(launch.report().find("k.imx:4: error: 'view.store' and 'view.store' at k.imx:4") == 0);
}

TEST_CASE("what comes after a release is not part of it") {
  CHECK(inTwoBlocks("  if %first {\n    store %x, %b\n    %old = atomic_rmw %y, %b : i32\n"
                    "    store %x, %b\n    yield\n  } else {\n"
                    "    %old = atomic_rmw %y, %b : i32\n    %v = load %x : i32\n    yield\n  }\n")
            .find("error: 'load' and 'store' at k.imx:8") != std::string::npos);
}

TEST_CASE("an op that a loop repeats after a release is not part of it either") {
  CHECK(inTwoBlocks(R"(
  %one = constant 1 : i32
  %two = constant 2 : i32
  if %first {
    for %zero, %two, %one (%i: i32) {
      store %x, %b
      %once = eq %i, %zero : bool
      if %once {
        %old = atomic_rmw %y, %b : i32
        yield
      }
      yield
    }
    yield
  } else {
    %old = atomic_rmw %y, %b : i32
    %v = load %x : i32
    yield
  }
)")
            .find("error: 'load' and 'store' at k.imx:10") != std::string::npos);
}

TEST_CASE("races are watched where that is cheap, or when asked") {
  const auto raceWith = [](interpret::InterpreterOptions::Races races, std::int64_t bytes) {
    Launch launch("  %b = program_id : i32\n  store %x, %b\n");
    launch.grid.extents[0] = 2;
    launch.options.races = races;
    launch.arguments[1].bytes = bytes; // only counted, not touched
    return !launch.report().empty();
  };
  using Races = interpret::InterpreterOptions::Races;
  CHECK(raceWith(Races::WhereCheap, 16));
  CHECK_FALSE(raceWith(Races::WhereCheap, interpret::InterpreterOptions::kCheapBytes));
  CHECK(raceWith(Races::Watch, interpret::InterpreterOptions::kCheapBytes));
  CHECK_FALSE(raceWith(Races::Ignore, 16));
}

// ---- Effects seen outside, and launches that go wrong

TEST_CASE("an assert that fails stops the launch with its text") {
  Launch launch("  %b = program_id : i32\n  %i = arange : i32[4]\n  %limit = constant 2 : i32[4]\n"
                "  %below = lt %i, %limit : bool[4]\n"
                "  assert %below [text = \"i < 2\"]\n  store %x, %b\n");
  CHECK(launch.error() == "k.imx:6: error: assertion failed at tile index [2] of block [0, 0, 0]: "
                          "i < 2\n");
  CHECK(launch.x[0] == 1);
}

TEST_CASE("a requirement that does not hold refuses the launch, before a block runs") {
  Launch launch("  %b = program_id : i32\n  store %x, %b\n  %one = constant 1 : i32\n"
                "  %two = constant 2 : i32\n  %same = eq %one, %two : bool\n"
                "  require %same [text = \"the numbers agree\"]\n");
  launch.x[0] = 7;
  CHECK(launch.error() == "k.imx:7: error: kernel 'k' requires: the numbers agree; it asks for "
                          "1 == 2, and that never holds\n"
                          "  hint: the kernel says so at k.imx:7\n");
  CHECK(launch.x[0] == 7);
}

TEST_CASE("of conditions joined by and, the one that does not hold is told") {
  Launch launch("  %b = program_id : i32\n  store %x, %b\n  %one = constant 1 : i32\n"
                "  %two = constant 2 : i32\n  %same = eq %one, %two : bool\n"
                "  %less = lt %one, %two : bool\n  %more = gt %one, %two : bool\n"
                "  %either = or %same, %more : bool\n  %all = and %less, %either : bool\n"
                "  require %all [text = \"numbers\"]\n");
  CHECK(launch.error() == "k.imx:11: error: kernel 'k' requires: numbers; it asks for "
                          "(1 == 2) || (1 > 2), and that never holds\n"
                          "  hint: the kernel says so at k.imx:11\n");
}

TEST_CASE("print writes one line a block") {
  Launch launch("  %b = program_id : i32\n  %f = constant -0.0 : f16[2]\n"
                "  %n = constant nan : f32\n  %m = constant 300 : u16[2x1]\n"
                "  %t = constant true : bool\n"
                "  print %b, %f, %n, %m, %t [text = \"all\"]\n  print [text = \"none\"]\n");
  std::string lines;
  launch.options.print = [&](std::string_view line) { lines += line; };
  launch.grid.extents = {1, 2, 1};
  CHECK(launch.report() == "");
  CHECK(lines == "[pid 0,0,0] all: 0, [-0, -0], nan, [[300], [300]], true\n[pid 0,0,0] none\n"
                 "[pid 0,1,0] all: 0, [-0, -0], nan, [[300], [300]], true\n[pid 0,1,0] none\n");
}

TEST_CASE("inline assembly cannot run here") {
  CHECK(Launch("  %b = program_id : i32\n"
               "  %c = inline_asm %b [text = \"mov\", constraints = \"=r,r\", target = \"host\"] "
               ": i32\n")
            .error() == "k.imx:3: error: inline assembly for 'host' cannot run on 'interpreter'\n"
                        "  hint: run the kernel on that target, or give this one another way; "
                        "targets are those of `imbrex targets`\n");
}

TEST_CASE("a loop without end is given up") {
  Launch launch(
      "  %never = constant false : bool\n  while {\n    break_if %never\n    yield\n  }\n");
  launch.options.mostSteps = 1000;
  CHECK(launch.error() ==
        "k.imx:4: error: block [0, 0, 0] has run 1000 operations and does not end\n"
        "  hint: see that the loop's break_if can hold; no block may wait for one that comes after "
        "it\n");
}

TEST_CASE("a launch needs an argument for each parameter") {
  Launch launch("  %b = program_id : i32\n");
  launch.arguments.pop_back();
  CHECK(
      launch.error() ==
      "imbrex: error: the launch of kernel 'k' has arguments: 1, and the kernel has parameters: 2\n"
      "  hint: pass one argument for each parameter\n");
}

TEST_CASE("a kernel runs as it was traced, with its variables") {
  Diagnostics diagnostics;
  const auto kernel = ir::parse(R"(kernel @k(%x: ptr<i32>) stage traced {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %ten = constant 10 : i32
  %sum = var.new %zero : var<i32>
  for %zero, %ten, %one (%i: i32) {
    %before = var.read %sum : i32
    %after = add %before, %i : i32
    %enough = ge %i, %ten : bool
    break_if %enough
    var.write %sum, %after
    yield
  }
  %result = var.read %sum : i32
  store %x, %result
}
)",
                                "k.imx", diagnostics);
  REQUIRE_MESSAGE((kernel && ir::verify(*kernel, diagnostics)), diagnostics.render());
  std::int32_t sum = 0;
  ir::Argument argument;
  argument.data = reinterpret_cast<std::byte *>(&sum);
  argument.bytes = sizeof sum;
  CHECK(interpret::run(*kernel, {}, argument, diagnostics));
  CHECK(sum == 45);
}

namespace {

/// A launch over a table with pointers to x and to y, and to nothing.
std::string errorOfTable(const std::string &ops) {
  Launch launch(ops, "%t: table<i32>, %y: ptr<i32>");
  ir::Argument nothing;
  nothing.bytes = 0;
  const ir::PointerTable table({launch.arguments[0], launch.arguments[1], nothing});
  launch.arguments[0] = table.argument();
  return launch.error();
}

} // namespace

TEST_CASE("an access through a pointer of a table stays in what that leads to") {
  CHECK(errorOfTable("  %one = constant 1 : i32\n  %four = constant 4 : i32\n"
                     "  %first = table.pointer %t, %one : ptr<i32>\n"
                     "  %p = ptr.add %first, %four : ptr<i32>\n  store %p, %one\n") ==
        "k.imx:6: error: 'store' touches element 4 of 't[1]', which ends 4 bytes past its 16 "
        "bytes, in block [0, 0, 0]\n"
        "  hint: mask off what lies outside, or give 't[1]' a view, whose boxes stop at its "
        "extents\n");
  // It strays into what another pointer of the table leads to.
  CHECK(
      errorOfTable("  %zero = constant 0 : i32\n  %far = constant " + std::to_string(4 + 64 + 1) +
                   " : i32\n  %first = table.pointer %t, %zero : ptr<i32>\n"
                   "  %p = ptr.add %first, %far : ptr<i32>\n  %v = load %p : i32\n")
          .starts_with("k.imx:6: error: 'load' touches element 69 of 't[0]', which ends 264 bytes "
                       "past its 16 bytes and lies in "));
}

TEST_CASE("nothing is read through the null pointer of a table") {
  CHECK(errorOfTable("  %far = constant 3 : i32\n  %p = table.pointer %t, %far : ptr<i32>\n"
                     "  %v = load %p : i32\n") ==
        "k.imx:4: error: 'load' goes through a null pointer, as 't' has 3 pointers and was asked "
        "for another, in block [0, 0, 0]\n"
        "  hint: ask 't' for pointers from 0 on, below its size\n");
  CHECK(errorOfTable("  %two = constant 2 : i32\n  %p = table.pointer %t, %two : ptr<i32>\n"
                     "  %v = load %p : i32\n") ==
        "k.imx:4: error: 'load' touches element 0 of 't[2]', which is a null pointer, in block [0, "
        "0, 0]\n"
        "  hint: pass a buffer for 't[2]'\n");
}

TEST_CASE("what nothing has written is not read through a table either") {
  Launch launch("  %zero = constant 0 : i32\n  %p = table.pointer %t, %zero : ptr<const i32>\n"
                "  %v = load %p : i32\n",
                "%t: table<const i32>, %y: ptr<i32>");
  std::vector<std::uint8_t> unwritten(16, 1);
  launch.arguments[0].unwritten = unwritten.data();
  const ir::PointerTable table({launch.arguments[0]});
  launch.arguments[0] = table.argument();
  CHECK(launch.error() == "k.imx:4: error: 'load' reads element 0 of 't[0]', which nothing has "
                          "written, in block [0, 0, 0]\n"
                          "  hint: fill 't[0]' before the launch, or store to it first\n");
}
