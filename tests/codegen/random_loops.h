#pragma once

#include "tests/codegen/kernel_table.h"

/// Random kernels of loops, for the tests of those that are marked `pipelined`.
namespace imbrex::testing {

/// Which loops there may be.
struct LoopShape {
  int deepest = 2;
  int most = 2;               ///< Before another one in a body; one in a row may be more.
  int inRow = 2;              ///< That are in no other.
  bool hasConditions = false; ///< Some are in branches, of which a launch or a loop around decides.
};

/// Nests of several loops and rows of them, in conditions.
inline constexpr LoopShape kManyLoops{.deepest = 4, .most = 5, .inRow = 4, .hasConditions = true};

/// Loops in loops and behind one another, some of them pipelined, over the same numbers or others,
/// by indices of several types and steps, that load tiles of several sizes of views and by
/// pointers, some of them with assertions that hold. All numbers are integers, so that every order
/// of the operations that is right gives the same.
TableKernel randomLoops(std::uint64_t seed, const LoopShape &shape = {});

} // namespace imbrex::testing
