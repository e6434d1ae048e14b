#pragma once

#include "backend/ir/types.h"
#include "backend/launching/print_line.h"

namespace imbrex::ir {

/// A tile that a kernel prints or asserts; each element is noted in so many bytes.
launching::ObservedTile observedTile(const Type &type, std::int64_t elementBytes);

} // namespace imbrex::ir
