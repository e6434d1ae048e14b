#pragma once

#include "backend/machine/machine.h"
#include "backend/package/member.h"
#include "backend/support/result.h"

namespace imbrex::package {

/// A fat binary or an offload bundle, whichever is the family's.
std::string writePackage(machine::Family family, llvm::ArrayRef<Member> members, bool compressed);

/// What a package holds; of one machine's image or assembly, just that.
Result<std::vector<Member>> readCode(llvm::StringRef code);

/// Of these machines the one whose assembly a package should hold besides the images: the oldest
/// whose assembly later machines take. Null where there is none: AMD's drivers take images alone,
/// and what is made for one machine alone (sm_90a) serves no later one.
const machine::Machine *machineForAssembly(llvm::ArrayRef<const machine::Machine *> machines);

} // namespace imbrex::package
