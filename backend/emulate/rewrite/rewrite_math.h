#pragma once

#include "backend/emulate/run/calls.h"
#include "llvm/IR/Instructions.h"

namespace imbrex::emulate {

/// Replace the uses of a call of a machine's own arithmetic on f32, by the correctly rounded value
/// where the machine promises only a bound. False: it is none of these.
bool rewriteMath(Builder &b, llvm::CallInst &call);

} // namespace imbrex::emulate
