#pragma once

#include "backend/target/host/plan/loop_plan.h"
#include "backend/target/host/vector_unit.h"

namespace imbrex::host {

/// How a nest is cut into vectors.
struct NestShape {
  std::int32_t innerAxis = 0;   // the last axis with more than one element
  std::int64_t trips = 1;       // its extent
  std::int32_t width = 1;       // lanes
  std::int32_t unroll = 1;      // vectors per trip of the inner loop
  std::int64_t vectorTrips = 1; // vectors; the rest goes one by one
};

NestShape shapeOf(const ir::Kernel &kernel, const LoopPlan &plan, const Nest &nest,
                  VectorUnit unit);
std::int32_t innerAxisOf(const ir::Shape &space);

/// Visit the values that a body computes for these, each once: down to kept tiles and scalars.
void forEachInline(const ir::Kernel &kernel, const LoopPlan &plan,
                   llvm::ArrayRef<ir::ValueId> values,
                   const std::function<void(ir::ValueId, const ir::Op *)> &visit);
/// Whether one of those values is such: they are looked at up to the first that is.
bool anyInline(const ir::Kernel &kernel, const LoopPlan &plan, llvm::ArrayRef<ir::ValueId> values,
               const std::function<bool(ir::ValueId, const ir::Op *)> &isSuch);
/// Whether an op computes each element of its result from its operands' elements at the same index.
bool keepsIndices(const ir::Op &op);
/// The values that a root needs.
llvm::SmallVector<ir::ValueId, 4> operandsOf(const Root &root);

} // namespace imbrex::host
