#include "runtime/gpu/make.h"

#include "backend/package/member.h"
#include "backend/target/gpu_target.h"

namespace imbrex::gpu {
namespace {

/// A package of all that this build can make for a family. Only one vendor's drivers assemble.
std::vector<package::Member> allCode(machine::Family family) {
  std::vector<package::Member> members;
  for (const machine::Machine &machine : machine::allMachines()) {
    if (machine.family != family || target::findGpuTarget(machine) == nullptr) continue;
    members.push_back({.machine = std::string(machine.name)});
    if (family == machine::Family::Nvptx)
      members.push_back({.machine = std::string(machine.name), .isAssembly = true});
  }
  return members;
}

std::string listOf(llvm::ArrayRef<package::Member> members) {
  std::string list;
  for (const package::Member &member : members)
    if (!member.isAssembly) list += (list.empty() ? "" : ", ") + member.machine;
  return list.empty() ? "none of this vendor's" : list;
}

} // namespace

const Make &cuda() {
  static const Make make{
      .vendor = driver::cuda(), .family = machine::Family::Nvptx, .path = &Environment::cudaDriver};
  return make;
}

const Make &hip() {
  static const Make make{
      .vendor = driver::hip(), .family = machine::Family::Amdgpu, .path = &Environment::hipDriver};
  return make;
}

std::vector<std::string> driverPaths(const Make &make) {
  if (const std::string &path = environment().*make.path; !path.empty()) return {path};
  return {make.vendor.libraries.begin(), make.vendor.libraries.end()};
}

std::string toText(const SuitableCode &code) {
  return (code.asAssembly ? "the assembly of " : "the image of ") + std::string(code.machine->name);
}

Result<SuitableCode> suitableCode(std::string_view driversName, const Make &make,
                                  std::int32_t number) {
  const std::vector<package::Member> members = allCode(make.family);
  const package::Member *chosen = package::memberFor(members, driversName);
  if (chosen == nullptr)
    return fail(Diag::ForeignGpu, {}, driver::nameOf(make.vendor, number), driversName,
                listOf(members));
  return SuitableCode{.machine = machine::findMachine(chosen->machine),
                      .asAssembly = chosen->isAssembly};
}

} // namespace imbrex::gpu
