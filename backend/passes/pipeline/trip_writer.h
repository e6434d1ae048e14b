#pragma once

#include "backend/passes/pipeline/copy_ops.h"
#include "backend/passes/pipeline/loop_loads.h"

namespace imbrex::passes::pipeline {

/// Writes what a loop's body says of its present trip for another one: where loads read, and
/// whether that trip comes at all.
class TripWriter {
public:
  /// The loop's step is a positive constant.
  TripWriter(ir::Kernel &kernel, const ir::Op &loop, const LoopLoads &loads);

  /// A trip begins with its index and its carried values, and makes its addresses.
  Renamed enter(ir::Builder &to, ir::ValueId index, llvm::ArrayRef<ir::ValueId> carried);
  /// The carried values of the trip behind it.
  std::vector<ir::ValueId> next(ir::Builder &to, Renamed &names);
  /// Those of the first trip, and of the present one.
  std::vector<ir::ValueId> first() const;
  std::vector<ir::ValueId> present() const;

  /// The index so many trips on.
  ir::ValueId ahead(ir::Builder &to, ir::ValueId index, std::int64_t trips);

  /// How far it is from an index to the end of the loop, and from its beginning: numbers without a
  /// sign, for so nothing overflows.
  ir::ValueId distanceFrom(ir::Builder &to, ir::ValueId index);
  ir::ValueId wholeDistance(ir::Builder &to);
  /// Whether a distance is of more than so many trips.
  ir::ValueId isMore(ir::Builder &to, ir::ValueId distance, std::int64_t trips);

private:
  void repeat(ir::Builder &to, const std::set<const ir::Op *> &ops, Renamed &names);

  ir::Kernel *kernel_;
  const ir::Op &loop_;
  const ir::Block &body_;
  const LoopLoads &loads_;
  std::int64_t step_;
  std::vector<const ir::Op *> ops_;  // of the body, as they stood
  std::vector<ir::ValueId> yielded_; // by it
};

} // namespace imbrex::passes::pipeline
