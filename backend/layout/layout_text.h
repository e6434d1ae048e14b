#pragma once

#include "backend/layout/linear_layout.h"
#include "backend/support/result.h"

#include <string>
#include <string_view>

/// Layouts as one line of text: for each input the coordinates that its bits go to, lowest bit
/// first, and behind `of` the extents.
///
///   register [[0,1],[0,2]] lane [[0,4],[1,0],[2,0]] warp [[0,0]] of [4x8]
///
/// Lane bit 1 goes one row down here, and both warps hold the same. Outputs that are no tile's axes
/// are named: `axis0 [[1],[2]] of offset [4]`.
namespace imbrex::layout {

std::string toText(const LinearLayout &layout);

/// parseLayout(toText(x)) is x. Of a text that is no layout it says why, in words for a person.
Result<LinearLayout, std::string> parseLayout(std::string_view text);

} // namespace imbrex::layout
