#include "backend/interpret/interpret.h"
#include "backend/target/host/run/jit.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <thread>

/// What only goes wrong when loops interleave what the kernel does tile by tile.
namespace imbrex::host {
namespace {

using testing::parsedKernel;

const ir::Kernel &shift() {
  static const ir::Kernel kernel = parsedKernel(R"(
kernel @shift(%from: ptr<const i32>, %to: ptr<i32>) stage tiles {
  %i = arange : i32[100]
  %fb = broadcast %from : ptr<const i32>[100]
  %pf = ptr.add %fb, %i : ptr<const i32>[100]
  %tb = broadcast %to : ptr<i32>[100]
  %pt = ptr.add %tb, %i : ptr<i32>[100]
  %a = load %pf : i32[100]
  store %pt, %a
}
)");
  return kernel;
}

TEST_CASE("a tile is loaded whole before it is stored over itself at a distance") {
  for (const bool knowsSize : {true, false})
    for (const std::int64_t distance : {-40, -16, -3, -1, 0, 1, 5, 16, 40}) {
      CAPTURE(distance);
      std::vector<std::int32_t> memory(180), expected;
      std::iota(memory.begin(), memory.end(), 0);
      expected = memory;
      for (std::int64_t i = 0; i < 100; ++i)
        expected[static_cast<size_t>(40 + distance + i)] = static_cast<std::int32_t>(40 + i);
      const auto at = [&](std::int64_t offset) {
        ir::Argument argument{.data = reinterpret_cast<std::byte *>(memory.data() + offset)};
        if (knowsSize) argument.bytes = 400;
        return argument;
      };
      launch(shift(), {}, {at(40), at(40 + distance)});
      CHECK(memory == expected);
    }
}

/// What a kernel of one view or pointer makes of 0, 1, 2 …, on the host and by the interpreter.
void agree(const std::string &text, std::vector<std::int64_t> extents,
           std::vector<std::int64_t> strides = {}) {
  CAPTURE(text);
  const ir::Kernel kernel = parsedKernel(text);
  std::vector<std::int32_t> memory(1024), expected;
  std::iota(memory.begin(), memory.end(), 0);
  expected = memory;
  const auto argument = [&](std::vector<std::int32_t> &data) {
    ir::Argument all = viewOf(data, extents);
    for (std::size_t axis = 0; axis < strides.size(); ++axis) all.strides[axis] = strides[axis];
    return all;
  };
  launch(kernel, {}, {argument(memory)});
  Diagnostics diagnostics;
  const std::vector<ir::Argument> arguments{argument(expected)};
  REQUIRE_MESSAGE(interpret::run(kernel, {}, arguments, diagnostics), diagnostics.render());
  CHECK(memory == expected);
}

TEST_CASE("a tile that is moved is loaded whole before it is stored over itself") {
  for (const char *moved : {
           "%f = flip %x [axis = 1] : i32[32x32]\n  %y = add %f, %x : i32[32x32]",
           "%y = permute %x [order = [1, 0]] : i32[32x32]",
           "%k = permute %x [order = [1, 0]] : i32[32x32]\n  %y = add %x, %k : i32[32x32]",
           "%r = reshape %x : i32[1024]\n  %f = flip %r [axis = 0] : i32[1024]\n"
           "  %y = reshape %f : i32[32x32]",
       })
    agree("kernel @k(%io: view<i32, 2>) stage tiles {\n  %0 = constant 0 : i32\n"
          "  %x = view.load %io, %0, %0 : i32[32x32]\n  " +
              std::string(moved) + "\n  view.store %io, %y, %0, %0\n}\n",
          {32, 32});
  agree(R"(
kernel @k(%p: ptr<i32>) stage tiles {
  %i = arange : i32[512]
  %b = broadcast %p : ptr<i32>[512]
  %a = ptr.add %b, %i : ptr<i32>[512]
  %x = load %a : i32[512]
  %y = flip %x [axis = 0] : i32[512]
  store %a, %y
}
)",
        {1024});
}

TEST_CASE(
    "a tile that a loop carries is computed whole before what it was loaded from is written") {
  agree(R"(
kernel @k(%io: view<i32, 1>) stage tiles {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %none = constant 0 : i32[64]
  %all = for %zero, %one, %one, %none (%i: i32, %sum: i32[64]) {
    %x = view.load %io, %i : i32[64]
    %next = add %sum, %x : i32[64]
    %f = flip %next : i32[64]
    view.store %io, %f, %i
    yield %next
  } : i32[64]
}
)",
        {64});
}

