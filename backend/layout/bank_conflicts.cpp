#include "backend/layout/bank_conflicts.h"

#include "backend/layout/algebra.h"
#include "backend/support/check.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::layout {

Vectors lanesTogether(const SharedMemoryModel &memory, AccessKind kind, std::int64_t bytes) {
  const std::int64_t lanes = std::min<std::int64_t>(
      memory.lanes, memory.banks * kBankBytes / std::max<std::int64_t>(bytes, kBankBytes));
  const auto count = static_cast<std::size_t>(llvm::Log2_64(static_cast<std::uint64_t>(lanes)));
  const bool hasOrder = kind == AccessKind::Read && bytes == kMaxAccessBytes;
  if (!hasOrder || memory.wideReadLanes.empty())
    return unitVectors(static_cast<std::int32_t>(count));
  return Vectors(llvm::ArrayRef(memory.wideReadLanes).take_front(count));
}

AccessCost bankConflicts(const SharedAccess &access, const SharedMemoryModel &memory) {
  const std::int64_t bytes = access.vectorElements * access.elementBytes;
  IMBREX_CHECK(bytes <= kMaxAccessBytes, "an access of {0} bytes", bytes);
  const LinearLayout &offsets = access.offsets;
  Vectors words, banks;
  const Vectors lanes = lanesTogether(memory, access.kind, bytes);
  for (const Bits lane : lanes) {
    const Bits offset = offsets.apply(Dim::Lane, lane) * static_cast<Bits>(access.elementBytes);
    words.push_back(offset / kBankBytes);
    banks.push_back(words.back() % static_cast<Bits>(memory.banks));
  }
  const std::int64_t parts = memory.lanes >> lanes.size();
  const std::int64_t accesses =
      (std::int64_t{1} << offsets.inputBits(Dim::Register)) / access.vectorElements;
  return {.accesses = accesses,
          .cycles = accesses * parts << (rank(words) - rank(banks)),
          .leastCycles = accesses * parts};
}

} // namespace imbrex::layout
