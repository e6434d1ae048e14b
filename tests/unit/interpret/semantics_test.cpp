#include "backend/interpret/interpret.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <set>

using namespace imbrex;

namespace {

void checkAll(const std::vector<semantics::Case> &cases) {
  for (const semantics::Case &question : cases)
    CHECK(semantics::runCase(question,
                             [](const ir::Kernel &kernel, const ir::Grid &grid,
                                llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
                               return interpret::run(kernel, grid, arguments, diagnostics);
                             }) == "");
}

semantics::Tile numbers(const std::vector<double> &values) {
  return semantics::tile(ir::ElementKind::I32, {static_cast<std::int64_t>(values.size())}, values);
}

/// Between three fillings of a ring of two slots, two tiles are read; the ring stands at stage
/// laid, where a device has no kernels to run, so that this is a case of the interpreter's alone.
semantics::Case ringCase() {
  return {
      .name = "rings",
      .text = R"(
kernel @rings(%v: view<const i32, 1>, %p: ptr<const i32>, %y: view<i32, 1>) stage scheduled lanes 4 warps 1 {
  layout #0 = register [] lane [[1],[2]] warp [] of [4]
  layout #1 = offset [[1],[2]] of [4]
  %r = ring.new [slots = 2] : ring<i32[4]> #0
  %one = ring.new [by = stores] : ring<i32[4]> #0
  %yes = constant true : bool
  %no = constant false : bool
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %2 = constant 2 : i32
  %i = arange [start = 0, step = 1] : i32[4] #0
  %base = broadcast %p : ptr<const i32>[4] #0
  %at = ptr.add %base, %i : ptr<const i32>[4] #0
  %two = broadcast %2 : i32[4] #0
  %mask = lt %i, %two : bool[4] #0
  ring.copy_box %r, %yes, %v, %1 [width = 1]
  ring.copy %r, %no, %at [width = 1]
  ring.commit
  ring.copy %r, %yes, %at, %mask [width = 1]
  ring.commit
  ring.drain [count = 1]
  meet
  %x_at = ring.slot %r : shared<i32[4]> #1
  %x = shared.load %x_at : i32[4] #0
  view.store %y, %x, %0
  ring.copy %r, %yes, %at [width = 1]
  ring.commit
  ring.drain [count = 0]
  meet
  %z_at = ring.slot %r : shared<i32[4]> #1
  %z = shared.load %z_at : i32[4] #0
  view.store %y, %z, %1
  %w_at = ring.slot %r : shared<i32[4]> #1
  %w = shared.load %w_at : i32[4] #0
  view.store %y, %w, %2
  %3 = constant 3 : i32
  ring.store %one, %i
  meet
  %i_at = ring.slot %one : shared<i32[4]> #1
  %j = shared.load %i_at : i32[4] #0
  view.store %y, %j, %3
}
)",
      .arguments = {{.before = numbers({1, 2, 3, 4, 5, 6})},
                    {.before = numbers({11, 12, 13, 14})},
                    {.before = numbers(std::vector<double>(16, 0)),
                     .after = numbers({5, 6, 0, 0, 11, 12, 0, 0, 11, 12, 13, 14, 0, 1, 2, 3})}}};
}

/// Six halves of bytes, as three bytes.
semantics::Case bytesCase() {
  return {
      .name = "bytes of a view",
      .text = R"(
kernel @bytes(%x: view<const f4e2m1, 1>, %y: view<u8, 1>) stage tiles {
  %0 = constant 0 : i32
  %b = view.bytes %x : view<const u8, 1>
  %v = view.load %b, %0 : u8[4]
  view.store %y, %v, %0
}
)",
      .arguments = {{.before = {ir::ElementKind::F4E2M1, {6}, {1, 2, 3, 4, 5, 6}}},
                    {.before = {ir::ElementKind::U8, {4}, {7, 7, 7, 7}},
                     .after = semantics::Tile{ir::ElementKind::U8, {4}, {0x21, 0x43, 0x65, 0}}}}};
}

