#pragma once

#include "llvm/IR/Module.h"

namespace imbrex::emulate {

/// What the CPU's code generator would get wrong: what rounds to halves (halves.h); and minimum and
/// maximum, by comparisons, because LLVM 22 for x86 gets minimumnum and maximumnum wrong
/// where it knows one operand to be no NaN; with -0 below +0 and NaN losing, as on the GPUs.
void rewriteFloats(llvm::Module &module);

} // namespace imbrex::emulate
