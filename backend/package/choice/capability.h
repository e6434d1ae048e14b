#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace imbrex::package {

/// What the name of a machine of NVIDIA's says. "sm_103a": generation 10, revision 3, specific to
/// that machine.
struct Capability {
  std::int32_t generation = 0;
  std::int32_t revision = 0;
  bool isSpecific = false;

  std::int32_t number() const { return generation * 10 + revision; }
  /// Of a system on a chip (Tegra), which runs no other machine's images, and whose own nobody else
  /// does (CUDA C++ Programming Guide, "Binary Compatibility").
  bool isOfTegra() const;
};
/// None for the name of another machine.
std::optional<Capability> capabilityOf(std::string_view name);

} // namespace imbrex::package
