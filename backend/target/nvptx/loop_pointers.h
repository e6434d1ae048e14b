#pragma once

#include "llvm/IR/Module.h"

namespace imbrex::target::nvptx {

/// Let pointers into global memory that go on from trip to trip be registers of their own.
///
/// Loop strength reduction, of LLVM's code generator, makes of several such pointers with one step
/// their first values and one number that is added to all: as many additions, and the sums
/// take registers beside the first values. It leaves alone what it does not see through.
///
/// In the copy of the module that code is generated from.
void keepLoopPointers(llvm::Module &module);

} // namespace imbrex::target::nvptx
