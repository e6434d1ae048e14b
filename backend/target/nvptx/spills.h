#pragma once

#include "backend/target/codegen/loc_lines.h"
#include "llvm/ADT/ArrayRef.h"

namespace imbrex::target::nvptx {

/// What the kernel of a cubin stores to local memory, as it does with registers that are spilled.
SpilledLines spillsIn(llvm::ArrayRef<char> cubin);

} // namespace imbrex::target::nvptx
