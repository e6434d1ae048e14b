#include "backend/package/member.h"

#include "backend/package/capability.h"
#include "llvm/ADT/STLExtras.h"

#include <array>

namespace imbrex::package {
namespace {

/// How well a member serves a device: more is better, 0 not at all.
std::int32_t fitOf(const Member &member, const Capability &device) {
  constexpr std::int32_t kOwn = 30000, kImage = 20000, kAssembly = 10000;
  const auto made = capabilityOf(member.machine);
  if (!made) return 0;
  const bool isOwn = made->number() == device.number();
  if (isOwn) return member.isAssembly ? kAssembly + made->number() : kOwn;
  const bool isOlder = !made->isSpecific && made->number() < device.number();
  if (!isOlder) return 0;
  if (member.isAssembly) return kAssembly + made->number();
  const bool isAlike = made->generation == device.generation && !made->isOfTegra();
  return isAlike && !device.isOfTegra() ? kImage + made->number() : 0;
}

/// A generic machine and the machines that belong to it: LLVM 22, AMDGPUUsage, "AMDGPU Generic
/// Processors".
struct GenericTarget {
  llvm::StringRef name;
  std::array<llvm::StringRef, 8> members;
};
constexpr std::array<GenericTarget, 3> kGenerics{{
    {"gfx9-4-generic", {"gfx942", "gfx950"}},
    {"gfx11-generic",
     {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
}};

bool isMemberOf(llvm::StringRef machine, llvm::StringRef generic) {
  const GenericTarget *row =
      llvm::find_if(kGenerics, [&](const GenericTarget &known) { return known.name == generic; });
  return row != kGenerics.end() && !machine.empty() && llvm::is_contained(row->members, machine);
}

const Member *firstThat(llvm::ArrayRef<Member> members,
                        llvm::function_ref<bool(llvm::StringRef)> fits) {
  const Member *found =
      llvm::find_if(members, [&](const Member &member) { return fits(member.machine); });
  return found == members.end() ? nullptr : found;
}

} // namespace

const Member *memberFor(llvm::ArrayRef<Member> members, std::string_view device) {
  // Behind a colon stand settings of the driver, which our images leave open.
  const llvm::StringRef name = llvm::StringRef(device.data(), device.size()).split(':').first;
  if (const auto capability = capabilityOf(name)) {
    const Member *best = nullptr;
    std::int32_t fit = 0;
    for (const Member &member : members)
      if (const std::int32_t its = fitOf(member, *capability); its > fit) fit = its, best = &member;
    return best;
  }
  if (const Member *own =
          firstThat(members, [&](llvm::StringRef machine) { return machine == name; }))
    return own;
  return firstThat(members, [&](llvm::StringRef machine) { return isMemberOf(name, machine); });
}

std::string describe(llvm::ArrayRef<Member> members) {
  std::string text;
  for (const Member &member : members)
    text.append(text.empty() ? "" : ", ")
        .append(member.isAssembly ? "assembly of " : "")
        .append(member.machine);
  return text;
}

} // namespace imbrex::package
