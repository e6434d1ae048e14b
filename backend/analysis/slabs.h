#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>

/// How the operands of a product are read from shared memory. Those that come from registers pass
/// through it slab by slab: [batch][k][across] lie side by side, every extent rounded up to a power
/// of two. Shared tiles are read where they lie.
namespace imbrex::analysis {

/// The bytes that all elements of an operand with the same k take in a slab, of packed ones with
/// the same two; none of a shared tile.
std::int64_t bytesOfDepth(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand);

/// How much of k is in a slab where an exchange may take so many bytes: a power of two.
std::int64_t depthOfSlab(const ir::Kernel &kernel, const ir::Op &dot, std::int64_t bytes);

/// How much of k a thread reads of an operand at once, where neighbours along k adjoin: a power of
/// two, by which it holds at most 64 bytes, or 128 where a role is given more registers.
std::int64_t depthAhead(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand);

/// Of k, in bits: how much an operand's coordinates have, and how much of that registers count.
struct DepthBits {
  std::int32_t inAll, ofRegisters;
};
/// The elements of an operand that each thread's sums want, from register, lane and warp to
/// coordinates. The registers' low bits count k; the others are those of the sums as far as these
/// differ in what they want.
layout::LinearLayout operandReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                                  DepthBits depth);

} // namespace imbrex::analysis