TEST_CASE("an element that a tile has twice is loaded each time before it is stored") {
  for (const char *place :
       {"%j = rem %i, %c : i32[64]", "%j = div %i, %c : i32[64]", "%j = add %i, %c : i32[64]",
        "%n = sub %c, %i : i32[64]\n  %j = add %i, %n : i32[64]"})
    agree(R"(
kernel @k(%p: ptr<i32>) stage tiles {
  %i = arange : i32[64]
  %c = constant 4 : i32[64]
  )" + std::string(place) +
              R"(
  %b = broadcast %p : ptr<i32>[64]
  %a = ptr.add %b, %j : ptr<i32>[64]
  %x = load %a : i32[64]
  %y = add %x, %c : i32[64]
  store %a, %y
}
)",
          {1024});
  // Numbers of eight bits begin again after 256, and rows of a view may be the same row.
  for (const char *numbers :
       {"%i = arange : u8[512]\n  %j = cast %i : i32[512]",
        "%i = arange : i32[512]\n  %n = cast %i : u8[512]\n  %j = cast %n : i32[512]",
        "%j = arange [step = 0] : i32[512]"})
    agree("\nkernel @k(%p: ptr<i32>) stage tiles {\n  " + std::string(numbers) + R"(
  %b = broadcast %p : ptr<i32>[512]
  %a = ptr.add %b, %j : ptr<i32>[512]
  %x = load %a : i32[512]
  %c = constant 4 : i32[512]
  %y = add %x, %c : i32[512]
  store %a, %y
}
)",
          {1024});
  const std::string inPlace = R"(
kernel @k(%io: view<i32, 2>) stage tiles {
  %0 = constant 0 : i32
  %x = view.load %io, %0, %0 : i32[32x32]
  %c = constant 4 : i32[32x32]
  %y = add %x, %c : i32[32x32]
  view.store %io, %y, %0, %0
}
)";
  agree(inPlace, {32, 32});
  agree(inPlace, {32, 32}, {0, 1});
  agree(inPlace, {8, 32}, {0, 1});
  agree(inPlace, {20, 32}, {16, 0});
}

TEST_CASE("offsets that wrap in 32 bits reach what they name") {
  // start + i for i = 0 … 63, of which the lanes after the wrap are negative; only those and none
  // of the others may be loaded.
  const ir::Kernel kernel = parsedKernel(R"(
kernel @wrap(%x: ptr<const i32>, %y: ptr<i32>, %start: i32) stage tiles {
  %i = arange : i32[64]
  %sb = broadcast %start : i32[64]
  %o = add %sb, %i : i32[64]
  %zero = constant 0 : i32[64]
  %mask = lt %o, %zero : bool[64]
  %low = constant -2147483648 : i64[64]
  %wide = cast %o : i64[64]
  %near = sub %wide, %low : i64[64]
  %xb = broadcast %x : ptr<const i32>[64]
  %px = ptr.add %xb, %o : ptr<const i32>[64]
  %a = load %px, %mask : i32[64]
  %yb = broadcast %y : ptr<i32>[64]
  %py = ptr.add %yb, %i : ptr<i32>[64]
  store %py, %a
}
)");
  std::vector<std::int32_t> x(64), y(64, -1);
  std::iota(x.begin(), x.end(), 100);
  for (const std::int32_t negative : {64, 63, 40, 16, 1}) {
    CAPTURE(negative);
    // The pointer is as far above x as the lowest offset is below it.
    ir::Argument far = pointerTo(x);
    far.data = reinterpret_cast<std::byte *>(reinterpret_cast<std::uintptr_t>(x.data()) +
                                             (std::uintptr_t{4} << 31));
    far.bytes = ir::Argument::kUnknownSize;
    const std::int64_t start =
        std::int64_t{std::numeric_limits<std::int32_t>::max()} - (64 - negative) + 1;
    const auto wrapped = static_cast<std::uint32_t>(start);
    launch(kernel, {}, {far, pointerTo(y), {.scalar = wrapped}});
    for (std::int32_t i = 0; i < 64; ++i) {
      const std::int32_t lane = i - (64 - negative);
      CHECK(y[static_cast<size_t>(i)] == (lane < 0 ? 0 : 100 + lane));
    }
  }
}

