#include "backend/package/choice/fit.h"

#include "backend/package/choice/capability.h"

#include <algorithm>
#include <array>

namespace imbrex::package {
namespace {

constexpr std::int32_t kOwn = 40000, kOfFamily = 30000, kImage = 20000, kAssembly = 10000;

std::int32_t fitOf(const Capability &made, bool isAssembly, const Capability &device) {
  if (made.number() > device.number()) return 0;
  const bool isOwn = made.number() == device.number();
  const bool isAlike =
      isOwn || (made.generation == device.generation && !made.isOfTegra() && !device.isOfTegra());
  // A newer machine's is better than an older one's, and of one machine what uses more of it.
  const std::int32_t among = 4 * made.number() + static_cast<std::int32_t>(made.features);
  switch (made.features) {
  case Features::Own:
    if (!isOwn) return 0;
    break;
  case Features::Family:
    if (!isAlike) return 0;
    break;
  case Features::Common: break;
  }
  if (isAssembly) return kAssembly + among;
  if (isOwn) return kOwn + among;
  if (!isAlike) return 0;
  return (made.features == Features::Family ? kOfFamily : kImage) + among;
}

/// A generic machine and the machines that belong to it: LLVM 22, AMDGPUUsage, "AMDGPU Generic
/// Processors".
struct GenericTarget {
  std::string_view name;
  std::array<std::string_view, 8> members;
};
constexpr std::array<GenericTarget, 3> kGenerics{{
    {"gfx9-4-generic", {"gfx942", "gfx950"}},
    {"gfx11-generic",
     {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
}};

bool isMemberOf(std::string_view machine, std::string_view generic) {
  const auto *row = std::ranges::find(kGenerics, generic, &GenericTarget::name);
  return row != kGenerics.end() && !machine.empty() &&
         std::ranges::find(row->members, machine) != row->members.end();
}

} // namespace

std::int32_t fitOf(std::string_view machine, bool isAssembly, std::string_view device) {
  // Behind a colon stand settings of the driver, which our images leave open.
  const std::string_view name = device.substr(0, device.find(':'));
  if (const auto capability = capabilityOf(name)) {
    const auto made = capabilityOf(machine);
    return made ? fitOf(*made, isAssembly, *capability) : 0;
  }
  if (machine == name) return kOwn;
  return isMemberOf(name, machine) ? kImage : 0;
}

} // namespace imbrex::package
