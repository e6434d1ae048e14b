#include "backend/target/codegen/own_instructions.h"

#include "backend/support/file_name.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

namespace imbrex::target {
namespace {

/// The names by the numbers that `.loc` has for them: `.file 1 "/where/kernel.cpp"`, or
/// `.file 1 "/where" "kernel.cpp"`.
llvm::StringMap<std::string_view> filesOf(llvm::ArrayRef<llvm::StringRef> lines) {
  llvm::StringMap<std::string_view> files;
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (!line.consume_front(".file")) continue;
    llvm::SmallVector<llvm::StringRef, 5> parts; // the number and then every other one a name
    line.split(parts, '"');
    llvm::SmallString<64> path;
    for (size_t i = 1; i < parts.size(); i += 2) llvm::sys::path::append(path, parts[i]);
    files[parts[0].trim()] = internFileName(path.str());
  }
  return files;
}

} // namespace

std::vector<OwnInstructions> ownInstructionsIn(llvm::ArrayRef<llvm::StringRef> lines,
                                               const OwnMarks &marks) {
  const llvm::StringMap<std::string_view> files = filesOf(lines);
  std::vector<OwnInstructions> found;
  Location where;
  for (unsigned number = 1; number <= lines.size(); ++number) {
    llvm::StringRef line = lines[number - 1].trim();
    if (line.consume_front(".loc")) {
      llvm::SmallVector<llvm::StringRef, 4> words;
      line.split(words, ' ', -1, /*KeepEmpty=*/false);
      if (words.size() < 2 || words[1].getAsInteger(10, where.line)) continue;
      where.file = files.lookup(words[0].trim());
    }
    if (line == marks.begin)
      found.push_back({number, static_cast<unsigned>(lines.size()) + 1, where});
    if (line == marks.end && !found.empty()) found.back().end = number;
  }
  return found;
}

} // namespace imbrex::target