TEST_CASE("carried tiles change places") {
  const ir::Kernel kernel = parsedKernel(R"(
kernel @swap(%y: ptr<i32>, %n: i32) stage tiles {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %i = arange : i32[40]
  %j = arange [start = 1000] : i32[40]
  %a, %b = for %zero, %n, %one, %i, %j (%k: i32, %p: i32[40], %q: i32[40]) {
    %f = flip %p : i32[40]
    yield %q, %f
  } : i32[40], i32[40]
  %h = constant 3 : i32[40]
  %b3 = mul %b, %h : i32[40]
  %d = sub %a, %b3 : i32[40]
  %yb = broadcast %y : ptr<i32>[40]
  %py = ptr.add %yb, %i : ptr<i32>[40]
  store %py, %d
}
)");
  for (const std::int32_t n : {0, 1, 2, 3, 7}) {
    CAPTURE(n);
    std::vector<std::int32_t> p(40), q(40), y(40);
    std::iota(p.begin(), p.end(), 0);
    std::iota(q.begin(), q.end(), 1000);
    for (std::int32_t k = 0; k < n; ++k) {
      std::vector<std::int32_t> flipped(p.rbegin(), p.rend());
      p = q;
      q = flipped;
    }
    launch(kernel, {}, {pointerTo(y), number(n)});
    for (size_t i = 0; i < 40; ++i) CHECK(y[i] == p[i] - 3 * q[i]);
  }
}

TEST_CASE("views of any strides give the same tiles") {
  const ir::Kernel kernel = parsedKernel(R"(
kernel @copy(%x: view<const i32, 2>, %y: view<i32, 2>) stage tiles {
  %r = program_id : i32
  %c = program_id [axis = 1] : i32
  %a = view.load %x, %r, %c : i32[8x32]
  view.store %y, %a, %r, %c
}
)");
  constexpr std::int64_t kRows = 19, kColumns = 70;
  std::vector<std::int32_t> x(kRows * kColumns), y(x.size());
  std::iota(x.begin(), x.end(), 0);
  ir::Argument columnMajor = pointerTo(x);
  columnMajor.extents = {kRows, kColumns};
  columnMajor.strides = {1, kRows};
  launch(kernel, {{3, 3, 1}}, {columnMajor, viewOf(y, {kRows, kColumns})});
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < kColumns; ++c)
      REQUIRE(y[static_cast<size_t>(r * kColumns + c)] == r + c * kRows);
}

TEST_CASE("one program runs from several threads at once") {
  Diagnostics diagnostics;
  const std::unique_ptr<HostProgram> program = HostProgram::compile(shift(), diagnostics);
  std::vector<std::thread> threads;
  std::vector<std::vector<std::int32_t>> results(8, std::vector<std::int32_t>(100));
  std::vector<std::int32_t> source(100);
  std::iota(source.begin(), source.end(), 7);
  for (std::vector<std::int32_t> &result : results)
    threads.emplace_back([&] {
      Diagnostics own;
      for (int i = 0; i < 50; ++i)
        program->run({{1, 1, 1}}, {pointerTo(source), pointerTo(result)}, own);
    });
  for (std::thread &thread : threads) thread.join();
  for (const std::vector<std::int32_t> &result : results) CHECK(result == source);
}

