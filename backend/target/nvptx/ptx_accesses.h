#pragma once

#include "backend/target/codegen/ordered_access.h"

namespace imbrex::target::nvptx {

/// What `griddepcontrol.wait` does.
inline constexpr OrderedAccess kLaunchAwaited{
    .kind = AccessKind::Launch, .scope = MemoryScope::Device, .acquires = MemoryScope::Device};

/// What orders memory in a PTX text, by the words of each instruction alone (PTX ISA 9.0, 8.2
/// "Memory operations"): its semantics (.relaxed, .acquire, …) and its scope (.cta, .gpu, .sys).
std::vector<FoundAccess> accessesOfPtx(llvm::StringRef ptx);

/// The first instruction of a body that touches global memory and stands before
/// `griddepcontrol.wait`, or has none behind it; empty: there is none. The wait is reached before
/// what stands behind it, as its block comes before all but those that make barriers.
llvm::StringRef touchedBeforeWait(llvm::StringRef ptx);

} // namespace imbrex::target::nvptx
