#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace imbrex::target {

/// The lines of an assembly, as a range, without what stands behind `comment`.
inline auto linesOf(llvm::StringRef assembly, llvm::StringRef comment) {
  return llvm::map_range(llvm::split(assembly, '\n'), [comment](llvm::StringRef line) {
    return line.split(comment).first.trim();
  });
}

/// `%r1, %r2`, `v0, s[0:1]`
inline llvm::SmallVector<llvm::StringRef, 4> operandsIn(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef, 4> operands; // a vector of a range would split it twice
  for (const llvm::StringRef operand : llvm::split(list, ',')) operands.push_back(operand.trim());
  return operands;
}

} // namespace imbrex::target