TEST_CASE("a failed assert stops the launch and says where") {
  const ir::Kernel kernel = parsedKernel(R"(
kernel @check(%n: i32) stage tiles {
  %p = program_id : i32
  %i = arange : i32[6]
  %rows = reshape %i : i32[2x3]
  %nb = broadcast %n : i32[2x3]
  %sum = broadcast %p : i32[2x3]
  %all = add %rows, %sum : i32[2x3]
  %holds = lt %all, %nb : bool[2x3]
  assert %holds [text = "small enough"]
}
)");
  Diagnostics diagnostics;
  const std::unique_ptr<HostProgram> program = HostProgram::compile(kernel, diagnostics);
  CHECK(program->run({{4, 1, 1}}, {number(9)}, diagnostics));
  CHECK_FALSE(program->run({{4, 1, 1}}, {number(8)}, diagnostics));
  CHECK(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].message ==
        "assertion failed at tile index [1, 2] of block [3, 0, 0]: small enough");
}

TEST_CASE("machine instructions are for the machine that they name") {
  const auto kernelFor = [](const std::string &target) {
    return parsedKernel(R"(
kernel @swap(%y: ptr<u32>) stage tiles {
  %i = arange [start = 1] : u32[4]
  %s = inline_asm %i [text = "bswap $0", constraints = "=r,0", target = ")" +
                        target +
                        R"("] : u32[4]
  %yb = broadcast %y : ptr<u32>[4]
  %o = arange : i32[4]
  %py = ptr.add %yb, %o : ptr<u32>[4]
  store %py, %s
}
)");
  };
  Diagnostics diagnostics;
  CHECK(HostProgram::compile(kernelFor("some-other-machine"), diagnostics) == nullptr);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].kind == Diag::ForeignAssembly);
#if defined(__x86_64__)
  std::vector<std::uint32_t> y(4);
  launch(kernelFor("host-x86_64"), {}, {pointerTo(y)});
  CHECK(y == std::vector<std::uint32_t>{1U << 24, 2U << 24, 3U << 24, 4U << 24});
#endif
}

TEST_CASE("a load between two stores of one shape reads what the first one wrote") {
  std::vector<float> memory(16), out(8);
  std::iota(memory.begin(), memory.end(), 0.0F);
  launch(parsedKernel(R"(
kernel @k(%memory: view<f32, 1>, %out: view<f32, 1>) stage tiles {
  %z = constant 0 : i32
  %first = constant 9 : f32[3]
  %second = constant 11 : f32[3]
  view.store %memory, %first, %z
  %between = view.load %memory, %z : f32[8]
  view.store %memory, %second, %z
  view.store %out, %between, %z
}
)"),
         {}, {viewOf(memory, {16}), viewOf(out, {8})});
  CHECK(out == std::vector<float>{9, 9, 9, 3, 4, 5, 6, 7});
  CHECK(memory[2] == 11);
}

TEST_CASE("what is loaded where a reduction says is loaded before a store that follows") {
  std::vector<float> scores(16), table(16), copy(16), best(1);
  for (std::size_t i = 0; i < 16; ++i) scores[i] = static_cast<float>((i * 7) % 16);
  std::iota(table.begin(), table.end(), 100.0F);
  launch(parsedKernel(R"(
kernel @k(%scores: view<const f32, 1>, %table: ptr<const f32>, %copy: view<f32, 1>,
          %best: view<f32, 1>) stage tiles {
  %z = constant 0 : i32
  %t = view.load %scores, %z : f32[16]
  %most, %at = reduce %t [combine = argmax] : f32, i32
  %start = broadcast %table : ptr<const f32>[1]
  %index = broadcast %at : i32[1]
  %p = ptr.add %start, %index : ptr<const f32>[1]
  %entry = load %p : f32[1]
  view.store %copy, %t, %z
  view.store %best, %entry, %z
}
)"),
         {}, {viewOf(scores, {16}), pointerTo(table), viewOf(copy, {16}), viewOf(best, {1})});
  CHECK(copy == scores);
  CHECK(best[0] == table[9]); // 9 * 7 is 63, which leaves 15
}

