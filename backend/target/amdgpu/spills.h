#pragma once

#include "backend/target/codegen/loc_lines.h"
#include "llvm/ADT/StringRef.h"

namespace imbrex::target::amdgpu {

/// What is stored for want of registers: LLVM writes `4-byte Folded Spill` behind each such store.
SpilledLines spillsIn(llvm::StringRef assembly);

} // namespace imbrex::target::amdgpu
