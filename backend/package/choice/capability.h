#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex::package {

/// What code may use besides what every later machine has as well: nothing, what its family has
/// ("sm_100f": the machine and later ones of its generation), or what that machine alone has
/// ("sm_100a"). CUDA C++ Programming Guide 13, "Compute Capabilities", "Feature Set Compiler
/// Targets".
enum class Features : std::uint8_t { Common, Family, Own };

/// What the name of a machine of NVIDIA's says. "sm_103a": generation 10, revision 3, its own
/// features.
struct Capability {
  std::int32_t generation = 0;
  std::int32_t revision = 0;
  Features features = Features::Common;

  /// Below 1000.
  std::int32_t number() const { return generation * 10 + revision; }
  /// Of a system on a chip (Tegra), which runs no other machine's images, and whose own nobody else
  /// does (CUDA C++ Programming Guide, "Binary Compatibility").
  bool isOfTegra() const;
};
/// Of the machine with that number, if there can be one.
std::optional<Capability> capabilityOf(std::uint32_t number, Features features);
/// None for the name of another machine.
std::optional<Capability> capabilityOf(std::string_view name);
std::string nameOf(const Capability &capability);

} // namespace imbrex::package
