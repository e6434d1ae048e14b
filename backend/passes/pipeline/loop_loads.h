#pragma once

#include "backend/ir/kernel.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace imbrex::passes::pipeline {

/// A load that is started trips ahead of the one that needs it.
struct AheadLoad {
  const ir::Op *op;
  ir::Ahead by;
  std::int32_t width = 1; ///< Neighbours that one asynchronous copy of a thread moves.
};

/// What a loop's loads that run ahead, and their addresses, are made of.
struct LoopLoads {
  std::vector<AheadLoad> loads = {}; ///< In their order.
  /// The ops of the body that compute where the loads read, in the loop's present trip.
  std::set<const ir::Op *> addresses = {};
  /// The carried values, by number, that these need, and the ops that make the next from them.
  std::set<std::size_t> carried = {};
  std::set<const ir::Op *> steps = {};
  /// The tiles that products alone want and will read in their slots, each under all its names
  /// (names_in_products.h).
  std::set<ir::ValueId> inPlace = {};

  bool has(ir::Ahead by) const {
    return llvm::any_of(loads, [&](const AheadLoad &load) { return load.by == by; });
  }
  bool areAll(ir::Ahead by) const {
    return llvm::all_of(loads, [&](const AheadLoad &load) { return load.by == by; });
  }
};

inline bool isPipelined(const ir::Op &op) {
  return op.kind == ir::OpKind::For && op.attrs<ir::ForAttrs>().pipelined != 0;
}
/// Whether its loads run ahead, as plan-loops has written into it (ForAttrs).
inline bool hasPlan(const ir::Op &op) {
  return op.kind == ir::OpKind::For && op.attrs<ir::ForAttrs>().slots != 0;
}
/// The loops of which this holds, an inner one before those around it.
std::vector<ir::Op *> loopsThat(bool (*holds)(const ir::Op &), ir::Kernel &kernel);

/// "'break_if' at kernel.cpp:12"
std::string named(const ir::Op &op);
/// "'view.load' of 'a' at kernel.cpp:12", where its memory is known to be of one parameter.
std::string namedLoad(const ir::Kernel &kernel, const ir::Op &load);

/// What a load says of how it runs ahead; it is a load.
ir::Ahead &aheadOf(ir::Op &load);
ir::Ahead aheadOf(const ir::Op &load);
std::int32_t &widthOf(ir::Op &load);

/// What of a loop's body addresses are made of.
class AddressParts {
public:
  explicit AddressParts(const ir::Op &loop);

  /// Adds what a load's operands are made of; why that cannot be known ahead, and then nothing is
  /// added.
  std::optional<std::string> add(const ir::Op &load, LoopLoads &to) const;

private:
  struct Parts {
    std::set<const ir::Op *> addresses, steps;
    std::vector<std::size_t> carried; // grows while it is walked
  };

  ir::ValueId yielded(std::size_t carried) const;
  std::optional<std::string> addParts(ir::ValueId value, Parts &parts, bool isStep) const;

  const ir::Block &body_;
  std::map<ir::ValueId, const ir::Op *> made_; // by the body's ops
};

/// The loads of a loop's body that say they run ahead (study_loads.h), in one of these ways.
LoopLoads loadsAhead(const ir::Kernel &kernel, const ir::Op &loop, llvm::ArrayRef<ir::Ahead> ways);
/// Those that fill slots of rings.
inline LoopLoads loadsOfRings(const ir::Kernel &kernel, const ir::Op &loop) {
  return loadsAhead(kernel, loop, {ir::Ahead::Copies, ir::Ahead::Boxes});
}

} // namespace imbrex::passes::pipeline
