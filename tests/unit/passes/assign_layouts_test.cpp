#include "backend/analysis/slabs.h"
#include "backend/ir/builder.h"
#include "backend/ir/layout_numbers.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/passes/cse.h"
#include "backend/passes/layouts/assign_layouts.h"
#include "backend/passes/layouts/cost.h"
#include "backend/passes/layouts/layout_plan.h"
#include "backend/pipeline.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::ir;

namespace {

Kernel parsed(const std::string &text) {
  Diagnostics diagnostics;
  auto kernel = parse(text, "k.imx", diagnostics);
  REQUIRE_MESSAGE((kernel && verify(*kernel, diagnostics)), diagnostics.render());
  return std::move(*kernel);
}

const machine::Machine &gpu() { return *machine::findMachine("sm_90a"); }

std::string explained(const std::string &text) {
  Kernel kernel = parsed(text);
  Diagnostics diagnostics;
  std::string explanation;
  passes::PassContext context(diagnostics, gpu(), analysis::usualAssumptions(kernel));
  context.explanation = &explanation;
  const Pass *pass = findPass("assign-layouts", diagnostics);
  REQUIRE(runPasses(kernel, *pass, context));
  return withLayoutNumbers(std::move(explanation), kernel);
}

std::int64_t count(const Kernel &kernel, OpKind kind) {
  std::int64_t found = 0;
  walk(kernel.body(), [&](const Op &op) { found += op.kind == kind ? 1 : 0; });
  return found;
}

} // namespace

TEST_CASE("an explanation says who asked, how wide accesses are and why, and what is converted") {
  CHECK(
      explained(
          R"(kernel @transpose(%x: view<const f32, 2>, %y: view<f32, 2>, %p: ptr<f32>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0, %0 : f32[64x32]
  %2 = permute %1 [order = [1, 0]] : f32[32x64]
  %3 = add %2, %2 : f32[32x64]
  view.store %y, %3, %0, %0
  %4 = arange [start = 1] : i32[64]
  %5 = broadcast %p : ptr<f32>[64]
  %6 = ptr.add %5, %4 : ptr<f32>[64]
  %7 = load %6 : f32[64]
  store %6, %7
}
)") == R"(a block is 8 warps of 32 lanes
layout #0 for tiles of [64x32], as 'view.load' at k.imx:3 asks: view.load
  'view.load' at k.imx:3 accesses 4 elements at once, 16 bytes: no access is wider; a warp touches 16 sectors
layout #2 for tiles of [32x64], as 'view.store' at k.imx:6 asks: permute, add, view.store
  'view.store' at k.imx:6 accesses 4 elements at once, 16 bytes: no access is wider; a warp touches 16 sectors
layout #3 for tiles of [64], as 'load' at k.imx:10 asks: load, store
  'load' at k.imx:10 accesses 1 element at once, 4 bytes: no more is known of the first one's alignment; a warp touches 4 sectors
  'store' at k.imx:11 accesses 1 element at once, 4 bytes: no more is known of the first one's alignment; a warp touches 4 sectors
conversion of f32[64x32] from layout #0 to layout #1 behind k.imx:3, through shared memory, about 92 instructions a thread: 'permute' at k.imx:4 wants it so
)");
}

TEST_CASE("an explanation counts elements of half a byte as what they are") {
  const std::string text = explained(
      R"(kernel @k(%x: view<const f4e2m1, 1>, %y: view<f4e2m1, 1>, %s: i32) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f4e2m1[8192]
  %2 = add %s, %0 : i32
  view.store %y, %1, %2 [unit = elements]
  %3 = view.load %x, %2 [unit = elements] : f4e2m1[8192]
  view.store %y, %3, %0
}
)");
  CHECK_MESSAGE(text.find("  'view.load' at k.imx:3 accesses 32 elements at once, 16 bytes: no "
                          "access is wider; a warp touches 16 sectors\n") != std::string::npos,
                text);
  CHECK_MESSAGE(text.find("  'view.store' at k.imx:5 accesses 1 element at once, half a byte, by "
                          "two atomics that leave the other half alone: no more is known of the "
                          "first one's alignment; a warp touches ") != std::string::npos,
                text);
  CHECK_MESSAGE(text.find("  'view.load' at k.imx:6 accesses 1 element at once, half a byte, of a "
                          "byte that is read for it: no more is known of the first one's "
                          "alignment; a warp touches ") != std::string::npos,
                text);
}

