#include "backend/passes/pipeline/stored_slots.h"

#include "backend/ir/shared_tiles.h"

namespace imbrex::passes::pipeline {

using namespace ir;

ValueId addStoredRing(Builder &to, ValueId tile) {
  Kernel &kernel = to.kernel();
  const ValueId ring = to.create(OpKind::RingNew, {}, {Type::ring(kernel.type(tile))},
                                 RingAttrs{.slots = 1, .by = Ahead::Stores})
                           .result();
  kernel.setLayout(ring, kernel.layoutOf(tile));
  return ring;
}

ValueId takeStoredSlot(Builder &to, ValueId ring) {
  Kernel &kernel = to.kernel();
  const Type tile = kernel.type(ring).held();
  const ValueId slot = to.create(OpKind::RingSlot, {ring}, {Type::shared(tile)}).result();
  kernel.setLayout(slot, kernel.addLayout(inRows(tile.shape())));
  return slot;
}

} // namespace imbrex::passes::pipeline
