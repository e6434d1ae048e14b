#pragma once

#include "tests/codegen/kernel_table.h"

/// Random kernels of loops, for the tests of those that are marked `pipelined`.
namespace imbrex::testing {

/// Loops in loops and behind one another, some of them pipelined, over the same numbers or others,
/// by indices of several types and steps, that load tiles of several sizes of views and by
/// pointers, some of them with assertions that hold. All numbers are integers, so that every order
/// of the operations that is right gives the same.
TableKernel randomLoops(std::uint64_t seed);

} // namespace imbrex::testing
