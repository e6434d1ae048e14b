#pragma once

#include <optional>

#include "backend/ir/op.h"

namespace imbrex::analysis {

/// The op that gives the same with its two operands exchanged: itself where it is commutative, `gt`
/// for `lt`; none where there is no such op.
std::optional<ir::OpKind> exchanged(ir::OpKind kind);

/// Computes each element of its results from the same element of its operands alone.
bool isElementwise(ir::OpKind kind);

} // namespace imbrex::analysis
