#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace imbrex::target {

// StringRef's own trim and search for a string set up a table for each call; assembly has a million
// short lines.
inline bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline llvm::StringRef trimmed(llvm::StringRef text) {
  while (!text.empty() && isBlank(text.front())) text = text.drop_front();
  while (!text.empty() && isBlank(text.back())) text = text.drop_back();
  return text;
}

/// What stands in front of the first such string, or all.
inline llvm::StringRef before(llvm::StringRef text, llvm::StringRef end) {
  std::size_t at = text.find(end.front());
  while (at != llvm::StringRef::npos && !text.substr(at).starts_with(end))
    at = text.find(end.front(), at + 1);
  return text.take_front(at);
}

/// The lines of an assembly, as a range, without what stands behind `comment`.
inline auto linesOf(llvm::StringRef assembly, llvm::StringRef comment) {
  return llvm::map_range(llvm::split(assembly, '\n'), [comment](llvm::StringRef line) {
    return trimmed(before(line, comment));
  });
}

/// `%r1, %r2`, `v0, s[0:1]`; of an empty list one that is empty.
inline llvm::SmallVector<llvm::StringRef, 4> operandsIn(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef, 4> operands;
  do {
    const auto [operand, rest] = list.split(',');
    operands.push_back(trimmed(operand));
    list = rest;
  } while (!list.empty());
  return operands;
}

} // namespace imbrex::target
