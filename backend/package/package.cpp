#include "backend/package/package.h"

#include "backend/package/bundle.h"
#include "backend/package/capability.h"
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
  std::int32_t least = 0;
  for (const machine::Machine *machine : machines) {
    const auto capability = capabilityOf({machine->name.data(), machine->name.size()});
    if (!capability || capability->isSpecific) continue;
    if (oldest != nullptr && capability->number() >= least) continue;
    oldest = machine;
    least = capability->number();
  }
  return oldest;
}

} // namespace imbrex::package
