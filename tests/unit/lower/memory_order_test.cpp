#include "backend/lower/memory/memory_order.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

using namespace imbrex;

namespace {

/// A loop that copies, and another behind it, and so on.
std::string copyingLoops(std::int32_t count) {
  std::string text = "kernel @k(%p: ptr<f32>, %q: ptr<f32>, %n: i32) stage tiles {\n"
                     "  %one = constant 1 : i32\n";
  for (std::int32_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    text += "  for %one, %n, %one (%i" + number + ": i32) {\n" + "    %x" + number +
            " = load %p : f32\n    store %q, %x" + number + "\n  }\n";
  }
  return text + "}\n";
}

/// Whether the second op needs a barrier before it, after the first.
bool needsBarrier(const std::string &first, const std::string &second, bool areDisjoint) {
  const std::string text =
      "kernel @k(%v: view<f32, 1>, %w: view<f32, 1>) stage laid lanes 32 warps 2 {\n"
      "  layout #0 = register [] lane [[1],[2],[4],[8],[16]] warp [[32]] of [64]\n"
      "  layout #1 = register [] lane [[2],[1],[4],[8],[16]] warp [[32]] of [64]\n"
      "  layout #2 = register [] lane [[1],[2],[4],[8],[16]] warp [[0]] of [32]\n"
      "  %0 = constant 0 : i32\n"
      "  %1 = constant 1 : i32\n"
      "  %2 = constant 2.0 : f32[64] #0\n  " +
      first + "\n  " + second + "\n}\n";
  const ir::Kernel kernel = testing::parsedKernel(text);
  const analysis::Assumptions assumptions{.parameters = {}, .areDisjoint = areDisjoint};
  lower::MemoryOrder order(kernel, assumptions);
  const auto &ops = kernel.body().ops;
  order.add(*ops[ops.size() - 2]);
  return order.needsMeetingBefore(*ops.back());
}

const std::string kStore = "view.store %v, %2, %0";
const std::string kLoad = "%3 = view.load %v, %0 : f32[64] #0";

} // namespace

TEST_CASE("each access is waited for once, however many ways lead on from it") {
  constexpr std::int32_t kLoops = 40;
  const ir::Kernel kernel = testing::parsedKernel(copyingLoops(kLoops));
  const analysis::Assumptions assumptions;
  lower::MemoryOrder order(kernel, assumptions);
  for (const auto &op : kernel.body().ops) {
    if (op->kind != ir::OpKind::For) continue;
    const lower::MemoryOrder::Pending before = order.pending();
    order.enterLoop(op->regions[0]);
    ir::walk(op->regions[0], [&](const ir::Op &inner) { order.add(inner); });
    order.addPending(before);
    order.enterLoop(op->regions[0]);
  }
  CHECK(order.pending().size() == 2 * kLoops);
}

TEST_CASE("an access of an earlier round conflicts even where equal values say where it goes") {
  const ir::Kernel kernel =
      testing::parsedKernel(R"(kernel @k(%v: view<i32, 1>, %i: i32) stage laid lanes 2 warps 1 {
  layout #0 = register [] lane [[1]] warp [] of [2]
  for %i, %i, %i (%j: i32) {
    %0 = view.load %v, %i [unit = elements] : i32[2] #0
  }
  %1 = constant 1 : i32[2] #0
  view.store %v, %1, %i [unit = elements]
}
)");
  const analysis::Assumptions assumptions{.parameters = {}, .areDisjoint = true};
  const ir::Block &body = kernel.body().ops[0]->regions[0];
  const ir::Op &load = *body.ops[0], &store = *kernel.body().ops[2];
  lower::MemoryOrder order(kernel, assumptions);
  order.add(load);
  CHECK(!order.needsMeetingBefore(store));
  const lower::MemoryOrder::Pending thisRound = order.pending();
  order.enterLoop(body);
  CHECK(order.needsMeetingBefore(store));
  order.addPending(thisRound);
  order.add(load);
  CHECK(order.needsMeetingBefore(store)); // that of the round before is still there
  const lower::MemoryOrder::Pending anyRound = order.pending();
  order.onMeeting();
  order.addPending(thisRound);
  CHECK(!order.needsMeetingBefore(store));
  order.addPending(anyRound);
  CHECK(order.needsMeetingBefore(store));
}

TEST_CASE("one box of a view, held alike, needs no barrier if its elements are apart") {
  CHECK_FALSE(needsBarrier(kStore, kLoad, true));
  CHECK_FALSE(needsBarrier(kLoad, kStore, true));
}

TEST_CASE("where a view may have a stride of 0, what is read back needs a barrier") {
  CHECK(needsBarrier(kStore, kLoad, false));
  CHECK(needsBarrier(kLoad, kStore, false));
  CHECK(needsBarrier(kStore, kStore, false));
}

TEST_CASE("tiles of one shape, held alike, need no barrier, for they are the same or apart") {
  CHECK_FALSE(needsBarrier(kStore, "%3 = view.load %v, %1 : f32[64] #0", true));
  CHECK_FALSE(needsBarrier(kStore, "view.store %v, %2, %1", true));
  CHECK(needsBarrier(kStore, "%3 = view.load %v, %1 : f32[64] #0", false));
  CHECK(needsBarrier(kStore, "%3 = view.load %v, %1 : f32[32] #2", true));
}

