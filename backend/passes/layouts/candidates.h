#pragma once

#include "backend/passes/layouts/cost.h"

/// The layouts that ops would like best.
namespace imbrex::passes::layouts {

/// How much of a product's operand is stored at once: so many along an axis.
struct SlabExtent {
  std::int32_t axis;
  std::int64_t depth;
};

/// Which elements are neighbours.
struct Rows {
  llvm::SmallVector<std::int32_t, 5> order; ///< The axes.
  std::int64_t vector = 1; ///< Elements along the first axis that a thread has side by side.
  std::optional<SlabExtent> slab = {};
};

/// Vectors in a thread, then the lanes along the axes in order, then the warps from the last axis
/// of the order: each has rows of its own, so that a reduction of rows need not leave its warp. Of
/// slabs lanes and warps have no more than one, as far as they find work along the other axes: then
/// each register is in one slab.
layout::LinearLayout rowLayout(const ir::Shape &shape, layout::Threads threads, const Rows &rows);

/// Of the sums of a matrix product: each thread has patches of 4 by 4 of the last two axes, and a
/// warp and a block are as near to squares: least is read for most multiplications.
layout::LinearLayout productLayout(const ir::Shape &shape, layout::Threads threads);

} // namespace imbrex::passes::layouts
