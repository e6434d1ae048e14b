#pragma once

#include "backend/ir/builder.h"

/// Tiles that threads store into shared memory from registers, in a ring of one slot each.
namespace imbrex::passes::pipeline {

/// A ring for a tile, which each thread stores as it holds it. `to` is at the head of the kernel.
ir::ValueId addStoredRing(ir::Builder &to, ir::ValueId tile);

/// The tile in the ring's slot, whose layout place-slots chooses.
ir::ValueId takeStoredSlot(ir::Builder &to, ir::ValueId ring);

} // namespace imbrex::passes::pipeline
