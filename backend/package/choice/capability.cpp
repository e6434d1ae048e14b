#include "backend/package/choice/capability.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace imbrex::package {

bool Capability::isOfTegra() const {
  // Jetson TX1, TX2, Xavier, Orin; Thor as CUDA 12 and as CUDA 13 call it.
  constexpr auto kNumbers = std::to_array<std::int32_t>({53, 62, 72, 87, 101, 110});
  return std::ranges::find(kNumbers, number()) != kNumbers.end();
}

std::optional<Capability> capabilityOf(std::string_view name) {
  constexpr std::string_view kPrefix = "sm_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const bool isSpecific = name.ends_with('a');
  if (isSpecific) name.remove_suffix(1);
  std::int32_t number = 0;
  const char *const end = name.data() + name.size();
  const auto [read, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc{} || read != end || number < 0) return std::nullopt;
  return Capability{.generation = number / 10, .revision = number % 10, .isSpecific = isSpecific};
}

} // namespace imbrex::package
