#pragma once

#include "backend/layout/slot_layout.h"
#include "backend/lower/emitter.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace imbrex::lower {

/// Where the elements of a thread's registers lie in a tile in shared memory, which begins at
/// `base`: at offsets in elements of so many bytes, of which `offsets` says what lane and warp
/// decide.
///
/// The sum begins with the array and what only threads decide: that is the same in all trips of a
/// loop and for all slots, and stays in a register. Then come where in the array the tile begins,
/// and what an access can add for nothing.
///
/// For accesses one behind the other: what two of them begin with is computed for the first.
class SlotAddresses {
public:
  SlotAddresses(Emitter &emitter, llvm::Value *base, const layout::LinearLayout &offsets,
                std::int64_t bytes);
  /// Of the element at an offset of which this is the rest (xor).
  llvm::Value *at(layout::Bits constant);

private:
  llvm::Value *ofThread(layout::Bits mixed);

  Emitter &e_;
  llvm::Value *base_;
  llvm::Value *place_ = nullptr; // of the tile in its array, where that is known
  const layout::LinearLayout *offsets_;
  std::int64_t bytes_;
  layout::Bits bitsOfThreads_;
  llvm::SmallDenseMap<layout::Bits, llvm::Value *, 4> known_;
};

/// What of a shared tile's slot the threads read, who want these of the tile's coordinates.
layout::SlotReads readsOf(const Emitter &emitter, ir::ValueId tile,
                          const layout::LinearLayout &places);

} // namespace imbrex::lower
