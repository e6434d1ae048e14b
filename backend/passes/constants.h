#pragma once

#include "backend/ir/kernel.h"

#include <optional>

namespace imbrex::passes {

/// The element that an op gives everywhere because its operands are constants: of elementwise ops,
/// conversions and bitcasts.
std::optional<std::uint64_t> constantResult(const ir::Kernel &kernel, const ir::Op &op);

} // namespace imbrex::passes
