#pragma once

#include "backend/target/codegen/ordered_access.h"

namespace imbrex::target::nvptx {

/// What orders memory in a PTX text, by the words of each instruction alone (PTX ISA 9.0, 8.2
/// "Memory operations"): its semantics (.relaxed, .acquire, …) and its scope (.cta, .gpu, .sys).
std::vector<FoundAccess> accessesOfPtx(llvm::StringRef ptx);

} // namespace imbrex::target::nvptx
