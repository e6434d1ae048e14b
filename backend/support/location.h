#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace imbrex {

/// A line of the user's source, or of a file of IR. It is copied into every op and every
/// diagnostic, so that it only points at the file's name, which must outlive it: a
/// `std::source_location`'s name does, any other is to be interned first.
struct Location {
  std::string_view file = {};
  std::uint32_t line = 0; ///< From 1; 0 where no line is known.
  /// Of an op that a file of IR gives a place in other source: where it stands in that file, for
  /// errors (readAt); 0 for any other. It makes no two places different.
  std::uint32_t read = 0;

  bool known() const { return !file.empty(); }
  friend bool operator==(const Location &a, const Location &b) {
    return a.file == b.file && a.line == b.line;
  }
};

inline Location locate(const std::source_location &where) {
  return {.file = where.file_name(), .line = where.line()};
}

/// The same text in storage that lives as long as the process, one copy per name. Thread-safe.
std::string_view internFileName(std::string_view name);

/// The number of a place, for Location::read; the place is kept as long as the process lives.
/// Thread-safe.
std::uint32_t keepPlace(const Location &place);

/// `file:line` of the source, and in brackets of the file of IR that names it.
std::string withReadPlace(const Location &where);

/// `file:line`, `file` without a line, `imbrex` without a file.
std::string toText(const Location &where);

} // namespace imbrex
