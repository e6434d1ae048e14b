#include "backend/passes/layouts/cost.h"

#include "backend/layout/matrix.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;

// In instructions of one thread: what a round through shared memory takes besides the accesses (two
// barriers and the addresses), one word's store and load there, a shuffle, and a sector of memory.
constexpr Cost kSharedRound = 60, kSharedWord = 4, kShuffle = 4, kSector = 4;
// Of a word that is only read there.
constexpr Cost kSlotWord = 2;
// That instructions are issued at all.
constexpr Cost kIssue = 4;
constexpr std::int64_t kSectorBits = 8 * 32;
constexpr std::int64_t kMostBits = 8 * 16; // that one instruction of a thread accesses

Bits spanOf(const LinearLayout &layout, Dim dim) { return layout::unionOf(layout.columns(dim)); }

/// Whether a place's part of a dimension decides alike in both layouts, but for what is held
/// anyway.
bool agree(const LinearLayout &from, const LinearLayout &wanted, Dim dim, Bits held) {
  return llvm::all_of(llvm::zip_equal(from.columns(dim), wanted.columns(dim)), [&](auto columns) {
    const auto [a, b] = columns;
    return ((a ^ b) & ~held) == 0;
  });
}

std::int32_t bitsAlong(const LinearLayout &layout, Dim dim, std::int32_t axis) {
  return static_cast<std::int32_t>(llvm::count_if(layout.columns(dim), [&](Bits column) {
    return layout.outputPart(column, layout::axisDim(axis)) != 0;
  }));
}

} // namespace

// Each reaches every bit once. So if lanes and warps differ only in bits that are held anyway, the
// registers do, too.
ConversionPath conversionPath(const LinearLayout &from, const LinearLayout &wanted) {
  const Bits registers = spanOf(from, Dim::Register);
  if (agree(from, wanted, Dim::Lane, registers) && agree(from, wanted, Dim::Warp, registers))
    return ConversionPath::Stay;
  const Bits warp = registers | spanOf(from, Dim::Lane);
  return agree(from, wanted, Dim::Warp, warp) ? ConversionPath::Shuffle : ConversionPath::Shared;
}

std::int64_t bitsHeld(const Type &type) {
  return type.isPointerTile() ? 64 : storageBits(type.element());
}

std::int64_t wordsOf(const Type &type, const LinearLayout &layout) {
  return std::max<std::int64_t>(layout::registerCount(layout) * bitsHeld(type) / 32, 1);
}

namespace {

// Bytes that lie apart cost as much as words; halves are not so many.
constexpr std::int64_t kLeastTogether = 16;

/// Whether threads have words of neighbours along one axis in both layouts.
bool haveWordsTogether(const Type &type, const LinearLayout &from, const LinearLayout &wanted) {
  const std::int64_t together = std::max<std::int64_t>(32 / bitsHeld(type), 1);
  for (std::int32_t axis = 0; axis < type.rank(); ++axis) {
    const AccessShape access{.axis = axis, .contiguity = together, .width = together, .bits = 8};
    if (vectorOf(access, from) == together && vectorOf(access, wanted) == together) return true;
  }
  return false;
}

/// Of a round through shared memory in which one side has words, and the other element by element,
/// which it puts together.
Cost costInPieces(const Type &type, const LinearLayout &from, const LinearLayout &wanted) {
  const auto words = static_cast<Cost>(std::max(wordsOf(type, from), wordsOf(type, wanted)));
  const auto elements =
      static_cast<Cost>(std::max(layout::registerCount(from), layout::registerCount(wanted)));
  return kSharedRound + (words + elements) * kSharedWord / 2 + elements;
}

} // namespace

Cost conversionCost(const Type &type, const LinearLayout &from, const LinearLayout &wanted) {
  const auto words = static_cast<Cost>(std::max(wordsOf(type, from), wordsOf(type, wanted)));
  switch (conversionPath(from, wanted)) {
  case ConversionPath::Stay: return 0;
  case ConversionPath::Shuffle: return words * kShuffle;
  case ConversionPath::Shared: break;
  }
  if (bitsHeld(type) >= kLeastTogether || haveWordsTogether(type, from, wanted))
    return kSharedRound + words * kSharedWord;
  return costInPieces(type, from, wanted);
}

std::int64_t vectorOf(const AccessShape &access, const LinearLayout &layout) {
  const Dim axis = layout::axisDim(access.axis);
  const Bits neighbours = layout.outputBits(axis) == 0 ? 0 : spanOf(layout, Dim::Register);
  const std::int64_t most =
      std::min(access.width, std::max<std::int64_t>(kMostBits / access.bits, 1));
  std::int64_t vector = 1;
  while (vector < most && (layout.outputPart(neighbours, axis) & static_cast<Bits>(vector)) != 0)
    vector *= 2;
  return vector;
}

