#pragma once

#include "backend/ir/kernel.h"
#include "backend/layout/bank_conflicts.h"
#include "llvm/Support/MathExtras.h"

namespace imbrex::ir {

/// Of a ring, or of barriers: more than any shared memory has room for.
inline constexpr std::int32_t kMostSlots = 65536;

/// The bytes of shared memory that a slot takes which holds a tile of this type: as its layout, its
/// extents are rounded up to powers of two, and the next slot begins where rows of banks do.
inline std::int64_t slotBytes(const Type &tile, const layout::LinearLayout &layout) {
  constexpr std::uint64_t kAlignment = 128; // 32 banks of 4 bytes
  const std::int64_t bytes = storageBits(tile.element()) / 8;
  return static_cast<std::int64_t>(
      llvm::alignTo(static_cast<std::uint64_t>(bytes << layout.outputBits()), kAlignment));
}

/// Of a ring.
inline std::int64_t slotBytes(const Kernel &kernel, ValueId ring) {
  return slotBytes(kernel.type(ring), kernel.layout(kernel.layoutOf(ring)));
}

/// What exchanges between threads cannot do without beside all rings: an element of each thread,
/// which may be as wide as memory is accessed.
inline std::int64_t leastExchangeBytes(const Kernel &kernel) {
  return std::int64_t{layout::kMaxAccessBytes} * kernel.threads().count();
}

} // namespace imbrex::ir
