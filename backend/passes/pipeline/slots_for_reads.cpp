#include "backend/passes/pipeline/slots_for_reads.h"

#include "backend/analysis/ring_copies.h"
#include "backend/ir/shared_tiles.h"
#include "backend/layout/algebra.h"

namespace imbrex::passes::pipeline {

using namespace ir;
using layout::LinearLayout;

LinearLayout inSlot(const Kernel &kernel, ValueId tile, const LinearLayout &places) {
  const LinearLayout &slot = kernel.layout(kernel.layoutOf(slotOf(kernel, tile).result()));
  return compose(compose(slot, inverse(kernel.layout(kernel.layoutOf(tile)))), places);
}

analysis::PlacedTiles slotsFor(const Kernel &kernel, ValueId tile, const LinearLayout &places,
                               const machine::Machine &machine) {
  const Op &slot = slotOf(kernel, tile);
  const ValueId ring = slot.operand(0);
  const LinearLayout read = inSlot(kernel, tile, places);
  analysis::PlacedTiles tiles;
  if (analysis::filledBy(kernel, ring) == Ahead::Stores)
    tiles = analysis::storedTiles(kernel.layout(kernel.layoutOf(ring)), read,
                                  storageBits(kernel.type(ring).element()), machine);
  else
    tiles.push_back({.shared = analysis::planSlots(kernel, ring, read, machine).shared});
  const LinearLayout &named = kernel.layout(kernel.layoutOf(tile));
  const LinearLayout toName =
      compose(named, inverse(kernel.layout(kernel.layoutOf(slot.result()))));
  for (analysis::PlacedTile &placed : tiles) placed.shared = compose(toName, placed.shared);
  return tiles;
}

} // namespace imbrex::passes::pipeline
