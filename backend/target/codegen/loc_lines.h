#pragma once

#include "backend/support/location.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>

namespace imbrex::target {

/// Follows the lines of the kernel that `.loc` names through an assembly.
class LocLines {
public:
  /// `lines`: all of the assembly's, of which `.file` names the files.
  explicit LocLines(llvm::ArrayRef<llvm::StringRef> lines);
  /// The line of the kernel behind a line of the assembly, those above it having been taken before.
  const Location &behind(llvm::StringRef line);

private:
  llvm::StringMap<std::string_view> files_;
  Location where_;
};

/// An assembly that names neither lines nor files of the kernel: without `.loc`, `.file` and the
/// sections of debug information. What it is assembled to is the same code.
std::string withoutLines(llvm::StringRef assembly);
bool namesLines(llvm::StringRef assembly);

/// Bytes that are moved between registers and memory for want of registers, by line of the kernel.
class SpilledLines {
public:
  void add(const Location &where, std::int64_t bytes);
  /// The line with the most; unknown where there is none.
  Location most() const;
  std::int64_t total() const { return total_; }

private:
  std::int64_t total_ = 0; // with those of no known line
  std::map<std::pair<std::string_view, std::uint32_t>, std::int64_t> bytes_;
};

} // namespace imbrex::target
