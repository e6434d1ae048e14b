#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imbrex {

/// What is multiplied on matrix units, once or in a trip of a loop.
struct ProductsOnUnits {
  struct Product {
    std::string_view instruction; ///< LLVM's intrinsic, without "llvm.".
    std::int64_t count = 0;       ///< That a warp issues, loops within left out.
  };

  std::vector<Product> products = {}; ///< By instruction, each once.
  std::int64_t unitCycles = 0;        ///< That the units are busy.
  bool areKnown = true;               ///< Else no document says what they take: a guess.
};

/// A loop that itself multiplies on matrix units, as its timeline sees it (docs/timeline.md). Loops
/// in it have their part in its times, with so many trips each.
struct LoopOnUnits : ProductsOnUnits {
  static constexpr std::int32_t kInnerTrips = 32; ///< Of which nobody knows how many there are.

  Location where = {};
  bool hasLoops = false; ///< In it.
  /// Once the loop is in its stride, of one block alone; nothing where that cannot be told.
  std::optional<double> cyclesPerTrip = {};
  /// The resource that is always busy; else what it waits for.
  std::string limit = {};
  /// Of the time of all units of a core, that its blocks use them, each in this loop: one fills the
  /// others' gaps. A block has the units of as many partitions as it has warps. Nothing where that
  /// cannot be told.
  std::optional<double> shareOfCore = {};

  /// Of the time of the units that a block has, which is alone.
  double share() const;
};

/// Of a kernel that is laid out on threads, as it is lowered, of which a core holds so many blocks;
/// 0: nobody knows.
std::vector<LoopOnUnits> loopsOnUnits(const ir::Kernel &kernel, const machine::Machine &machine,
                                      std::int32_t blocksPerCore);

/// What the same kernel multiplies in no loop. What is left behind a loop of a product in it, the
/// fragments of its last trip, is that loop's, and not here.
ProductsOnUnits productsOutsideLoops(const ir::Kernel &kernel, const machine::Machine &machine);

} // namespace imbrex
