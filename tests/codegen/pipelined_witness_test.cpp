#include "backend/emulate/emulate.h"
#include "backend/ir/builder.h"
#include "backend/ir/shared_tiles.h"
#include "backend/lower/lower.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/IR/LLVMContext.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_launch.h"
#include "tests/codegen/turn_kernels.h"

#include <doctest/doctest.h>

#include <algorithm>

/// The checker and the emulator know nothing of each other: one proves a schedule that was read off
/// Block IR, the other runs the code that LLVM has made. What one refuses the other must, too.
namespace imbrex::testing {
namespace {

void runAll(ir::Kernel &kernel, llvm::ArrayRef<Pass> passes, const machine::Machine &machine) {
  Diagnostics diagnostics;
  const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
  REQUIRE_MESSAGE(runPasses(kernel, passes, {diagnostics, machine, usual}), diagnostics.render());
}

/// What the emulator says of a kernel that nobody has checked.
std::string emulated(const ir::Kernel &kernel, const TableKernel &of,
                     const machine::Machine &machine) {
  const target::GpuTarget &target = target::gpuTarget(machine);
  llvm::LLVMContext context;
  const analysis::Assumptions usual = analysis::usualAssumptions(of.kernel);
  auto lowered = lower::lowerKernel(kernel, target.vocabulary(), usual, [&] {
    auto module = std::make_unique<llvm::Module>(kernel.name(), context);
    target.prepare(*module);
    return module;
  });
  REQUIRE(lowered);
  target.optimise(*lowered->module);
  Diagnostics diagnostics;
  const auto program =
      emulate::EmulatedProgram::compile(*lowered->module, machine, lowered->interface, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  TableLaunch launch(of);
  program->run(of.grid, launch.arguments(), {.delivery = emulate::Delivery::Late}, diagnostics);
  return diagnostics.render();
}

bool isSafe(const ir::Kernel &kernel, const machine::Machine &machine) {
  Diagnostics diagnostics;
  return passes::pipeline::proveRings(kernel, machine, diagnostics).has_value();
}

bool orders(const ir::Op &op) {
  return op.kind == ir::OpKind::RingDrain || op.kind == ir::OpKind::Meet;
}

std::vector<ir::Op *> ordersOf(ir::Kernel &kernel) {
  std::vector<ir::Op *> found;
  ir::walk(kernel.body(), [&](ir::Op &op) {
    if (orders(op)) found.push_back(&op);
  });
  return found;
}

void erase(ir::Block &block, const ir::Op *op) {
  std::erase_if(block.ops, [&](const auto &one) { return one.get() == op; });
  for (const auto &one : block.ops)
    for (ir::Block &region : one->regions) erase(region, op);
}

/// Lanes the other way round.
layout::LinearLayout crossed(const layout::LinearLayout &own) {
  llvm::SmallVector<layout::Bits, 16> columns;
  for (const auto &[dim, bits] : own.inputs()) {
    const llvm::ArrayRef<layout::Bits> those = own.columns(dim);
    const bool isLane = dim == layout::Dim::Lane;
    if (isLane)
      columns.append(those.rbegin(), those.rend());
    else
      columns.append(those.begin(), those.end());
  }
  return layout::LinearLayout(layout::Sides(own.inputs()), layout::Sides(own.outputs()), columns);
}

/// What is loaded in a loop goes to other threads, who hand the elements back: slots are then read
/// by others than have filled them.
void crossLoads(ir::Kernel &kernel, ir::Block &block, bool isInLoop = false) {
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    ir::Op &load = *block.ops[i];
    for (ir::Block &region : load.regions) crossLoads(kernel, region, true);
    if (!isInLoop || (load.kind != ir::OpKind::ViewLoad && load.kind != ir::OpKind::Load)) continue;
    const ir::ValueId tile = load.result();
    const ir::Type type = kernel.type(tile);
    const ir::LayoutId own = kernel.layoutOf(tile);
    const ir::LayoutId other = kernel.addLayout(crossed(kernel.layout(own)));
    ir::Block behind;
    ir::Builder to(kernel, behind);
    to.setLocation(load.where);
    const ir::ValueId there = to.create(ir::OpKind::ConvertLayout, {tile}, {type}).result();
    const ir::ValueId back = to.create(ir::OpKind::ConvertLayout, {there}, {type}).result();
    kernel.setLayout(there, other);
    kernel.setLayout(back, own);
    ir::walk(block, [&](ir::Op &user) { std::ranges::replace(user.operands, tile, back); });
    block.ops.insert(block.ops.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     std::make_move_iterator(behind.ops.begin()),
                     std::make_move_iterator(behind.ops.end()));
    i += 2;
  }
}

/// Of each kind of loop the launch with trips enough that each slot is filled again.
bool isLongest(const std::string &name, int slots) {
  const int deep = slotsAtMost(slots);
  const std::string of = "_" + std::to_string(slots) + "_";
  return name == "product" + of + std::to_string(16 * deep + 40) ||
         name == "attention" + of + std::to_string(16 * deep + 8) + "_40" ||
         name == "stream" + of + std::to_string(256 * deep + 100);
}

bool readsOnlyItsOwn(const ir::Kernel &kernel) {
  bool does = true;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (!ir::readsShared(kernel, op)) return;
    does &= op.kind == ir::OpKind::SharedLoad &&
            kernel.layoutOf(op.result()) ==
                kernel.layoutOf(ir::slotOf(kernel, op.operand(0)).operand(0));
  });
  return does;
}

