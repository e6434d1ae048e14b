#pragma once

#include "backend/ir/kernel.h"

#include <optional>

namespace imbrex::analysis {

/// The loads that a product's operand is computed from, element by element, whatever moves the
/// elements on the way; nothing of a tile that is not computed, but comes from elsewhere as it is.
/// An operand that is cast, or multiplied by factors of its rows, is computed.
std::optional<llvm::SmallVector<const ir::Op *, 4>> sourcesOf(const ir::Kernel &kernel,
                                                              ir::ValueId operand);

/// The bits of memory that an element of a computed operand comes from: the least of those of its
/// sources that are as large as the operand is, or half of that where bytes hold two elements. 0:
/// there are none.
std::int64_t bitsOfSources(const ir::Kernel &kernel, ir::ValueId operand);

} // namespace imbrex::analysis
