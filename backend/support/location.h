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

  bool known() const { return !file.empty(); }
  friend bool operator==(const Location &, const Location &) = default;
};

inline Location locate(const std::source_location &where) {
  return {.file = where.file_name(), .line = where.line()};
}

/// The same text in storage that lives as long as the process, one copy per name. Thread-safe.
std::string_view internFileName(std::string_view name);

/// `file:line`, `file` without a line, `imbrex` without a file.
std::string toText(const Location &where);

} // namespace imbrex
