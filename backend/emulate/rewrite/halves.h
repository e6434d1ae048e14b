#pragma once

#include "backend/emulate/run/calls.h"
#include "llvm/IR/Instructions.h"

namespace imbrex::emulate {

/// Replace the uses of an instruction that rounds to half or bfloat, by what IEEE 754 says. The CPU
/// has no such instructions, or some that flush subnormal numbers, or functions of a library that
/// may not be there. False: it is none of these.
bool rewriteHalf(Builder &b, llvm::Instruction &instruction);

} // namespace imbrex::emulate