namespace {

layout::Threads threadsFor(const Type &tile, const machine::Machine &machine) {
  Kernel kernel("k");
  Builder(kernel, kernel.body()).create(OpKind::Constant, {}, tile);
  return passes::layouts::chooseThreads(kernel, machine);
}

Type floats(std::int64_t elements) { return Type::tile(ElementKind::F32, Shape{elements}); }

/// What is said to a tile of this type on the machine; nothing where it is laid out.
std::string refusalOf(const Type &tile, const machine::Machine &machine) {
  Kernel kernel("k");
  kernel.setStage(Stage::Tiles);
  Builder(kernel, kernel.body()).create(OpKind::Constant, {}, tile);
  Diagnostics diagnostics;
  passes::assignLayouts(kernel, {diagnostics, machine});
  return diagnostics.render();
}

} // namespace

TEST_CASE("a block has a thread for some elements of the largest tile, within what is sensible") {
  const auto warps = [](std::int64_t elements, std::int32_t lanes) {
    machine::Machine machine = gpu();
    machine.warpSize = lanes;
    const layout::Threads threads = threadsFor(floats(elements), machine);
    CHECK(threads.lanes == lanes);
    return threads.warps;
  };
  CHECK(warps(1, 32) == 1);
  CHECK(warps(256, 32) == 1);
  CHECK(warps(512, 32) == 2);
  CHECK(warps(1000, 32) == 4); // rounded up to a power of two
  CHECK(warps(256 * 128, 32) == 8);
  CHECK(warps(256 * 128, 64) == 4);
  CHECK(warps(256 * 128, 1) == 256);
  CHECK(warps(1 << 20, 32) == 32); // which is refused: no block has more
}

TEST_CASE("a block has no more warps than have the registers that the author asks for") {
  const machine::Machine &machine = gpu();
  for (const std::int32_t registers : {0, 32, 64, 100, 128, 255}) {
    CAPTURE(registers);
    Kernel kernel("k");
    kernel.setAttributes({.registers = registers});
    Builder(kernel, kernel.body()).create(OpKind::Constant, {}, floats(1 << 20));
    const layout::Threads threads = passes::layouts::chooseThreads(kernel, machine);
    CHECK(registers * threads.count() <= machine.registersPerCore);
    const bool isMost = 2 * threads.count() > machine.maxThreads ||
                        2 * registers * threads.count() > machine.registersPerCore;
    CHECK(isMost);
  }
}

TEST_CASE("a block has more threads where one would be crowded, by what each element takes") {
  struct Row {
    ElementKind element;
    bool isPointer;
    std::int64_t crowding; ///< The least elements that are too many for 256 threads.
  };
  constexpr Row kRows[]{{ElementKind::Bool, false, 32769}, {ElementKind::I8, false, 32769},
                        {ElementKind::F16, false, 32769},  {ElementKind::F32, false, 32769},
                        {ElementKind::I64, false, 16385},  {ElementKind::F64, false, 16385},
                        {ElementKind::F16, true, 16385},   {ElementKind::F32, true, 16385}};
  for (const machine::Machine &machine : machine::allMachines())
    for (const Row &row : kRows) {
      CAPTURE(machine.name);
      CAPTURE(info(row.element).name);
      CAPTURE(row.isPointer);
      const auto threads = [&](std::int64_t elements) {
        const Shape shape{elements};
        return threadsFor(row.isPointer ? Type::pointerTile(row.element, shape)
                                        : Type::tile(row.element, shape),
                          machine)
            .count();
      };
      CHECK(threads(row.crowding / 2) == 256);
      CHECK(threads(row.crowding - 1) == 256);
      CHECK(threads(row.crowding) == 512); // rounded up to a power of two
      CHECK(threads(2 * (row.crowding - 1)) == 512);
      CHECK(threads(2 * row.crowding) == 1024);
      CHECK(threads(1 << 24) == 1024);
    }
}

