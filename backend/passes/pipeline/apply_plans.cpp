#include "backend/passes/pipeline/apply_plans.h"

#include "backend/passes/dce.h"
#include "backend/passes/pipeline/apply_order.h"
#include "backend/passes/pipeline/copy_layout.h"
#include "backend/passes/pipeline/read_in_place.h"
#include "backend/passes/pipeline/read_layout.h"
#include "backend/passes/pipeline/refill_rings.h"
#include "backend/passes/pipeline/stage_loads.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <utility>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// Where a loop stands now: rings go to the front of the kernel's body.
std::pair<Block *, std::size_t> placeOf(Block &block, const Op &loop) {
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    if (block.ops[i].get() == &loop) return {&block, i};
    for (Block &region : block.ops[i]->regions)
      if (const auto place = placeOf(region, loop); place.first != nullptr) return place;
  }
  return {nullptr, 0};
}

/// Whoever copies a load starts it, and is not started ahead itself.
void unmark(const Op &loop, Ahead way) {
  for (const auto &op : loop.regions[0].ops)
    if (isLoad(*op) && aheadOf(*op) == way) aheadOf(*op) = Ahead::No, widthOf(*op) = 1;
}

/// As count-trips has it.
bool countsUp(const Kernel &kernel, const Op &loop) {
  const auto step = constantInteger(kernel, loop.operand(2));
  return step && *step > 0;
}

using Rings = std::vector<ValueId>; // of a loop, by load

Rings stage(Kernel &kernel, Op &loop, const machine::Machine &machine, const Rings &given) {
  const LoopLoads loads = loadsAhead(kernel, loop, {Ahead::Registers, Ahead::Stores});
  for (const Ahead way : {Ahead::Registers, Ahead::Stores}) unmark(loop, way);
  if (loads.loads.empty()) return {};
  const auto [block, at] = placeOf(kernel.body(), loop);
  Rings rings = stageLoads(kernel, *block, at, loads, machine, given);
  readInPlace(kernel, loop);
  return rings;
}

/// Nobody asks who brought what of tiles that are read where they lie. Copies in lane order say it
/// by how a slot lies, those through pointers by who has these.
void chooseCopyLayouts(Kernel &kernel, const LoopLoads &loads, const machine::Machine &machine) {
  if (machine.asyncCopies.areInLaneOrder) return;
  for (const AheadLoad &load : loads.loads) {
    const ValueId tile = load.op->result();
    if (load.by != Ahead::Copies || load.op->kind != OpKind::ViewLoad) continue;
    if (!loads.inPlace.contains(tile)) continue;
    const layout::LinearLayout &own = kernel.layout(kernel.layoutOf(tile));
    kernel.setLayout(tile, kernel.addLayout(copyLayout(own, kernel.type(tile))));
  }
}

Rings fillRings(Kernel &kernel, Op &loop, LoopChoice choice, const machine::Machine &machine,
                const Rings &given) {
  const LoopLoads loads = loadsOfRings(kernel, loop);
  for (const Ahead way : {Ahead::Copies, Ahead::Boxes}) unmark(loop, way);
  if (loads.loads.empty()) return {};
  choice.hasLoader &= loads.areAll(Ahead::Boxes);
  chooseCopyLayouts(kernel, loads, machine);
  const LoopOrder order = orderLoop(kernel, loop, loads, choice, machine);
  const auto [block, at] = placeOf(kernel.body(), loop);
  Rings rings = applyOrder(kernel, *block, at, loads, order, given);
  readInPlace(kernel, loop);
  loop.attrs<ForAttrs>().loader = choice.hasLoader;
  return rings;
}

/// A file may say of any loop that it has slots, and of any load that it runs ahead.
Rings apply(Kernel &kernel, Op &loop, const machine::Machine &machine, const Rings &given) {
  auto &attrs = loop.attrs<ForAttrs>();
  const LoopChoice choice{.slots = attrs.slots, .hasLoader = attrs.loader};
  attrs.pipelined = attrs.slots = attrs.refills = 0;
  attrs.loader = false;
  if (!countsUp(kernel, loop)) return {};
  const bool hasSlots = choice.slots > ForAttrs::kInRegisters;
  Rings stored = stage(kernel, loop, machine, hasSlots ? Rings() : given);
  return hasSlots ? fillRings(kernel, loop, choice, machine, given) : stored;
}

/// A tile that all want in another layout is read in that.
void readAsUsed(Kernel &kernel) {
  Replacements replaced;
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind != OpKind::SharedLoad) return;
    const auto wanted = wantedLayout(kernel, op.result());
    if (!wanted) return;
    kernel.setLayout(op.result(), *wanted);
    walk(kernel.body(), [&](const Op &user) {
      if (llvm::is_contained(user.operands, op.result()))
        replaced.replace(user.result(), op.result());
    });
  });
  walk(kernel.body(), [&](Op &op) { replaced.applyTo(op); });
}

} // namespace

void applyPlans(Kernel &kernel, const PassContext &context) {
  const std::vector<Op *> loops = loopsThat(hasPlan, kernel);
  const auto refilled = refilledLoops(kernel, loops);
  std::map<const Op *, Rings> rings;
  for (Op *loop : loops) {
    const auto first = refilled.find(loop);
    const Rings given = first == refilled.end() ? Rings() : rings.at(first->second);
    rings[loop] = apply(kernel, *loop, context.machine, given);
  }
  if (loops.empty()) return;
  readAsUsed(kernel);
  dropDeadCode(kernel, context);
}

} // namespace imbrex::passes::pipeline