bool storesSlots(const ir::Kernel &kernel) {
  bool does = false;
  ir::walk(kernel.body(), [&](const ir::Op &op) { does |= op.kind == ir::OpKind::RingStore; });
  return does;
}

/// Each wait and each meeting is taken away in turn, and each count raised.
void checkWithout(const ir::Kernel &kernel, const TableKernel &one,
                  const machine::Machine &machine) {
  ir::Kernel all = kernel.clone();
  CHECK(isSafe(all, machine));
  CHECK(emulated(all, one, machine) == "");
  const std::size_t count = ordersOf(all).size();
  REQUIRE(count >= 1);
  std::size_t found = 0; // by the emulator
  for (std::size_t i = 0; i < count; ++i) {
    CAPTURE(i);
    ir::Kernel without = kernel.clone();
    ir::Op *wait = ordersOf(without)[i];
    const bool isDrain = wait->kind == ir::OpKind::RingDrain;
    CAPTURE(isDrain);
    if (isDrain) {
      ++wait->attrs<ir::CountAttrs>().count;
      CHECK_FALSE(isSafe(without, machine));
      CHECK(emulated(without, one, machine) != "");
    }
    erase(without.body(), wait);
    CHECK_FALSE(isSafe(without, machine));
    // Where copies are counted, all meet though each thread may read what it has copied itself: the
    // wave waits there until its reads are over. In the emulator they always are.
    const bool isNeeded = isDrain || !readsOnlyItsOwn(without);
    // What factors of attention exchange in front of a product all wait for, too; the schedule of
    // the loop does not know.
    const bool mayBeServed = storesSlots(without) && one.name.starts_with("attention");
    const bool isFound = !emulated(without, one, machine).empty();
    if (isFound) ++found;
    if (!mayBeServed) CHECK(isFound == isNeeded);
  }
  CHECK(found > 0);
}

void checkWitnesses(const std::string &target) {
  const machine::Machine *machine = machine::findMachine(target);
  REQUIRE(machine != nullptr);
  if (target::findGpuTarget(*machine) == nullptr) {
    MESSAGE("SKIP: no code for ", target, " in this build");
    return;
  }
  std::vector<TableKernel> kernels = largeProducts();
  for (const int slots : kPipelineSlots)
    for (TableKernel &one : pipelinedKernels(slots))
      if (isLongest(one.name, slots)) kernels.push_back(std::move(one));
  int witnessed = 0;
  for (const TableKernel &one : kernels) {
    CAPTURE(one.name);
    ir::Kernel kernel = one.kernel.clone();
    const llvm::ArrayRef<Pass> behindLayouts = gpuPipelineFrom(ir::Stage::Laid);
    runAll(kernel, gpuPipeline().drop_back(behindLayouts.size()), *machine);
    ir::Kernel crossed = kernel.clone();
    crossLoads(crossed, crossed.body());
    for (ir::Kernel *either : {&kernel, &crossed}) runAll(*either, behindLayouts, *machine);
    if (!passes::pipeline::hasRings(kernel)) continue; // loads that run ahead in registers
    ++witnessed;
    checkWithout(kernel, one, *machine);
    CHECK_FALSE(readsOnlyItsOwn(crossed));
    checkWithout(crossed, one, *machine);
  }
  CHECK(witnessed >= 5);
}

/// Where halves of the warps take turns some meetings only keep them apart: without these the
/// checker finds the loop safe, and the emulator as well.
void checkTurns(const std::string &target, bool isBTransposed) {
  const machine::Machine *machine = machine::findMachine(target);
  REQUIRE(machine != nullptr);
  if (target::findGpuTarget(*machine) == nullptr) return;
  const TableKernel one = turnKernel({.isBTransposed = isBTransposed, .depth = 320});
  ir::Kernel kernel = one.kernel.clone();
  runAll(kernel, gpuPipeline(), *machine);
  CHECK(isSafe(kernel, *machine));
  CHECK(emulated(kernel, one, *machine) == "");
  const std::size_t count = ordersOf(kernel).size();
  REQUIRE(count >= 8);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < count; ++i) {
    CAPTURE(i);
    ir::Kernel without = kernel.clone();
    ir::Op *order = ordersOf(without)[i];
    const bool isOfHalf =
        order->kind == ir::OpKind::Meet && order->attrs<ir::MeetAttrs>().half != ir::Half::Both;
    const bool isDrain = order->kind == ir::OpKind::RingDrain;
    erase(without.body(), order);
    const bool isFine = isSafe(without, *machine);
    CHECK(emulated(without, one, *machine).empty() == isFine);
    if (isOfHalf || isDrain) CHECK_FALSE(isFine);
    refused += isFine ? 0 : 1;
  }
  CHECK(refused >= 4);
}

} // namespace

TEST_CASE("without any meeting of halves the checker says what an emulated machine does") {
  for (const bool isBTransposed : {false, true}) {
    checkTurns("gfx942", isBTransposed);
    checkTurns("gfx950", isBTransposed);
  }
}
TEST_CASE("a wait or a meeting that is missing is found by the checker and an emulated sm_80") {
  checkWitnesses("sm_80");
}
TEST_CASE("a wait or a meeting that is missing is found by the checker and an emulated gfx950") {
  checkWitnesses("gfx950");
}
TEST_CASE("a wait or a meeting that is missing is found by the checker and an emulated sm_120a") {
  checkWitnesses("sm_120a");
}

} // namespace imbrex::testing
