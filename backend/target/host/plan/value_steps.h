#pragma once

#include "backend/ir/kernel.h"

#include <optional>
#include <vector>

/// By how much values grow from one block of the grid, or one trip of a loop, to the next.
namespace imbrex::host {

/// Integers count as unbounded; a pointer grows by elements.
class ValueSteps {
public:
  /// From a block to the next along x: of what the kernel's outermost block defines.
  static ValueSteps alongBlocks(const ir::Kernel &kernel);
  /// From a trip to the next, of what this loop's body defines; what is defined outside stays. A
  /// number of 32 or 64 bits grows so unless it wraps there itself: no step goes through a number
  /// that is cast, but for the loop's own.
  static ValueSteps alongTrips(const ir::Kernel &kernel, const ir::Op &loop);

  /// Nothing where the step is not the same everywhere, or not known.
  std::optional<std::int64_t> of(ir::ValueId value) const { return steps_[value.index()]; }

  /// How far the box of a load, or the memory of its pointers, moves: indices of the view along
  /// each axis, or elements. Nothing where any of it is not known.
  std::optional<llvm::SmallVector<std::int64_t, 5>> ofLoad(const ir::Op &load) const;

private:
  explicit ValueSteps(const ir::Kernel &kernel)
      : kernel_(kernel), steps_(kernel.valueCount(), std::nullopt) {}
  void followThrough(const ir::Block &block);
  std::optional<std::int64_t> stepOf(const ir::Op &op) const;
  bool mayWrap(const ir::Op &op) const;
  std::optional<std::int64_t> product(const ir::Op &op) const;

  const ir::Kernel &kernel_;
  const ir::Op *loop_ = nullptr;                   // null: along blocks
  std::vector<std::optional<std::int64_t>> steps_; // by value number
};

} // namespace imbrex::host
