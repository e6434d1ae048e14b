#pragma once

#include "backend/analysis/axis_info.h"
#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace imbrex::passes::pipeline {

/// What brings a tile.
enum class Way : std::uint8_t {
  Registers, ///< An ordinary load.
  Copies,    ///< Asynchronous copies of the threads' own, into shared memory.
  Boxes,     ///< The machine's engine.
};

/// The ways of a machine, the best first: by registers only where there is no other.
llvm::ArrayRef<Way> waysOf(const machine::Machine &machine);

/// A load that can be started trips ahead of the one that needs it.
struct AheadLoad {
  const ir::Op *op;
  Way way = Way::Registers;
  std::int32_t width = 1;    ///< Neighbours that one asynchronous copy of a thread moves.
  std::string whyNoBox = {}; ///< Where the threads copy though the machine has an engine.
};

/// What keeps a load, or all of a loop's, where it stands.
struct LeftAlone {
  Location where;
  std::string why;
};

/// What a loop's loads and their addresses are made of.
struct LoopLoads {
  std::vector<AheadLoad> loads = {}; ///< In their order.
  std::vector<LeftAlone> leftAlone = {};
  /// The ops of the body that compute where the loads read, in the loop's present trip.
  std::set<const ir::Op *> addresses = {};
  /// The carried values, by number, that these need, and the ops that make the next from them.
  std::set<std::size_t> carried = {};
  std::set<const ir::Op *> steps = {};
  /// The tiles that products alone want and will read in their slots, each under all its names
  /// (read_in_place.h).
  std::set<ir::ValueId> inPlace = {};

  bool has(Way way) const {
    return llvm::any_of(loads, [&](const AheadLoad &load) { return load.way == way; });
  }
  bool areAll(Way way) const {
    return llvm::all_of(loads, [&](const AheadLoad &load) { return load.way == way; });
  }
};

inline bool hasCopies(const machine::Machine &machine) {
  return machine.asyncCopies.leastBytes > 0;
}

/// Which loads at the top of a loop's body could run ahead: those whose addresses are made without
/// memory, from the loop's index, from values that were there before, and from carried values that
/// are made so too; and which nothing in the loop may write. Each is brought by the first of `ways`
/// that can. By asynchronous copies, where each thread has enough neighbours at once for a copy. By
/// the engine: boxes of views that nothing in the kernel writes, as the engine comes to memory by a
/// way of its own.
LoopLoads studyLoop(const ir::Kernel &kernel, const ir::Op &loop,
                    const analysis::AxisAnalysis &facts, const PassContext &context,
                    llvm::ArrayRef<Way> ways);

} // namespace imbrex::passes::pipeline
