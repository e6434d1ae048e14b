#pragma once

#include "backend/ir/kernel.h"

#include <optional>

namespace imbrex::analysis {

/// What running a piece of a kernel may do besides giving values.
struct Effects {
  bool reads = false;    // global memory
  bool writes = false;   // global memory
  bool observed = false; // seen outside the kernel: print, assert, inline assembly
  bool exits = false;    // may end the block of the grid
  bool mayHang = false;  // holds a while, which nobody promised will end
  bool rings = false;    // moves a ring on

  /// Nothing is lost when the piece is not run and its values are not needed.
  bool removable() const { return !writes && !observed && !exits && !mayHang && !rings; }
};

/// The effects of an op and of all that its regions hold.
Effects effectsOf(const ir::Op &op);

/// Whether a block may write the memory that a parameter gives the kernel; none: any memory.
bool mayBeWritten(const ir::Kernel &kernel, std::optional<std::size_t> parameter,
                  const ir::Block &block);

/// No effect at all, the op's regions included: it may be moved, merged and dropped.
bool isPure(const ir::Op &op);

/// A region that combines two elements for a reduce or a scan: code that nobody runs in order, so
/// that passes leave its border alone.
bool hasCombineRegion(const ir::Op &op);

} // namespace imbrex::analysis
