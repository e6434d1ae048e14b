#pragma once

#include "backend/support/result.h"
#include "backend/target/host/compiler.h"

namespace imbrex::archive {

/// For one thread to compile with: what it makes can be linked anywhere. `cpu` is LLVM's name of a
/// baseline. An error where this build of LLVM has no code for such processors.
Result<std::unique_ptr<host::Compiler>> compilerFor(const llvm::Triple &triple,
                                                    const std::string &cpu);

/// The baseline that whatever is linked may count on: LLVM's name of the oldest processor.
std::string oldestCpu(const llvm::Triple &triple);

} // namespace imbrex::archive
