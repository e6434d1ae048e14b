#include "backend/passes/pipeline/slots_for_reads.h"

#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"

namespace imbrex::passes::pipeline {

using namespace ir;
using layout::LinearLayout;

namespace {

/// In a kernel of several products fragments and sums take all registers that there are: another
/// order takes more addresses there, and has to be worth it.
analysis::RegisterOrder registerOrder(const Kernel &kernel, std::int32_t elementBits) {
  constexpr std::int32_t kBitsOfByte = 8;
  std::int64_t products = 0;
  walk(kernel.body(), [&](const Op &op) { products += isProduct(op) ? 1 : 0; });
  return elementBits == kBitsOfByte || products == 1 ? analysis::RegisterOrder::May
                                                     : analysis::RegisterOrder::WhereLonger;
}

} // namespace

analysis::PlacedTiles slotLayoutsFor(const Kernel &kernel, ValueId ring, const LinearLayout &read,
                                     const machine::Machine &machine) {
  if (analysis::filledBy(kernel, ring) == Ahead::Stores) {
    const std::int32_t bits = storageBits(kernel.type(ring).element());
    return analysis::storedTiles(kernel.layout(kernel.layoutOf(ring)), read, bits, machine,
                                 registerOrder(kernel, bits));
  }
  return {{.shared = analysis::planSlots(kernel, ring, read, machine).shared}};
}

} // namespace imbrex::passes::pipeline
