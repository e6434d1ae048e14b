#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>

/// How the operands of a product pass through shared memory: [batch][k][across] of each lie side by
/// side, every extent rounded up to a power of two, a slab of k at a time.
namespace imbrex::analysis {

/// The axis of a dot's operand along which it is summed up.
std::int32_t depthAxis(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand);

/// The bytes that all elements of an operand with the same k take.
std::int64_t bytesOfDepth(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand);

/// How much of k is in a slab where an exchange may take so many bytes: a power of two.
std::int64_t depthOfSlab(const ir::Kernel &kernel, const ir::Op &dot, std::int64_t bytes);

} // namespace imbrex::analysis
