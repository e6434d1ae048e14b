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

LinearLayout slotFor(const Kernel &kernel, ValueId tile, const LinearLayout &places,
                     const machine::Machine &machine) {
  const Op &slot = slotOf(kernel, tile);
  const LinearLayout planned =
      analysis::planSlots(kernel, slot.operand(0), inSlot(kernel, tile, places), machine).shared;
  const LinearLayout &named = kernel.layout(kernel.layoutOf(tile));
  return compose(compose(named, inverse(kernel.layout(kernel.layoutOf(slot.result())))), planned);
}

} // namespace imbrex::passes::pipeline
