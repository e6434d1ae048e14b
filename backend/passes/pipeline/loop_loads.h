#pragma once

#include "backend/analysis/axis_info.h"
#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace imbrex::passes::pipeline {

/// What brings a loop's tiles.
enum class Way : std::uint8_t {
  Registers, ///< Ordinary loads.
  Copies,    ///< Asynchronous copies of the threads' own, into shared memory.
  Boxes,     ///< The machine's engine.
};

/// A load that can be started trips ahead of the one that needs it.
struct AheadLoad {
  const ir::Op *op;
  std::int32_t width; ///< Neighbours that one asynchronous copy of a thread moves.
};

/// What keeps a load, or all of a loop's, where it stands.
struct LeftAlone {
  Location where;
  std::string why;
  const ir::Op *load = nullptr; ///< None: it is for all of them.
};

/// What a loop's loads and their addresses are made of.
struct LoopLoads {
  Way way;
  std::vector<AheadLoad> loads = {}; ///< In their order.
  std::vector<LeftAlone> leftAlone = {};
  /// Why the threads copy where the machine has an engine.
  std::optional<LeftAlone> whyNoBoxes = {};
  /// The ops of the body that compute where the loads read, in the loop's present trip.
  std::set<const ir::Op *> addresses = {};
  /// The carried values, by number, that these need, and the ops that make the next from them.
  std::set<std::size_t> carried = {};
  std::set<const ir::Op *> steps = {};
  /// The tiles that products alone want and will read in their slots, each under all its names
  /// (read_in_place.h).
  std::set<ir::ValueId> inPlace = {};
};

inline bool hasCopies(const machine::Machine &machine) {
  return machine.asyncCopies.leastBytes > 0;
}

/// Which loads at the top of a loop's body could run ahead: those whose addresses are made without
/// memory, from the loop's index, from values that were there before, and from carried values that
/// are made so too; and which nothing in the loop may write. By asynchronous copies, where the
/// machine has them, only those of which each thread has enough neighbours at once for a copy. By
/// the engine: boxes of views that nothing in the kernel writes, as the engine comes to memory by a
/// way of its own.
LoopLoads studyLoop(const ir::Kernel &kernel, const ir::Op &loop,
                    const analysis::AxisAnalysis &facts, const PassContext &context, Way way);

} // namespace imbrex::passes::pipeline
