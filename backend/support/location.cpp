#include "backend/support/location.h"

#include <mutex>
#include <set>
#include <vector>

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

namespace {

/// Places by their number, less one. Never destroyed, as the names above.
struct KeptPlaces {
  std::mutex mutex;
  std::vector<Location> places;
};
KeptPlaces &keptPlaces() {
  static auto &kept = *new KeptPlaces;
  return kept;
}

} // namespace

std::uint32_t keepPlace(const Location &place) {
  constexpr std::size_t kMost = 1 << 20; // a process that reads files for ever keeps the first
  KeptPlaces &kept = keptPlaces();
  const std::scoped_lock lock(kept.mutex);
  if (kept.places.size() == kMost) return 0;
  kept.places.push_back(place);
  return static_cast<std::uint32_t>(kept.places.size());
}

std::string withReadPlace(const Location &where) {
  if (where.read == 0) return toText(where);
  KeptPlaces &kept = keptPlaces();
  const std::scoped_lock lock(kept.mutex);
  return toText(where) + " (" + toText(kept.places[where.read - 1]) + ")";
}

std::string toText(const Location &where) {
  if (!where.known()) return "imbrex";
  std::string text(where.file);
  if (where.line != 0) text += ":" + std::to_string(where.line);
  return text;
}

} // namespace imbrex