std::int64_t sectorsOf(const AccessShape &access, const LinearLayout &layout) {
  const Bits lanes = spanOf(layout, Dim::Lane);
  const Bits along = layout.outputPart(lanes, layout::axisDim(access.axis));
  std::int64_t run = vectorOf(access, layout); // neighbours that lanes access together
  std::int32_t joined = 0;
  for (; run < access.contiguity && (along & static_cast<Bits>(run)) != 0; run *= 2) ++joined;
  const std::int64_t runs = std::int64_t{1} << (llvm::popcount(lanes) - joined);
  return runs * std::max<std::int64_t>(run * access.bits / kSectorBits, 1);
}

Cost accessCost(const AccessShape &access, const LinearLayout &layout) {
  const auto accesses = static_cast<Cost>(layout::registerCount(layout)) /
                        static_cast<Cost>(vectorOf(access, layout));
  return accesses * (kIssue + kSector * static_cast<Cost>(sectorsOf(access, layout)));
}

Cost combineCost(OpKind kind, const Type &type, const LinearLayout &layout, std::int32_t axis) {
  const std::int32_t lanes = bitsAlong(layout, Dim::Lane, axis);
  const std::int32_t warps = bitsAlong(layout, Dim::Warp, axis);
  const auto all = static_cast<Cost>(wordsOf(type, layout));
  if (kind == OpKind::Sort) {
    // Bitonic: every bit meets all bits below it.
    const Cost rounds = warps * (layout.outputBits(layout::axisDim(axis)) - (warps - 1) / 2.0);
    return lanes * lanes * all * kShuffle + rounds * (kSharedRound + all * kSharedWord);
  }
  const Cost moved = kind == OpKind::Scan
                         ? all
                         : static_cast<Cost>(wordsOf(type, layout::withoutAxis(layout, axis)));
  return lanes * moved * kShuffle + (warps == 0 ? 0 : kSharedRound + moved * kSharedWord);
}

Cost productCost(const LinearLayout &layout, std::int64_t depth) {
  const auto last = static_cast<std::int32_t>(layout.outputs().size()) - 1;
  const auto along = [&](std::int32_t axis) {
    return static_cast<Cost>(std::int64_t{1} << bitsAlong(layout, Dim::Register, axis));
  };
  const Cost all = static_cast<Cost>(layout::registerCount(layout));
  const Cost batches = all / (along(last) * along(last - 1));
  return static_cast<Cost>(depth) * (all + batches * (along(last) + along(last - 1)));
}

Cost slabsCost(const LinearLayout &layout, std::int32_t axis, std::int64_t slab) {
  std::int64_t slabs = 1;
  for (const Dim dim : {Dim::Lane, Dim::Warp})
    for (const Bits column : layout.columns(dim))
      if (layout.outputPart(column, layout::axisDim(axis)) >= static_cast<Bits>(slab)) slabs *= 2;
  return static_cast<Cost>(slabs * layout::registerCount(layout)) * kIssue;
}

Cost slotReadCost(const AccessShape &filled, const LinearLayout &wanted) {
  const std::int64_t vector = vectorOf(filled, wanted), all = layout::registerCount(wanted);
  const std::int64_t words = vector * filled.bits / 32;
  const auto accesses = static_cast<Cost>(all / vector);
  // Elements that are read one by one are put together, too.
  return accesses * (1 + kSlotWord * static_cast<Cost>(std::max<std::int64_t>(words, 1))) +
         (words == 0 ? static_cast<Cost>(all) : 0);
}

Cost fragmentsCost(const Fragments &fragments, const Type &type, const LinearLayout &held) {
  if (areHeld(fragments, held)) return 0;
  const auto words = std::max(wordsOf(type, held), wordsOf(type, fragments.places));
  if (comeWithinWarps(fragments, held, static_cast<std::int32_t>(bitsHeld(type))))
    return static_cast<Cost>(words) * kShuffle;
  if (!fragments.areTransposed && !haveWordsTogether(type, held, fragments.places))
    return costInPieces(type, held, fragments.places);
  return kSharedRound + static_cast<Cost>(words) * kSharedWord;
}

Cost workCost(const TileWork &work, const LinearLayout &layout) {
  if (work.fragments) return fragmentsCost(*work.fragments, work.type, layout);
  if (work.slab > 0) return slabsCost(layout, work.axis, work.slab);
  if (work.access) return accessCost(*work.access, layout);
  Cost cost = static_cast<Cost>(layout::registerCount(layout));
  if (work.combination) cost += combineCost(*work.combination, work.type, layout, work.axis);
  if (work.depth > 0) cost += productCost(layout, work.depth);
  return cost;
}

} // namespace imbrex::passes::layouts
