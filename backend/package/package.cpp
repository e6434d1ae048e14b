#include "backend/package/package.h"

#include "backend/package/bundle.h"
#include "backend/package/fatbin.h"
#include "backend/support/check.h"

namespace imbrex::package {

std::string writePackage(machine::Family family, llvm::ArrayRef<Member> members, bool compressed) {
  switch (family) {
  case machine::Family::Nvptx: return writeFatbin(members, compressed);
  case machine::Family::Amdgpu: return writeBundle(members, compressed);
  case machine::Family::Cpu: break;
  }
  IMBREX_UNREACHABLE("the CPU's code goes into no package of images");
}

const machine::Machine *machineForAssembly(llvm::ArrayRef<const machine::Machine *> machines) {
  const machine::Machine *oldest = nullptr;
  for (const machine::Machine *machine : machines) {
    const bool isSpecific = machine->name.ends_with("a");
    if (machine->family != machine::Family::Nvptx || isSpecific) continue;
    // Those that are not specific have names of one length, "sm_75" to "sm_89".
    if (oldest == nullptr || machine->name < oldest->name) oldest = machine;
  }
  return oldest;
}

} // namespace imbrex::package
