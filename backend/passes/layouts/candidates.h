#pragma once

#include "backend/passes/layouts/cost.h"

/// The layouts that ops would like best.
namespace imbrex::passes::layouts {

/// Neighbours along the order's first axis in vectors of so many elements in a thread, then the
/// lanes along the axes in order, then the warps from the last axis of the order: each has rows of
/// its own, so that a reduction of rows need not leave its warp.
layout::LinearLayout rowLayout(const ir::Shape &shape, layout::Threads threads, std::int64_t vector,
                               llvm::ArrayRef<std::int32_t> order);

/// Of the sums of a matrix product: each thread has patches of 4 by 4 of the last two axes, and a
/// warp and a block are as near to squares: least is read for most multiplications.
layout::LinearLayout productLayout(const ir::Shape &shape, layout::Threads threads);

} // namespace imbrex::passes::layouts