TEST_CASE("padding counts, for there are registers for it") {
  const auto threads = [](Shape shape) {
    return threadsFor(Type::tile(ElementKind::F32, shape), gpu()).count();
  };
  CHECK(threads({128, 256}) == 256);
  CHECK(threads({129, 129}) == 512);
  CHECK(refusalOf(Type::tile(ElementKind::F32, Shape{129, 129}), gpu()) == "");
}

TEST_CASE("a tile is refused that takes more registers than a core has, and told what fits") {
  struct Element {
    ElementKind kind;
    std::int64_t bits;
  };
  for (const machine::Machine &machine : machine::allMachines())
    for (const auto [kind, bits] : {Element{ElementKind::F4E2M1, 4}, Element{ElementKind::I8, 8},
                                    Element{ElementKind::F16, 16}, Element{ElementKind::F32, 32},
                                    Element{ElementKind::I64, 64}, Element{ElementKind::F64, 64}}) {
      CAPTURE(machine.name);
      CAPTURE(info(kind).name);
      const std::int64_t registers =
          std::bit_floor(static_cast<std::uint32_t>(machine.registersPerCore));
      const std::int64_t fitting = registers * 32 / bits;
      CHECK(refusalOf(Type::tile(kind, Shape{fitting}), machine) == "");
      const std::string refusal = refusalOf(Type::tile(kind, Shape{fitting + 1}), machine);
      const std::string hint = "make it at most " + std::to_string(fitting) + " elements large,";
      CHECK_MESSAGE(refusal.find(hint) != std::string::npos, refusal);
    }
}

TEST_CASE("what a product reads slab by slab is loaded so that each register is in one slab") {
  for (const machine::Machine &machine : machine::allMachines()) {
    CAPTURE(machine.name);
    Kernel kernel = parsed(
        R"(kernel @k(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>) stage tiles {
  %0 = constant 0 : i32
  %1 = view.load %a, %0, %0 : f32[128x256]
  %2 = view.load %b, %0, %0 : f32[256x128]
  %3 = constant 0 : f32[128x128]
  %4 = dot %1, %2, %3 : f32[128x128]
  view.store %c, %4, %0, %0
}
)");
    Diagnostics diagnostics;
    passes::assignLayouts(kernel, {diagnostics, machine, analysis::usualAssumptions(kernel)});
    CHECK(count(kernel, OpKind::ConvertLayout) == 0);
    walk(kernel.body(), [&](const Op &op) {
      if (op.kind != OpKind::Dot) return;
      const std::int64_t depth = analysis::depthOfSlab(kernel, op, machine.staticSharedMemoryBytes);
      CHECK(depth < 256);
      for (const std::size_t operand : {0, 1}) {
        const auto &layout = kernel.layout(kernel.layoutOf(op.operand(operand)));
        const std::int32_t axis = ir::depthAxis(kernel, op, operand);
        // As if all were one slab.
        CHECK(passes::layouts::slabsCost(layout, axis, depth) ==
              passes::layouts::slabsCost(layout, axis, 256));
      }
    });
  }
}

TEST_CASE("what indices are made of is computed again, and only what is dear is converted") {
  // Columns and rows of one index tile: two layouts of what arange gives, and no conversion of it.
  const std::string text =
      R"(kernel @k(%x: view<const f32, 2>, %y: view<i32, 2>, %z: view<i32, 2>) stage tiles {
  %0 = program_id : i32
  %1 = arange : i32[64]
  %2 = reshape %1 : i32[64x1]
  %3 = broadcast %2 : i32[64x32]
  %4 = mul %3, %3 : i32[64x32]
  view.store %y, %4, %0, %0
  %5 = permute %4 [order = [1, 0]] : i32[32x64]
  view.store %z, %5, %0, %0
}
)";
  Kernel kernel = parsed(text);
  Diagnostics diagnostics;
  passes::assignLayouts(kernel, {diagnostics, gpu(), analysis::usualAssumptions(kernel)});
  CHECK(count(kernel, OpKind::ConvertLayout) == 0);
  CHECK(count(kernel, OpKind::Mul) == 2);
}

