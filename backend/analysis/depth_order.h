#pragma once

#include "backend/analysis/matrix_product.h"

#include <optional>

/// In which order a product on a matrix unit counts k: which bit of k each bit of the instruction's
/// k and of its steps stands for. A sum may take its terms in any order that both operands share.
namespace imbrex::analysis {

/// As DotAttrs::depthOrder.
using DepthOrder = llvm::SmallVector<std::int64_t, 5>;

/// The bits up to which k may be counted anew: of a multiple of so many no step is cut off.
std::int32_t freeDepthBits(std::int64_t depth);

/// Registers first, until a lane has this many bits side by side; then the lanes, then the other
/// registers. `places` is an operand's, of as many bits along the axis of k as may be counted anew,
/// in the instruction's own order.
DepthOrder sideBySide(const layout::LinearLayout &places, layout::Dim axis, std::int32_t besides);

/// The order in which the lanes want of k, which lies along the axis, what they have of a tile that
/// is held so; none where they have no bits of it. `places` has the instruction's own order.
///
/// Where lanes want all of an instruction's k but hold a part, the order has what their registers
/// tell apart first, so that registers cross lanes whole.
std::optional<DepthOrder> orderAsHeld(const layout::LinearLayout &places,
                                      const layout::LinearLayout &held, layout::Dim axis);

/// Places whose bits along the axis are others.
layout::LinearLayout reordered(const layout::LinearLayout &places, layout::Dim axis,
                               llvm::ArrayRef<std::int64_t> order);

} // namespace imbrex::analysis
