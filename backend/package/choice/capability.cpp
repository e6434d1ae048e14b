#include "backend/package/choice/capability.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace imbrex::package {

namespace {

/// Behind the number, by Features.
constexpr std::array<std::string_view, 3> kSuffixes{"", "f", "a"};
constexpr std::string_view kPrefix = "sm_";
constexpr std::uint32_t kMostNumber = 999;

} // namespace

bool Capability::isOfTegra() const {
  // Jetson TX1, TX2, Xavier, Orin; Thor as CUDA 12 and as CUDA 13 call it.
  constexpr auto kNumbers = std::to_array<std::int32_t>({53, 62, 72, 87, 101, 110});
  return std::ranges::find(kNumbers, number()) != kNumbers.end();
}

std::optional<Capability> capabilityOf(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::size_t features = kSuffixes.size() - 1;
  while (!name.ends_with(kSuffixes[features])) --features;
  name.remove_suffix(kSuffixes[features].size());
  std::uint32_t number = 0;
  const char *const end = name.data() + name.size();
  const auto [read, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc{} || read != end) return std::nullopt;
  return capabilityOf(number, static_cast<Features>(features));
}

std::optional<Capability> capabilityOf(std::uint32_t number, Features features) {
  if (number > kMostNumber) return std::nullopt;
  return Capability{.generation = static_cast<std::int32_t>(number / 10),
                    .revision = static_cast<std::int32_t>(number % 10),
                    .features = features};
}

std::string nameOf(const Capability &capability) {
  return std::string(kPrefix)
      .append(std::to_string(capability.number()))
      .append(kSuffixes[static_cast<std::size_t>(capability.features)]);
}

} // namespace imbrex::package
