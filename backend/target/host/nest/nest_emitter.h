#pragma once

#include "backend/target/host/nest/body.h"
#include "backend/target/host/plan/nest_shape.h"

#include <functional>
#include <vector>

/// The loops of a nest:
///
///   for each index of the outer axes
///     for j in 0, U W, 2 U W, …         U trips of W lanes each along the last axis
///       roots
///     for j in the rest                 one lane at a time: what W does not divide, or everything
///       roots                           when an offset would wrap
///
/// Reductions over the last axis keep U accumulators of W lanes in registers; over another axis, an
/// element of the result's buffer per element of the other axes.
namespace imbrex::host {

class NestEmitter {
public:
  NestEmitter(HostEmitter &emitter, const Nest &nest)
      : f_(emitter), b_(emitter.builder), nest_(nest),
        shape_(shapeOf(emitter.kernel, emitter.plan, nest, emitter.unit)),
        body_(emitter, shape_.width), coordinates_(static_cast<size_t>(nest.space.rank()), zero()) {
  }

  void run() {
    body_.setReadAhead(nest_.ahead);
    for (const Root &root : nest_.roots) prepare(root);
    emitAxis(0);
    for (const Root &root : nest_.roots) {
      if (root.kind == Root::Kind::Keep && f_.plan.bufferOf[root.value.index()] == root.into)
        f_.setReady(root.value);
      if (root.kind == Root::Kind::Reduce)
        for (const ir::ValueId result : root.op->results) f_.setReady(result);
    }
  }

private:
  /// What a reduction over the inner axis carries: one accumulator for each trip of the unrolled
  /// loop, and one of a single lane for the rest.
  struct Accumulator {
    const Root *root;
    ir::ElementKind element;
    llvm::SmallVector<llvm::AllocaInst *, 4> values, indices;
    llvm::AllocaInst *restValue = nullptr, *restIndex = nullptr;
  };

  const ir::ReduceAttrs &reduction(const Root &root) const {
    return root.op->attrs<ir::ReduceAttrs>();
  }
  bool isAlongInner(const Root &root) const { return reduction(root).axis == shape_.innerAxis; }
  Coordinate zero() { return {.value = f_.index(0), .start = f_.index(0), .multiple = 0}; }

  void prepare(const Root &root);
  void emitAxis(std::int32_t axis);
  void emitInner();
  llvm::Instruction *emitVersion(Body::Assumes assumes, llvm::BasicBlock *after);
  void emitVectorTrips(std::int32_t unroll);
  void emitRest(llvm::Value *start);
  void emitTrip(const Coordinate &inner, std::int32_t copy);
  std::function<void()> evaluate(const Root &root, PointId at, std::int32_t copy);
  std::function<void()> evaluateReduce(const Root &root, PointId at, std::int32_t copy);
  void startAccumulators();
  void finishAccumulators();
  void finishAccumulator(const Accumulator &accumulator);
  ValueWithIndex acrossLanes(const Accumulator &accumulator, ValueWithIndex value);
  PointId withoutAxis(PointId at, std::int32_t axis);
  void storeResult(ir::ValueId result, llvm::Value *value, PointId at);

  HostEmitter &f_;
  llvm::IRBuilder<> &b_;
  const Nest &nest_;
  const NestShape shape_;
  Body body_;
  Point coordinates_;
  std::vector<Accumulator> accumulators_;
};

} // namespace imbrex::host
