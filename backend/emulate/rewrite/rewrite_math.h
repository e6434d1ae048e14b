#pragma once

#include "backend/emulate/rewrite/rewrite_calls.h"

namespace imbrex::emulate {

/// In place of a call of a machine's own arithmetic on f32 the correctly rounded value, where the
/// machine promises only a bound. Null: it is none of these.
llvm::Value *rewriteMath(MachineCall &c);

} // namespace imbrex::emulate