/// A view of 3 x 20, of which boxes of 4 x 8 come into a ring by one role and out of it by another.
semantics::Case rolesCase() {
  std::vector<double> before, after;
  for (int i = 0; i < 3 * 20; ++i) before.push_back(i + 1);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 24; ++x) after.push_back(y < 3 && x < 20 ? 20 * y + x + 1 : 0);
  return {.name = "roles",
          .text = R"(
kernel @roles(%v: view<const i32, 2>, %y: view<i32, 2>) stage scheduled lanes 4 warps 1 {
  layout #0 = register [[0,1],[0,2],[0,4]] lane [[1,0],[2,0]] warp [] of [4x8]
  layout #1 = offset [[0,1],[0,2],[0,4],[1,0],[2,0]] of [4x8]
  %r = ring.new [slots = 2, by = boxes] : ring<i32[4x8]> #0
  %full = barrier.new [slots = 2] : barrier
  %empty = barrier.new [slots = 2] : barrier
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %3 = constant 3 : i32
  roles {
    for %0, %3, %1 (%k: i32) {
      barrier.wait %empty [flipped = true]
      barrier.expect %full [bytes = 128]
      ring.load_box %r, %full, %v, %0, %k
      yield
    }
    yield
  } else {
    for %0, %3, %1 (%k: i32) {
      barrier.wait %full
      %x_at = ring.slot %r : shared<i32[4x8]> #1
      %x = shared.load %x_at : i32[4x8] #0
      barrier.arrive %empty
      view.store %y, %x, %0, %k
      yield
    }
    yield
  }
}
)",
          .arguments = {{.before = semantics::tile(ir::ElementKind::I32, {3, 20}, before)},
                        {.before = semantics::tile(ir::ElementKind::I32, {4, 24},
                                                   std::vector<double>(96, -1)),
                         .after = semantics::tile(ir::ElementKind::I32, {4, 24}, after)}}};
}

} // namespace

TEST_CASE("a role that loads boxes runs ahead of the one that reads them") {
  checkAll({rolesCase()});
}

TEST_CASE("integer arithmetic is defined for every input") { checkAll(semantics::integerCases()); }
TEST_CASE("float arithmetic rounds once") { checkAll(semantics::floatCases()); }
TEST_CASE("every element converts to every other") { checkAll(semantics::conversionCases()); }
TEST_CASE("the elementary functions are those of backend/math") {
  checkAll(semantics::elementaryCases());
}
TEST_CASE("shape ops move elements and nothing else") { checkAll(semantics::shapeCases()); }
TEST_CASE("reductions, scans, sorts and look-ups") { checkAll(semantics::axisCases()); }
TEST_CASE("matrix products") { checkAll(semantics::productCases()); }
TEST_CASE("random numbers are Philox's") { checkAll(semantics::randomCases()); }
TEST_CASE("memory is read and written where pointers, masks and boxes say") {
  checkAll(semantics::memoryCases());
}
TEST_CASE("loops, branches and early ends") { checkAll(semantics::controlCases()); }

TEST_CASE("variables hold what was written last") { checkAll(semantics::variableCases()); }

TEST_CASE("a ring gives its tiles back in order; what a condition keeps out takes no slot") {
  checkAll({ringCase()});
}

TEST_CASE("a view of halves of bytes is one of bytes, its first half the low one") {
  checkAll({bytesCase()});
}

TEST_CASE("every op has a case") {
  // Cases compare memory. What print writes is tested where it is captured: detect_test.cpp, and
  // tests/run/command_test.cpp on each device. inline_asm is one machine's: tests/unit/host. A
  // layout is no part of a meaning.
  std::set<ir::OpKind> seen = {ir::OpKind::Print, ir::OpKind::InlineAsm, ir::OpKind::ConvertLayout};
  std::vector<semantics::Case> cases = semantics::allCases();
  cases.push_back(ringCase());
  cases.push_back(rolesCase());
  cases.push_back(bytesCase());
  for (const semantics::Case &question : cases)
    ir::walk(semantics::kernelOf(question).body(), [&](const ir::Op &op) { seen.insert(op.kind); });
  for (const ir::OpKind kind : ir::allOpKinds()) {
    CAPTURE(ir::info(kind).mnemonic);
    CHECK(seen.contains(kind));
  }
}
