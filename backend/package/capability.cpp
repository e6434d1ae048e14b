#include "backend/package/capability.h"

namespace imbrex::package {

std::optional<Capability> capabilityOf(llvm::StringRef name) {
  if (!name.consume_front("sm_")) return std::nullopt;
  const bool isSpecific = name.consume_back("a");
  std::int32_t number = 0;
  if (name.getAsInteger(10, number)) return std::nullopt;
  return Capability{.generation = number / 10, .revision = number % 10, .isSpecific = isSpecific};
}

} // namespace imbrex::package