TEST_CASE("a chain of ops of any length is laid out") {
  Kernel kernel("chain");
  kernel.setStage(Stage::Tiles);
  const ValueId view = kernel.addParameter("x", Type::view(ElementKind::I32, 2, false));
  Builder build(kernel, kernel.body());
  const Type type = Type::tile(ElementKind::I32, Shape{64, 64});
  const ValueId at = build.integer(Type::tile(ElementKind::I32), 0);
  ValueId sum = build.integer(type, 1);
  for (int i = 0; i < 200'000; ++i) sum = build.elementwise(OpKind::Add, {sum, sum});
  build.create(OpKind::ViewStore, {view, sum, at, at}, {});
  Diagnostics diagnostics;
  passes::assignLayouts(kernel, {diagnostics, gpu()});
  kernel.setStage(Stage::Laid);
  CHECK_MESSAGE(verify(kernel, diagnostics), diagnostics.render());
  CHECK(count(kernel, OpKind::ConvertLayout) == 0);
}

namespace {

/// The steps that planning takes for a kernel of so many rounds of the same ops.
std::int64_t stepsFor(std::string_view round, std::int32_t rounds) {
  std::string text = R"(kernel @k(%x: view<f32, 2>) stage tiles {
  %at = constant 0 : i32
  %first = view.load %x, %at, %at : f32[16x64]
  %v0 = view.load %x, %at, %at : f32[16x64]
)";
  for (std::int32_t i = 0; i < rounds; ++i) {
    std::string ops(round);
    for (const auto &[letter, number] : {std::pair{'N', i + 1}, std::pair{'I', i}})
      for (auto place = ops.find(letter); place != std::string::npos; place = ops.find(letter))
        ops.replace(place, 1, std::to_string(number));
    text += ops;
  }
  Kernel kernel = parsed(text + "  view.store %x, %v" + std::to_string(rounds) + ", %at, %at\n}\n");
  const analysis::Assumptions assumptions = analysis::usualAssumptions(kernel);
  const analysis::AxisAnalysis facts(kernel, assumptions);
  return passes::layouts::planLayouts({.kernel = kernel,
                                       .threads = {.lanes = 32, .warps = 4},
                                       .machine = gpu(),
                                       .facts = facts,
                                       .assumptions = assumptions})
      .steps;
}

} // namespace

TEST_CASE("twice the ops are about twice the steps of planning, however they hang together") {
  for (const std::string_view round : {
           "  %vN = fma %vI, %first, %vI : f32[16x64]\n",
           "  %lI = view.load %x, %at, %at : f32[16x64]\n"
           "  %vN = fma %vI, %lI, %first : f32[16x64]\n",
           "  %vN = mul %vI, %first : f32[16x64]\n"
           "  view.store %x, %vN, %at, %at\n",
           "  %rI = reduce %vI [axis = 1] : f32[16]\n"
           "  %sI = reshape %rI : f32[16x1]\n"
           "  %bI = broadcast %sI : f32[16x64]\n"
           "  %vN = sub %vI, %bI : f32[16x64]\n",
           "  %rI = reshape %vI : f32[64x16]\n"
           "  %pI = permute %rI [order = [1, 0]] : f32[16x64]\n"
           "  %sI = sort %pI [axis = 1] : f32[16x64]\n"
           "  %vN = sub %vI, %sI : f32[16x64]\n",
       }) {
    CAPTURE(round);
    const std::int64_t steps = stepsFor(round, 50);
    CHECK(steps > 0);
    CHECK(stepsFor(round, 100) < 3 * steps);
    CHECK(steps < 50 * 300); // a few hundred for each round
  }
}

TEST_CASE("values of different layouts are not merged") {
  Kernel kernel = parsed(R"(kernel @k() stage laid lanes 2 warps 1 {
  layout #0 = register [] lane [[1]] warp [] of [2]
  layout #1 = register [[1]] lane [[0]] warp [] of [2]
  %0 = arange : i32[2] #0
  %1 = arange : i32[2] #1
  %2 = arange : i32[2] #0
  %3 = convert_layout %0 : i32[2] #1
  print %0, %1, %2, %3
}
)");
  Diagnostics diagnostics;
  passes::mergeCommonValues(kernel, diagnostics);
  CHECK(count(kernel, OpKind::Arange) == 2);
  CHECK(count(kernel, OpKind::ConvertLayout) == 1);
}
