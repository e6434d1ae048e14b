#include "backend/support/location.h"

#include <mutex>
#include <set>

namespace imbrex {

std::string_view internFileName(std::string_view name) {
  static std::mutex mutex;
  // Never destroyed, because a location may be printed while statics go.
  static auto &names = *new std::set<std::string, std::less<>>;
  const std::scoped_lock lock(mutex);
  auto known = names.find(name);
  if (known == names.end()) known = names.emplace(name).first;
  return *known;
}

std::string toText(const Location &where) {
  if (!where.known()) return "imbrex";
  std::string text(where.file);
  if (where.line != 0) text += ":" + std::to_string(where.line);
  return text;
}

} // namespace imbrex
