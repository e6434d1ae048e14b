#include "backend/package/choice/fit.h"

#include "backend/package/choice/capability.h"

#include <algorithm>
#include <array>

namespace imbrex::package {
namespace {

constexpr std::int32_t kOwn = 30000, kImage = 20000, kAssembly = 10000;

std::int32_t fitOf(const Capability &made, bool isAssembly, const Capability &device) {
  const bool isOwn = made.number() == device.number();
  if (isOwn) return isAssembly ? kAssembly + made.number() : kOwn;
  const bool isOlder = !made.isSpecific && made.number() < device.number();
  if (!isOlder) return 0;
  if (isAssembly) return kAssembly + made.number();
  const bool isAlike = made.generation == device.generation && !made.isOfTegra();
  return isAlike && !device.isOfTegra() ? kImage + made.number() : 0;
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
