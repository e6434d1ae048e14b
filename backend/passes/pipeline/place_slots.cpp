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

/// What a thread reads through a shared tile, in coordinates of the slot.
layout::LinearLayout readOfSlot(const Kernel &kernel, const Op &reader, std::size_t operand,
                                const machine::Machine &machine) {
  const ValueId tile = reader.operand(operand);
  const auto layoutOf = [&](ValueId value) { return kernel.layout(kernel.layoutOf(value)); };
  const auto ofProduct = [&] {
    if (const auto *unit = analysis::unitOf(kernel, reader, machine)) {
      const auto reads = analysis::fragmentReads(kernel, reader, operand,
                                                 {.unit = *unit,
                                                  .bits = layout::bitsFor(depthOf(kernel, reader)),
                                                  .order = unitAttrs(reader).depthOrder});
      return analysis::planFragments(reads, storageBits(kernel.type(tile).element()), machine,
                                     [&](const layout::LinearLayout &places) {
                                       return analysis::PlacedTile{
                                           slotFor(kernel, tile, places, machine)};
                                     })
          .access.places;
    }
    return analysis::operandReads(
        kernel, reader, operand,
        {.inAll = layout::bitsFor(depthOf(kernel, reader)),
         .ofRegisters = layout::bitsFor(analysis::depthAhead(kernel, reader, operand))});
  };
  const layout::LinearLayout read =
      reader.kind == OpKind::SharedLoad ? layoutOf(reader.result()) : ofProduct();
  return inSlot(kernel, tile, read);
}

/// How the first that reads a ring's tiles wants them; as they are filled, where nobody does.
layout::LinearLayout firstRead(const Kernel &kernel, ValueId ring,
                               const machine::Machine &machine) {
  std::optional<layout::LinearLayout> first;
  walk(kernel.body(), [&](const Op &op) {
    if (first || !readsShared(kernel, op)) return;
    for (std::size_t i = 0; i < op.operands.size() && !first; ++i)
      if (kernel.type(op.operand(i)).isShared() && slotOf(kernel, op.operand(i)).operand(0) == ring)
        first = readOfSlot(kernel, op, i, machine);
  });
  return first ? *first : kernel.layout(kernel.layoutOf(ring));
}

} // namespace

void placeSlots(Kernel &kernel, const PassContext &context) {
  std::map<ValueId, LayoutId> planned;
  for (const auto &op : kernel.body().ops) {
    if (op->kind != OpKind::RingNew) continue;
    const ValueId ring = op->result();
    const auto [write, shared] = analysis::planSlots(
        kernel, ring, firstRead(kernel, ring, context.machine), context.machine);
    planned[ring] = kernel.addLayout(shared);
    kernel.setLayout(ring, kernel.addLayout(write));
  }
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind == OpKind::RingSlot) kernel.setLayout(op.result(), planned.at(op.operand(0)));
    const bool isNamed = op.kind == OpKind::Permute || op.kind == OpKind::Reshape;
    if (isNamed && kernel.type(op.operand(0)).isShared())
      kernel.setLayout(op.result(), kernel.addLayout(relabelled(kernel, op)));
  });
}

} // namespace imbrex::passes::pipeline
