#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/layouts/fragments.h"

#include <optional>

/// What a choice of layouts costs, in instructions of one thread; a piece of memory that a warp
/// touches counts as several, because it takes the memory's time. Only differences matter.
namespace imbrex::passes::layouts {

using Cost = double;

/// How the elements of a conversion travel.
enum class ConversionPath : std::uint8_t {
  Stay,    // every thread has what it wants, perhaps in other registers
  Shuffle, // every warp has
  Shared,  // through shared memory
};
ConversionPath conversionPath(const layout::LinearLayout &from, const layout::LinearLayout &wanted);

/// Of an element of a tile, in a thread's registers.
std::int64_t bitsHeld(const ir::Type &type);
/// 32-bit registers that a thread holds a tile in, at least: small elements share them.
std::int64_t wordsOf(const ir::Type &type, const layout::LinearLayout &layout);

Cost conversionCost(const ir::Type &type, const layout::LinearLayout &from,
                    const layout::LinearLayout &wanted);

/// How a tile's elements lie in memory.
struct AccessShape {
  std::int32_t axis = 0;       ///< Along which they adjoin, if along any.
  std::int64_t contiguity = 1; ///< Groups of so many do.
  std::int64_t width = 1;      ///< Groups of so many may be accessed at once.
  std::int64_t bits = 8;       ///< Of an element.
  friend bool operator==(const AccessShape &, const AccessShape &) = default;
};
/// The elements that one instruction accesses.
std::int64_t vectorOf(const AccessShape &access, const layout::LinearLayout &layout);
/// The pieces of 32 bytes that one instruction of a warp touches.
std::int64_t sectorsOf(const AccessShape &access, const layout::LinearLayout &layout);
Cost accessCost(const AccessShape &access, const layout::LinearLayout &layout);

/// Of combining a tile along an axis; a sort takes many such rounds.
Cost combineCost(ir::OpKind kind, const ir::Type &type, const layout::LinearLayout &layout,
                 std::int32_t axis);

/// Of reading the operands of a product whose sums lie so.
Cost productCost(const layout::LinearLayout &layout, std::int64_t depth);

/// Of storing an operand slab by slab: each register once for every slab that it is in, in some
/// lane or warp.
Cost slabsCost(const layout::LinearLayout &layout, std::int32_t axis, std::int64_t slab);

/// Of reading a tile from a slot of shared memory that is filled so, by threads that want it so.
Cost slotReadCost(const AccessShape &filled, const layout::LinearLayout &wanted);

/// Of bringing an operand that is held so to its fragments: nothing where they are, else exchanges
/// within warps, or a round through shared memory.
Cost fragmentsCost(const Fragments &fragments, const ir::Type &type,
                   const layout::LinearLayout &held);

/// What an op does with a tile, as far as its cost hangs on the layout. Most ops do but one thing
/// with each element: hundreds of them are one work that is done oftener.
struct TileWork {
  std::optional<AccessShape> access = {};     ///< Of memory.
  std::optional<ir::OpKind> combination = {}; ///< A reduction, a scan or a sort:
  ir::Type type = {};                         ///< of tiles of this type
  std::int32_t axis = 0;                      ///< along this axis.
  std::int64_t depth = 0;                     ///< Of a matrix product: how many are summed up.
  std::optional<Fragments> fragments = {};    ///< Of an operand of this type that is computed.
  std::int64_t slab = 0; ///< Of a product's operand: how many are stored at once, along the axis.
  friend bool operator==(const TileWork &, const TileWork &) = default;
};
Cost workCost(const TileWork &work, const layout::LinearLayout &layout);

} // namespace imbrex::passes::layouts
