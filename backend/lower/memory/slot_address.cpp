#include "backend/lower/memory/slot_address.h"

#include "backend/ir/shared_tiles.h"
#include "backend/layout/matrix.h"
#include "llvm/IR/Operator.h"

namespace imbrex::lower {

using layout::Bits;
using layout::Dim;
using llvm::Value;

Value *slotAddress(Emitter &e, Value *base, const layout::LinearLayout &offsets, Bits constant,
                   std::int64_t bytes) {
  const Bits ofThreads =
      layout::unionOf(offsets.columns(Dim::Lane)) | layout::unionOf(offsets.columns(Dim::Warp));
  const auto mixed = static_cast<std::int64_t>(constant & ofThreads);
  Value *const ofThread = e.b.CreateXor(e.slotPart(offsets, bytes), e.i32(mixed * bytes));
  const auto behind = [&](Value *from, Value *distance) {
    return e.b.CreateGEP(e.b.getInt8Ty(), from, distance);
  };
  Value *place = nullptr; // of the tile in its array
  if (const auto *inArray = llvm::dyn_cast<llvm::GEPOperator>(base);
      inArray && inArray->getNumIndices() == 1 && inArray->getSourceElementType()->isIntegerTy(8)) {
    place = inArray->getOperand(1);
    base = inArray->getOperand(0);
  }
  Value *address = behind(base, ofThread);
  if (place) address = behind(address, place);
  return behind(address, e.i32(static_cast<std::int64_t>(constant & ~ofThreads) * bytes));
}

layout::SlotReads readsOf(const Emitter &e, ir::ValueId tile, const layout::LinearLayout &places) {
  const ir::Renaming slot = inSlot(e.kernel, tile);
  return slotReads(slotLayout(e.kernel, tile), slot.of(places), slot.first);
}

} // namespace imbrex::lower
