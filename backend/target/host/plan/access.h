#pragma once

#include "backend/target/host/launch_traits.h"

/// Which ops touch global memory, and whether two may be interleaved element by element.
namespace imbrex::host {

bool isStore(const ir::Op &op); // store, view.store

/// Whether the op, or one inside it, writes global memory or is seen outside.
bool writesMemory(const ir::Op &op);

/// Whether two accesses may touch the same memory at all.
bool mayTouch(const ir::Kernel &kernel, const LaunchTraits &traits, const ir::Op &a,
              const ir::Op &b);

/// Whether an element of one access may be in memory that the other touches at *another* index. Two
/// accesses of one nest for which that is false may be done index by index.
bool mayConflict(const ir::Kernel &kernel, const LaunchTraits &traits, const ir::Op &a,
                 const ir::Op &b);

} // namespace imbrex::host
