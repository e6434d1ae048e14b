#pragma once

#include "backend/ir/kernel.h"

#include <optional>

/// Tiles in shared memory as values: `shared<f16[64x32]>`. The layout of a slot goes from the
/// offset, in elements, to coordinates.
namespace imbrex::ir {

/// The layout whose offsets count a tile row by row.
layout::LinearLayout inRows(const Shape &shape);

/// Where the elements of a tile are in another, which it names anew, all or some: at what
/// `coordinates` says of its packed coordinates, and (xor) `first`, none of whose bits that has.
struct Renaming {
  layout::LinearLayout coordinates;
  layout::Bits first = 0;

  /// Of what threads, or offsets, have of the tile: where it is in the other.
  layout::LinearLayout of(const layout::LinearLayout &places) const;
};

/// Of an op that moves nothing if its operand stays where it is: a permute; a reshape that leaves
/// each bit of the packed coordinates in its place; a slice that fixes bits of its operand's and
/// counts the others. Nothing of all others.
std::optional<Renaming> renaming(const Kernel &kernel, const Op &op);

/// Whether an op reads shared memory through one of its operands. What only names elements anew
/// does not.
bool readsShared(const Kernel &kernel, const Op &op);

/// The ring.slot whose tile a shared tile is, or a part of it, under whatever names; where its
/// elements are in that.
const Op &slotOf(const Kernel &kernel, ValueId shared);
Renaming inSlot(const Kernel &kernel, ValueId shared);
/// How the slot lies: from the offset, in elements, to its coordinates. Its names have no layout.
const layout::LinearLayout &slotLayout(const Kernel &kernel, ValueId shared);

} // namespace imbrex::ir
