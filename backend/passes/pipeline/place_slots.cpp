#include "backend/passes/pipeline/place_slots.h"

#include "backend/analysis/fragment_access.h"
#include "backend/analysis/ring_copies.h"
#include "backend/analysis/slabs.h"
#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/passes/pipeline/slots_for_reads.h"

#include <map>
#include <optional>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

using analysis::SlotPlan;

class SlotPlacer {
public:
  SlotPlacer(const Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine) {}

  /// As the first that reads a ring's tiles wants them; as they are filled, where nobody does.
  SlotPlan plan(ValueId ring) const {
    std::optional<SlotPlan> first;
    walk(kernel_.body(), [&](const Op &op) {
      if (first || !readsShared(kernel_, op)) return;
      for (std::size_t i = 0; i < op.operands.size() && !first; ++i)
        if (kernel_.type(op.operand(i)).isShared() &&
            slotOf(kernel_, op.operand(i)).operand(0) == ring)
          first = planFor(ring, op, i);
    });
    return first ? *first : planned(ring, layoutOf(ring));
  }

private:
  const layout::LinearLayout &layoutOf(ValueId value) const {
    return kernel_.layout(kernel_.layoutOf(value));
  }
  SlotPlan planned(ValueId ring, const layout::LinearLayout &read) const {
    return analysis::planSlots(kernel_, ring, read, machine_);
  }

  SlotPlan planFor(ValueId ring, const Op &reader, std::size_t operand) const {
    const Renaming slot = inSlot(kernel_, reader.operand(operand));
    if (reader.kind == OpKind::SharedLoad) return planned(ring, slot.of(layoutOf(reader.result())));
    if (const auto *unit = analysis::unitOf(kernel_, reader, machine_))
      return planForFragments(
          ring, analysis::inSlot(analysis::fragmentReads(kernel_, reader, operand, *unit), slot));
    const std::int32_t depth = layout::bitsFor(depthOf(kernel_, reader));
    return planned(
        ring,
        slot.of(analysis::operandReads(
            kernel_, reader, operand,
            {.inAll = depth,
             .ofRegisters = layout::bitsFor(analysis::depthAhead(kernel_, reader, operand))})));
  }

  SlotPlan planForFragments(ValueId ring, const analysis::FragmentReads &reads) const {
    const analysis::FragmentPlan plan =
        analysis::planFragments(reads, storageBits(kernel_.type(ring).element()), machine_,
                                [&](const layout::LinearLayout &places) {
                                  return slotLayoutsFor(kernel_, ring, places, machine_);
                                });
    if (analysis::filledBy(kernel_, ring) != Ahead::Stores)
      return planned(ring, plan.access.places);
    return {layoutOf(ring), plan.tile.shared};
  }

  const Kernel &kernel_;
  const machine::Machine &machine_;
};

} // namespace

void placeSlots(Kernel &kernel, const PassContext &context) {
  const SlotPlacer placer(kernel, context.machine);
  std::map<ValueId, LayoutId> planned;
  for (const auto &op : kernel.body().ops) {
    if (op->kind != OpKind::RingNew) continue;
    const ValueId ring = op->result();
    const auto [write, shared] = placer.plan(ring);
    planned[ring] = kernel.addLayout(shared);
    kernel.setLayout(ring, kernel.addLayout(write));
  }
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind == OpKind::RingSlot) kernel.setLayout(op.result(), planned.at(op.operand(0)));
  });
}

} // namespace imbrex::passes::pipeline
