#pragma once

#include "backend/ir/builder.h"
#include "backend/machine/machine.h"

#include <optional>

namespace imbrex::passes::pipeline {

/// Threads can hold a factor as a loop's products on matrix units want it, so that it passes
/// through no shared memory in any trip:
///
///   before                              after
///   %q = view.load … : f16[128x64] #0   %q = view.load … : f16[128x64] #1
///   for … {                             for … {
///     %d = dot %q, %k, %c                 %d = dot %q, %k, %c
///
/// How they want it; nothing where they do not agree, or threads would have more registers of it.
std::optional<layout::LinearLayout> heldLayout(const ir::Kernel &kernel, const ir::Op &loop,
                                               ir::ValueId tile, const machine::Machine &machine);

/// Have them hold it so: it is loaded so, where such products alone read it, a thread has 16 bytes
/// side by side of what they want, and it was loaded as wide before; or else `to` makes another
/// tile of it. Returns what the loop's products are to read.
ir::ValueId holdFactor(ir::Kernel &kernel, ir::ValueId tile, const layout::LinearLayout &layout,
                       const machine::Machine &machine, ir::Builder &to);

} // namespace imbrex::passes::pipeline