/// Whether what a trip of a loop stores to a view's tiles must be there before the next trip
/// stores.
bool needsBarrierBetweenTrips(const std::string &element, const std::string &one) {
  Diagnostics diagnostics;
  const auto kernel =
      ir::parse("kernel @k(%v: view<" + element + ", 1>, %i: i32) stage laid lanes 2 warps 1 {\n" +
                    "  layout #0 = register [] lane [[1]] warp [] of [2]\n" + "  %1 = constant " +
                    one + " : " + element + "[2] #0\n" +
                    "  for %i, %i, %i (%j: i32) {\n    view.store %v, %1, %j\n  }\n}\n",
                "k.imx", diagnostics);
  REQUIRE_MESSAGE(kernel, diagnostics.render());
  const analysis::Assumptions assumptions{.parameters = {}, .areDisjoint = true};
  const ir::Block &body = kernel->body().ops[1]->regions[0];
  lower::MemoryOrder order(*kernel, assumptions);
  order.enterLoop(body);
  return order.needsMeetingBefore(*body.ops[0]);
}

TEST_CASE("in each trip of a loop tiles may be others, and no thread's element is another's") {
  CHECK_FALSE(needsBarrierBetweenTrips("i32", "1"));
}

TEST_CASE("two elements of four bits share a byte, which may be of two tiles or threads") {
  CHECK(needsBarrierBetweenTrips("f4e2m1", "1.0"));
}

TEST_CASE("pointers that a loop carries on are still of their parameter, unless a trip puts others "
          "there") {
  for (const char *next : {"%at", "%to"}) {
    Diagnostics diagnostics;
    const auto kernel = ir::parse(
        std::string("kernel @k(%p: ptr<const i32>, %q: ptr<const i32>, %o: ptr<i32>, "
                    "%i: i32) stage tiles {\n"
                    "%r = for %i, %i, %i, %p (%j: i32, %at: ptr<const i32>) {\n"
                    "%to = ptr.add %q, %j : ptr<const i32>\n%x = load %at : i32\n"
                    "%next = ptr.add ") +
            next + ", %j : ptr<const i32>\nyield %next\n} : ptr<const i32>\n" + "store %o, %i\n}\n",
        "k.imx", diagnostics);
    REQUIRE_MESSAGE(kernel, diagnostics.render());
    const analysis::Assumptions assumptions{.parameters = {}, .areDisjoint = true};
    const ir::Block &body = kernel->body().ops[0]->regions[0];
    lower::MemoryOrder order(*kernel, assumptions);
    order.add(*body.ops[1]);
    CHECK(order.needsMeetingBefore(*kernel->body().ops[1]) == (std::string(next) == "%to"));
  }
}

TEST_CASE("another box in elements, and another layout, need a barrier") {
  CHECK(needsBarrier("view.store %v, %2, %0 [unit = elements]",
                     "%3 = view.load %v, %1 [unit = elements] : f32[64] #0", true));
  CHECK(needsBarrier(kStore, "%3 = view.load %v, %0 : f32[64] #1", true));
  CHECK(needsBarrier(kStore, "%3 = view.load %v, %0 [unit = elements] : f32[64] #0", true));
}

TEST_CASE("other parameters need a barrier only if they may overlap") {
  CHECK_FALSE(needsBarrier(kStore, "%3 = view.load %w, %1 : f32[64] #0", true));
  CHECK(needsBarrier(kStore, "%3 = view.load %w, %1 : f32[64] #0", false));
}

TEST_CASE("two loads need no barrier") {
  CHECK_FALSE(needsBarrier(kLoad, "%4 = view.load %v, %1 : f32[64] #0", false));
}

TEST_CASE("what two pointers of a table lead to may be the same, and other parameters' if they may "
          "overlap") {
  const auto needs = [](const std::string &first, const std::string &second, bool areDisjoint) {
    const ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%t: table<f32>, %p: ptr<f32>, %i: i32) stage tiles {\n"
        "  %0 = constant 1 : i32\n  %1 = table.pointer %t, %0 : ptr<f32>\n"
        "  %2 = table.pointer %t, %i : ptr<f32>\n  %x = constant 2.0 : f32\n  " +
        first + "\n  " + second + "\n}\n");
    const analysis::Assumptions assumptions{.parameters = {}, .areDisjoint = areDisjoint};
    lower::MemoryOrder order(kernel, assumptions);
    const auto &ops = kernel.body().ops;
    order.add(*ops[ops.size() - 2]);
    return order.needsMeetingBefore(*ops.back());
  };
  CHECK(needs("store %1, %x", "%3 = load %2 : f32", true));
  CHECK(needs("store %1, %x", "%3 = load %p : f32", false));
  CHECK_FALSE(needs("store %1, %x", "%3 = load %p : f32", true));
  CHECK_FALSE(needs("%3 = load %1 : f32", "%4 = load %2 : f32", false));
}
