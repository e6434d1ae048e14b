#include "backend/lower/memory/slot_address.h"

#include "backend/ir/shared_tiles.h"
#include "backend/layout/matrix.h"
#include "llvm/IR/Operator.h"

namespace imbrex::lower {

using layout::Bits;
using layout::Dim;
using llvm::Value;

SlotAddresses::SlotAddresses(Emitter &emitter, Value *base, const layout::LinearLayout &offsets,
                             std::int64_t bytes)
    : e_(emitter), base_(base), offsets_(&offsets), bytes_(bytes),
      bitsOfThreads_(layout::unionOf(offsets.columns(Dim::Lane)) |
                     layout::unionOf(offsets.columns(Dim::Warp))) {
  const auto *inArray = llvm::dyn_cast<llvm::GEPOperator>(base);
  if (!inArray || inArray->getNumIndices() != 1 || !inArray->getSourceElementType()->isIntegerTy(8))
    return;
  place_ = inArray->getOperand(1);
  base_ = inArray->getOperand(0);
}

Value *SlotAddresses::at(Bits constant) {
  Value *const from = ofThread(constant & bitsOfThreads_);
  const auto behind = static_cast<std::int64_t>(constant & ~bitsOfThreads_) * bytes_;
  return behind == 0 ? from : e_.b.CreateGEP(e_.b.getInt8Ty(), from, e_.i32(behind));
}

Value *SlotAddresses::ofThread(Bits mixed) {
  const auto [known, isNew] = known_.try_emplace(mixed);
  if (!isNew) return known->second;
  Value *offset = e_.slotPart(*offsets_, bytes_);
  if (mixed != 0)
    offset = e_.b.CreateXor(offset, e_.i32(static_cast<std::int64_t>(mixed) * bytes_));
  Value *address = e_.b.CreateGEP(e_.b.getInt8Ty(), base_, offset);
  if (place_) address = e_.b.CreateGEP(e_.b.getInt8Ty(), address, place_);
  return known->second = address;
}

layout::SlotReads readsOf(const Emitter &e, ir::ValueId tile, const layout::LinearLayout &places) {
  const ir::Renaming slot = inSlot(e.kernel, tile);
  return slotReads(slotLayout(e.kernel, tile), slot.of(places), slot.first);
}

} // namespace imbrex::lower
