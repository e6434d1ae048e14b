#pragma once

#include "backend/support/location.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace imbrex::target {

/// Instructions of the author's in an assembly: the lines between those by which LLVM marks them.
struct InlineAsmRange {
  unsigned begin, end; ///< The marks' numbers, from 1; one more than the last where none ends them.
  Location where;      ///< The line of the kernel that `.loc` names for them.
};

struct InlineAsmMarkers {
  llvm::StringRef begin, end;
};

std::vector<InlineAsmRange> inlineAsmRangesIn(llvm::ArrayRef<llvm::StringRef> lines,
                                              const InlineAsmMarkers &marks);

} // namespace imbrex::target
