#include "backend/passes/pipeline/slots_for_reads.h"

#include "backend/analysis/ring_copies.h"

namespace imbrex::passes::pipeline {

using namespace ir;
using layout::LinearLayout;

analysis::PlacedTiles slotLayoutsFor(const Kernel &kernel, ValueId ring, const LinearLayout &read,
                                     const machine::Machine &machine) {
  if (analysis::filledBy(kernel, ring) == Ahead::Stores)
    return analysis::storedTiles(kernel.layout(kernel.layoutOf(ring)), read,
                                 storageBits(kernel.type(ring).element()), machine);
  return {{.shared = analysis::planSlots(kernel, ring, read, machine).shared}};
}

} // namespace imbrex::passes::pipeline
