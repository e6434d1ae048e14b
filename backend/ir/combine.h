#pragma once

#include "backend/ir/op.h"

namespace imbrex::ir {

/// The elementwise op that a built-in combine repeats; of argmin and argmax: on the values.
OpKind opOf(Combine combine);

/// Whether the combine also gives the index of what it finds.
bool isArg(Combine combine);

} // namespace imbrex::ir
