#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/lower/promises.h"
#include "llvm/ADT/ArrayRef.h"

namespace imbrex::runtime {

/// What a launch with these arguments keeps of all that code may rely on.
lower::Promises promisesOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments);

} // namespace imbrex::runtime
