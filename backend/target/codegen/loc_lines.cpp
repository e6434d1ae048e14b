#include "backend/target/codegen/loc_lines.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <algorithm>

namespace imbrex::target {

// `.file 1 "/where/kernel.cpp"`, or `.file 1 "/where" "kernel.cpp"`
LocLines::LocLines(llvm::ArrayRef<llvm::StringRef> lines) {
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (!line.consume_front(".file")) continue;
    llvm::SmallVector<llvm::StringRef, 5> parts; // the number and then every other one a name
    line.split(parts, '"');
    llvm::SmallString<64> path;
    for (size_t i = 1; i < parts.size(); i += 2) llvm::sys::path::append(path, parts[i]);
    files_[parts[0].trim()] = internFileName(path.str());
  }
}

const Location &LocLines::behind(llvm::StringRef line) {
  line = line.trim();
  if (!line.consume_front(".loc")) return where_;
  llvm::SmallVector<llvm::StringRef, 4> words;
  line.split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.size() < 2 || words[1].getAsInteger(10, where_.line)) return where_;
  where_.file = files_.lookup(words[0].trim());
  return where_;
}

std::string withoutLines(llvm::StringRef assembly) {
  std::string left;
  bool isDebug = false;
  for (const llvm::StringRef line : llvm::split(assembly, '\n')) {
    llvm::StringRef words = line.trim();
    if (words.consume_front(".section")) isDebug = words.ltrim().starts_with(".debug_");
    if (words == ".text" || words.starts_with(".amdgpu_metadata")) isDebug = false;
    const bool isOfLines = words.starts_with(".loc\t") || words.starts_with(".file\t");
    if (!isDebug && !isOfLines) left.append(line.data(), line.size()).push_back('\n');
  }
  return left;
}

bool namesLines(llvm::StringRef assembly) { return assembly.contains("\t.loc\t"); }

void SpilledLines::add(const Location &where, std::int64_t bytes) {
  total_ += bytes;
  if (where.known() && where.line > 0) bytes_[{where.file, where.line}] += bytes;
}

Location SpilledLines::most() const {
  const auto found =
      std::ranges::max_element(bytes_, {}, [](const auto &entry) { return entry.second; });
  if (found == bytes_.end()) return {};
  return {.file = found->first.first, .line = found->first.second};
}

} // namespace imbrex::target
