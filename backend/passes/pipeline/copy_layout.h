#pragma once

#include "backend/ir/kernel.h"

namespace imbrex::passes::pipeline {

/// How the threads copy a tile into a slot of which nobody wants to know who did: as the layout
/// says, but so that a thread's copies lie in few rows, each of which takes a pointer
/// (lower/memory/whole_copies.h). Of a row longer than a line of 128 bytes, lanes side by side copy
/// one line, and a thread what is as far in the next ones.
///
///   32x128 elements of 2 bytes, before and after
///     register [[0,1],[0,2],[0,4],[8,0],[16,0]] lane [[0,8],[0,16],[0,32],[0,64],[1,0]] …
///     register [[0,1],[0,2],[0,4],[0,64],[16,0]] lane [[0,8],[0,16],[0,32],[8,0],[1,0]] …
layout::LinearLayout copyLayout(const layout::LinearLayout &layout, const ir::Type &tile);

} // namespace imbrex::passes::pipeline
