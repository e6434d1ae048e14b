#pragma once

#include "backend/layout/linear_layout.h"

namespace imbrex::layout {

/// Of a thread's number in its block: those of the lane, then those of the warp.
inline std::int32_t threadBits(const LinearLayout &layout) {
  return layout.inputBits(Dim::Lane) + layout.inputBits(Dim::Warp);
}

} // namespace imbrex::layout
