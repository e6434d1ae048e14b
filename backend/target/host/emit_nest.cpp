#include "backend/support/check.h"
#include "backend/target/host/body.h"
#include "backend/target/host/combine.h"
#include "backend/target/host/nest_shape.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

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
namespace {

using llvm::Value;

class NestEmitter {
public:
  NestEmitter(Emitter &emitter, const Nest &nest)
      : f_(emitter), b_(emitter.builder), nest_(nest),
        shape_(shapeOf(emitter.kernel, emitter.plan, nest, emitter.unit)),
        body_(emitter, shape_.width), coordinates_(static_cast<size_t>(nest.space.rank()), zero()) {
  }

  void run() {
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
  Coordinate zero() {
    return {.value = f_.index(0),
            .step = 0,
            .depth = -1,
            .start = f_.index(0),
            .startDepth = -1,
            .multiple = 0};
  }

  void prepare(const Root &root);
  void emitAxis(std::int32_t axis);
  void emitInner();
  bool isStreamedNest() const;
  llvm::Instruction *emitVersion(bool assumesInside, llvm::BasicBlock *after);
  void emitVectorTrips();
  void emitRest(llvm::Value *start);
  void emitTrip(const Coordinate &inner, std::int32_t copy);
  std::function<void()> evaluate(const Root &root, PointId at, std::int32_t copy);
  std::function<void()> evaluateReduce(const Root &root, PointId at, std::int32_t copy);
  void startAccumulators();
  void finishAccumulators();
  void finishAccumulator(const Accumulator &accumulator);
  Indexed acrossLanes(const Accumulator &accumulator, Indexed value);
  PointId withoutAxis(PointId at, std::int32_t axis);
  void storeResult(ir::ValueId result, Value *value, PointId at);

  Emitter &f_;
  llvm::IRBuilder<> &b_;
  const Nest &nest_;
  const NestShape shape_;
  Body body_;
  Point coordinates_;
  std::vector<Accumulator> accumulators_;
};

void NestEmitter::prepare(const Root &root) {
  if (root.kind != Root::Kind::Reduce) return;
  const ir::Combine combine = reduction(root).combine;
  const ir::ElementKind element = f_.type(root.op->operand(0)).element();
  if (isAlongInner(root)) {
    accumulators_.push_back(
        {.root = &root, .element = accumulatorOf(combine, element), .values = {}, .indices = {}});
    return;
  }
  // Over another axis the result's buffer starts as the identity.
  const ir::ValueId result = root.op->result(0);
  f_.emitFill(f_.plan.bufferOf[result.index()],
              identityOf(combine, element, f_.laneType(f_.type(result).withShape({}))));
  if (isArg(combine))
    f_.emitFill(f_.plan.bufferOf[root.op->result(1).index()], llvm::ConstantInt::get(f_.i32, 0));
}

void NestEmitter::emitAxis(std::int32_t axis) {
  if (axis >= shape_.innerAxis) return emitInner();
  const std::int64_t extent = nest_.space[axis];
  if (extent == 1) return emitAxis(axis + 1);

  llvm::BranchInst *entry = b_.CreateBr(f_.newBlock("outer"));
  llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = entry->getSuccessor(0);
  b_.SetInsertPoint(loop);
  llvm::PHINode *index = b_.CreatePHI(f_.i64, 2);
  index->addIncoming(f_.index(0), before);
  body_.pushLevel(entry);
  coordinates_[static_cast<size_t>(axis)] = {.value = index,
                                             .step = 0,
                                             .depth = body_.innermost(),
                                             .start = index,
                                             .startDepth = body_.innermost(),
                                             .multiple = 1};
  emitAxis(axis + 1);
  body_.popLevel();
  Value *next = b_.CreateNUWAdd(index, f_.index(1));
  index->addIncoming(next, b_.GetInsertBlock());
  llvm::BasicBlock *after = f_.newBlock("outer.done");
  b_.CreateCondBr(b_.CreateICmpULT(next, f_.index(extent)), loop, after);
  b_.SetInsertPoint(after);
}

void NestEmitter::emitInner() {
  startAccumulators();
  const std::int64_t covered = shape_.vectorTrips * shape_.width;
  body_.setWidth(shape_.width);
  body_.setInnerTrips(covered);
  llvm::BasicBlock *before = b_.GetInsertBlock();
  llvm::BasicBlock *afterVectors = f_.newBlock("inner.vectors");
  llvm::Instruction *anchor = nullptr, *outside = nullptr; // the latter in front of all versions
  if (isStreamedNest()) {
    anchor = emitVersion(true, afterVectors);
    // The next version goes where this one's assumptions do not hold.
    b_.SetInsertPoint(anchor);
    Value *holds = body_.takeAssumptions();
    if (Value *checks = body_.takeChecks()) holds = b_.CreateAnd(holds, checks);
    llvm::BasicBlock *other = f_.newBlock("inner.masked");
    outside = b_.CreateCondBr(holds, anchor->getSuccessor(0), other);
    anchor->eraseFromParent();
    b_.SetInsertPoint(other);
    before = other;
  }
  anchor = emitVersion(false, afterVectors);
  b_.SetInsertPoint(anchor);
  Value *checks = body_.takeChecks();

  const bool needsRest = covered < shape_.trips;
  llvm::BasicBlock *done = f_.newBlock("inner.done");
  if (checks || needsRest) {
    llvm::BasicBlock *rest = f_.newBlock("rest");
    llvm::PHINode *start = nullptr;
    b_.SetInsertPoint(rest);
    start = b_.CreatePHI(f_.i64, 2);
    if (checks) {
      b_.SetInsertPoint(anchor);
      llvm::Instruction *either = b_.CreateCondBr(checks, anchor->getSuccessor(0), rest);
      anchor->eraseFromParent();
      anchor = either;
      start->addIncoming(f_.index(0), before);
    }
    b_.SetInsertPoint(afterVectors);
    b_.CreateBr(needsRest ? rest : done);
    if (needsRest) start->addIncoming(f_.index(covered), afterVectors);
    b_.SetInsertPoint(rest);
    body_.setWidth(1);
    body_.pushLevel(outside ? outside : anchor);
    emitRest(start);
    body_.popLevel();
  } else {
    b_.SetInsertPoint(afterVectors);
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  finishAccumulators();
}

bool NestEmitter::isStreamedNest() const {
  return shape_.width > 1 && std::ranges::any_of(nest_.roots, [](const Root &root) {
           return root.kind == Root::Kind::Store && isStreamed(*root.op);
         });
}

/// The loop over vectors, from a branch that is returned and by which code of the outer loops goes.
llvm::Instruction *NestEmitter::emitVersion(bool assumesInside, llvm::BasicBlock *after) {
  body_.setAssumesInside(assumesInside);
  llvm::BranchInst *entry = b_.CreateBr(f_.newBlock("inner"));
  b_.SetInsertPoint(entry->getSuccessor(0));
  body_.pushLevel(entry);
  emitVectorTrips();
  body_.popLevel();
  b_.CreateBr(after);
  return entry;
}

void NestEmitter::emitVectorTrips() {
  const std::int64_t stride = std::int64_t{shape_.width} * shape_.unroll;
  const std::int64_t covered = shape_.vectorTrips * shape_.width;
  llvm::BasicBlock *before = b_.GetInsertBlock();
  const bool loops = covered > stride;
  llvm::BasicBlock *loop = before;
  llvm::PHINode *phi = nullptr;
  Value *first = f_.index(0);
  if (loops) {
    loop = f_.newBlock("vectors");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    first = phi = b_.CreatePHI(f_.i64, 2);
    phi->addIncoming(f_.index(0), before);
  }
  for (std::int32_t copy = 0; copy < shape_.unroll; ++copy) {
    const std::int64_t offset = std::int64_t{copy} * shape_.width;
    Value *index = offset == 0 ? first : b_.CreateAdd(first, f_.index(offset));
    emitTrip({.value = index,
              .step = shape_.width > 1 ? 1 : 0,
              .depth = body_.innermost(),
              .start = f_.index(0),
              .startDepth = -1,
              .multiple = loops || offset != 0 ? shape_.width : 0},
             copy);
  }
  if (!loops) return;
  Value *next = b_.CreateNUWAdd(phi, f_.index(stride));
  phi->addIncoming(next, b_.GetInsertBlock());
  llvm::BasicBlock *after = f_.newBlock("vectors.done");
  b_.CreateCondBr(b_.CreateICmpULT(next, f_.index(covered)), loop, after);
  b_.SetInsertPoint(after);
}

void NestEmitter::emitRest(Value *start) {
  llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = f_.newBlock("one");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode *index = b_.CreatePHI(f_.i64, 2);
  index->addIncoming(start, before);
  constexpr std::int32_t kRest = -1;
  emitTrip({.value = index,
            .step = 0,
            .depth = body_.innermost(),
            .start = nullptr,
            .startDepth = -1,
            .multiple = 1},
           kRest);
  Value *next = b_.CreateNUWAdd(index, f_.index(1));
  index->addIncoming(next, b_.GetInsertBlock());
  llvm::BasicBlock *after = f_.newBlock("rest.done");
  b_.CreateCondBr(b_.CreateICmpULT(next, f_.index(shape_.trips)), loop, after);
  b_.SetInsertPoint(after);
}

/// All values first, then all effects: what one root writes another must not read.
void NestEmitter::emitTrip(const Coordinate &inner, std::int32_t copy) {
  if (!coordinates_.empty() && shape_.trips > 1)
    coordinates_[static_cast<size_t>(shape_.innerAxis)] = inner;
  const PointId at = body_.intern(coordinates_);
  std::vector<std::function<void()>> effects;
  for (const Root &root : nest_.roots) effects.push_back(evaluate(root, at, copy));
  for (const std::function<void()> &effect : effects) effect();
}

std::function<void()> NestEmitter::evaluate(const Root &root, PointId at, std::int32_t copy) {
  switch (root.kind) {
  case Root::Kind::Keep: {
    const Lanes lanes = body_.read(root.value, at);
    return [=, this] {
      body_.storeBuffer(f_.plan.buffers[root.into.index()], f_.bufferAddress(root.into), at, lanes);
    };
  }
  case Root::Kind::Store: return body_.prepareStore(*root.op, at);
  case Root::Kind::Reduce: return evaluateReduce(root, at, copy);
  case Root::Kind::Copy: {
    const Lanes lanes =
        body_.loadBuffer(f_.plan.buffers[root.from.index()], f_.bufferAddress(root.from), at);
    return [=, this] {
      body_.storeBuffer(f_.plan.buffers[root.into.index()], f_.bufferAddress(root.into), at, lanes);
    };
  }
  }
  IMBREX_UNREACHABLE("a root of no kind");
}

PointId NestEmitter::withoutAxis(PointId at, std::int32_t axis) {
  Point result = body_.point(at);
  result.erase(result.begin() + axis);
  return body_.intern(result);
}

std::function<void()> NestEmitter::evaluateReduce(const Root &root, PointId at, std::int32_t copy) {
  const ir::ReduceAttrs &attrs = reduction(root);
  const ir::ElementKind element = f_.type(root.op->operand(0)).element();
  const ir::ElementKind wide = accumulatorOf(attrs.combine, element);
  const Lanes lanes = body_.read(root.op->operand(0), at);
  Value *index = nullptr;
  if (isArg(attrs.combine)) {
    const Coordinate &c = body_.point(at)[static_cast<size_t>(attrs.axis)];
    Value *wideIndex = body_.vectorHere({c.value, c.isVector, c.step, c.depth});
    index = b_.CreateTrunc(wideIndex, lanesLike(wideIndex->getType(), f_.i32));
  }
  Value *value = emitCast(b_, element, wide, {}, body_.vectorHere(lanes));
  if (isAlongInner(root)) {
    const auto found = std::ranges::find(accumulators_, &root, &Accumulator::root);
    llvm::AllocaInst *to = copy < 0 ? found->restValue : found->values[static_cast<size_t>(copy)];
    if (!index) {
      Value *old = b_.CreateLoad(to->getAllocatedType(), to);
      b_.CreateStore(emitCombine(b_, attrs.combine, wide, old, value), to);
      return [] {};
    }
    llvm::AllocaInst *toIndex =
        copy < 0 ? found->restIndex : found->indices[static_cast<size_t>(copy)];
    const Indexed old{b_.CreateLoad(to->getAllocatedType(), to),
                      b_.CreateLoad(toIndex->getAllocatedType(), toIndex)};
    const Indexed best = emitCombineArg(b_, attrs.combine, wide, old, {value, index});
    b_.CreateStore(best.value, to);
    b_.CreateStore(best.index, toIndex);
    return [] {};
  }

  const PointId into = withoutAxis(at, attrs.axis);
  const auto bufferOf = [&](size_t result) {
    return f_.plan.bufferOf[root.op->result(result).index()];
  };
  const auto load = [&](BufferId buffer) {
    return body_.vectorHere(
        body_.loadBuffer(f_.plan.buffers[buffer.index()], f_.bufferAddress(buffer), into));
  };
  const auto store = [&](BufferId buffer, Value *x) {
    body_.storeBuffer(f_.plan.buffers[buffer.index()], f_.bufferAddress(buffer), into,
                      {.value = x,
                       .isVector = x->getType()->isVectorTy(),
                       .step = 0,
                       .depth = body_.innermost()});
  };
  if (!index) {
    store(bufferOf(0), emitCombine(b_, attrs.combine, element, load(bufferOf(0)), value));
  } else {
    const Indexed old{load(bufferOf(0)), load(bufferOf(1))};
    const Indexed best = emitCombineArg(b_, attrs.combine, element, old, {value, index});
    store(bufferOf(0), best.value);
    store(bufferOf(1), best.index);
  }
  return [] {};
}

// --- accumulators in registers ---

void NestEmitter::startAccumulators() {
  for (Accumulator &accumulator : accumulators_) {
    const ir::Combine combine = reduction(*accumulator.root).combine;
    llvm::Type *element = f_.laneType(ir::Type::tile(accumulator.element));
    const auto variable = [&](llvm::Type *type, llvm::Constant *value) {
      llvm::AllocaInst *result = f_.newVariable(type, "accumulator");
      b_.CreateStore(value, result);
      return result;
    };
    const auto lanes = [&](llvm::Type *type) -> llvm::Type * {
      if (shape_.width == 1) return type;
      return llvm::FixedVectorType::get(type, static_cast<unsigned>(shape_.width));
    };
    const auto identity = [&](llvm::Type *type) {
      return identityOf(combine, accumulator.element, type);
    };
    accumulator.values.clear();
    accumulator.indices.clear();
    for (std::int32_t copy = 0; copy < shape_.unroll; ++copy) {
      accumulator.values.push_back(variable(lanes(element), identity(lanes(element))));
      if (isArg(combine))
        accumulator.indices.push_back(
            variable(lanes(f_.i32), llvm::Constant::getNullValue(lanes(f_.i32))));
    }
    accumulator.restValue = variable(element, identity(element));
    if (isArg(combine)) accumulator.restIndex = variable(f_.i32, llvm::ConstantInt::get(f_.i32, 0));
  }
}

/// Halve the lanes until one is left.
Indexed NestEmitter::acrossLanes(const Accumulator &accumulator, Indexed value) {
  const ir::Combine combine = reduction(*accumulator.root).combine;
  for (std::int32_t lanes = shape_.width; lanes > 1; lanes /= 2) {
    llvm::SmallVector<int, 32> low(static_cast<size_t>(lanes / 2)), high(low.size());
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), lanes / 2);
    const auto half = [&](Value *x, llvm::ArrayRef<int> mask) {
      return x ? b_.CreateShuffleVector(x, mask) : nullptr;
    };
    const Indexed a{half(value.value, low), half(value.index, low)};
    const Indexed b{half(value.value, high), half(value.index, high)};
    value = a.index
                ? emitCombineArg(b_, combine, accumulator.element, a, b)
                : Indexed{emitCombine(b_, combine, accumulator.element, a.value, b.value), nullptr};
  }
  if (shape_.width == 1) return value;
  value.value = b_.CreateExtractElement(value.value, std::uint64_t{0});
  if (value.index) value.index = b_.CreateExtractElement(value.index, std::uint64_t{0});
  return value;
}

void NestEmitter::finishAccumulators() {
  for (const Accumulator &accumulator : accumulators_) finishAccumulator(accumulator);
}

void NestEmitter::finishAccumulator(const Accumulator &accumulator) {
  const ir::Op &op = *accumulator.root->op;
  const ir::ReduceAttrs &attrs = reduction(*accumulator.root);
  const auto load = [&](llvm::AllocaInst *from) -> Value * {
    return from ? b_.CreateLoad(from->getAllocatedType(), from) : nullptr;
  };
  const auto combine = [&](const Indexed &a, const Indexed &b) {
    if (a.index) return emitCombineArg(b_, attrs.combine, accumulator.element, a, b);
    return Indexed{emitCombine(b_, attrs.combine, accumulator.element, a.value, b.value), nullptr};
  };
  const auto at = [&](size_t copy) {
    return Indexed{load(accumulator.values[copy]),
                   accumulator.indices.empty() ? nullptr : load(accumulator.indices[copy])};
  };
  // Pairs first, so that few steps depend on each other.
  std::vector<Indexed> parts;
  for (size_t copy = 0; copy < accumulator.values.size(); ++copy) parts.push_back(at(copy));
  while (parts.size() > 1) {
    std::vector<Indexed> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(combine(parts[i], parts[i + 1]));
    if (parts.size() % 2 == 1) next.push_back(parts.back());
    parts = std::move(next);
  }
  Indexed result = acrossLanes(accumulator, parts[0]);
  result = combine(result, {load(accumulator.restValue), load(accumulator.restIndex)});
  const ir::ElementKind element = f_.type(op.operand(0)).element();
  result.value = emitCast(b_, accumulator.element, element, {}, result.value);
  Point outer = coordinates_;
  outer.erase(outer.begin() + attrs.axis);
  body_.setWidth(1);
  const PointId point = body_.intern(outer);
  storeResult(op.result(0), result.value, point);
  if (result.index) storeResult(op.result(1), result.index, point);
}

void NestEmitter::storeResult(ir::ValueId result, Value *value, PointId at) {
  if (f_.type(result).rank() == 0) return f_.setScalar(result, value);
  const BufferId buffer = f_.plan.bufferOf[result.index()];
  body_.storeBuffer(f_.plan.buffers[buffer.index()], f_.bufferAddress(buffer), at,
                    {.value = value, .isVector = false, .step = 0, .depth = body_.innermost()});
}

} // namespace

void Emitter::emitNest(const Nest &nest) { NestEmitter(*this, nest).run(); }

} // namespace imbrex::host
