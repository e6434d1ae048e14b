#include "backend/target/amdgpu/spills.h"

namespace imbrex::target::amdgpu {

SpilledLines spillsIn(llvm::StringRef assembly) {
  constexpr llvm::StringRef kMark = "-byte Folded Spill";
  if (!assembly.contains(kMark)) return {};
  llvm::SmallVector<llvm::StringRef, 0> lines;
  assembly.split(lines, '\n');
  LocLines places(lines);
  SpilledLines spilled;
  for (const llvm::StringRef line : lines) {
    const Location &where = places.behind(line);
    const auto [before, behind] = line.split(kMark);
    std::int64_t bytes = 0;
    if (before.size() < line.size() && !before.rsplit(' ').second.getAsInteger(10, bytes))
      spilled.add(where, bytes);
  }
  return spilled;
}

} // namespace imbrex::target::amdgpu