TEST_CASE("a box that starts as far away as can be reads padding") {
  for (const std::int64_t start :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max() - 40}) {
    std::vector<float> in(64, 1.0F), out(64, 5.0F);
    launch(parsedKernel(R"(
kernel @k(%in: view<const f32, 1>, %out: view<f32, 1>, %start: i64) stage tiles {
  %z = constant 0 : i32
  %x = view.load %in, %start [unit = elements] : f32[64]
  view.store %out, %x, %z
}
)"),
           {}, {viewOf(in, {64}), viewOf(out, {64}), number(start)});
    CHECK(out == std::vector<float>(64, 0.0F));
  }
}

TEST_CASE("machine instructions that do not assemble are reported at their line") {
  const auto problemOf = [](const std::string &text, const std::string &constraints) {
    const ir::Kernel kernel = parsedKernel("kernel @k(%p: ptr<i32>, %s: i32) stage tiles {\n"
                                           "%a = inline_asm %s [text = \"" +
                                           text + "\", constraints = \"" + constraints +
                                           "\", target = \"" + machine().name +
                                           "\"] : i32\n"
                                           "store %p, %a\n}");
    Diagnostics diagnostics;
    CHECK(HostProgram::compile(kernel, diagnostics) == nullptr);
    REQUIRE(diagnostics.all().size() == 1);
    CHECK(diagnostics.all()[0].kind == Diag::BadAssembly);
    CHECK(diagnostics.all()[0].where.line == 2);
    return diagnostics.all()[0].message;
  };
  const std::string start = "the instructions of inline_asm do not assemble: ";
  CHECK(problemOf("nop $1, $0", "nonsense").starts_with(start));
  CHECK(problemOf("", "=r,r,r").starts_with(start));
  CHECK(problemOf("no_such_instruction $0", "=r,r").starts_with(start));
  // Of x87, of MMX, in memory, by its own name: LLVM would abort on some.
  for (const char *operand : {"f", "t", "y", "m", "{rsp}", "{eax}", "*m", "i"}) {
    CAPTURE(operand);
    const std::string given = operand;
    CHECK(problemOf("nop", "=" + given + ",r").starts_with(start));
    CHECK(problemOf("nop", "=r," + given).starts_with(start));
  }
  CHECK(problemOf("nop", "=f,r").starts_with(start + "an operand is in 'f', and can be in 'r', "));
  CHECK(problemOf("nop $5", "=r,r") == start + "the text names operand $5 of 2");
  CHECK(problemOf("nop ${2:k}", "=r,r") == start + "the text names operand $2 of 2");
  CHECK(problemOf("nop ${0", "=r,r") == start + "a '${' is not closed");
  CHECK(problemOf("nop $", "=r,r") ==
        start + "a '$' stands at the end of the text; '$$' is a dollar");
  CHECK(problemOf("nop $x", "=r,r") ==
        start + "a '$' is followed by no number of an operand; '$$' is a dollar");
}

/// Time that doubles with each of them would never end.
TEST_CASE("a hundred ifs in each other compile and run") {
  constexpr int kDepth = 100;
  std::string text =
      "kernel @deep(%p: ptr<i32>, %b: bool) stage tiles {\n%one = constant 1 : i32\n";
  for (int i = 0; i < kDepth; ++i) text += "if %b {\n";
  text += "%x = load %p : i32\n%y = add %x, %one : i32\nstore %p, %y\n";
  for (int i = 0; i < kDepth; ++i) text += "yield\n}\n";
  const ir::Kernel kernel = parsedKernel(text + "}\n");
  std::vector<std::int32_t> memory{5};
  launch(kernel, {}, {pointerTo(memory), number(1)});
  CHECK(memory[0] == 6);
  launch(kernel, {}, {pointerTo(memory), number(0)});
  CHECK(memory[0] == 6);
}

} // namespace
} // namespace imbrex::host
