#include "backend/target/codegen/inline_asm_ranges.h"

#include "backend/target/codegen/loc_lines.h"

namespace imbrex::target {

std::vector<InlineAsmRange> inlineAsmRangesIn(llvm::ArrayRef<llvm::StringRef> lines,
                                              const InlineAsmMarkers &marks) {
  LocLines places(lines);
  std::vector<InlineAsmRange> found;
  for (unsigned number = 1; number <= lines.size(); ++number) {
    const llvm::StringRef line = lines[number - 1].trim();
    const Location &where = places.behind(line);
    if (line == marks.begin)
      found.push_back({number, static_cast<unsigned>(lines.size()) + 1, where});
    if (line == marks.end && !found.empty()) found.back().end = number;
  }
  return found;
}

} // namespace imbrex::target
