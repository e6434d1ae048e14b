#include "backend/package/capability.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace imbrex::package {

bool Capability::isOfTegra() const {
  // Jetson TX1, TX2, Xavier, Orin; Thor as CUDA 12 and as CUDA 13 call it.
  constexpr auto kNumbers = std::to_array<std::int32_t>({53, 62, 72, 87, 101, 110});
  return llvm::is_contained(kNumbers, number());
}

std::optional<Capability> capabilityOf(llvm::StringRef name) {
  if (!name.consume_front("sm_")) return std::nullopt;
  const bool isSpecific = name.consume_back("a");
  std::int32_t number = 0;
  if (name.getAsInteger(10, number)) return std::nullopt;
  return Capability{.generation = number / 10, .revision = number % 10, .isSpecific = isSpecific};
}

} // namespace imbrex::package
