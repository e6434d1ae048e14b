#pragma once

#include "backend/ir/kernel.h"

/// Tiles in shared memory as values: `shared<f16[64x32]>`, whose layout goes from the offset, in
/// elements, to coordinates.
namespace imbrex::ir {

/// The layout whose offsets count a tile row by row.
layout::LinearLayout inRows(const Shape &shape);

/// Whether a reshape leaves each bit of the packed coordinates in its place.
bool keepsBits(const Shape &from, const Shape &to);

/// Of a permute, or of a reshape that keeps bits: the layout of the result, whose elements lie
/// where the operand's do.
layout::LinearLayout relabelled(const Kernel &kernel, const Op &op);

/// Whether an op reads shared memory through one of its operands. What only names elements anew
/// does not.
bool readsShared(const Kernel &kernel, const Op &op);

/// The ring.slot whose tile a shared tile is, under whatever names.
const Op &slotOf(const Kernel &kernel, ValueId shared);

} // namespace imbrex::ir
