#include "backend/support/check.h"
#include "backend/target/host/nest/nest_emitter.h"

namespace imbrex::host {

using llvm::Value;

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
  coordinates_[static_cast<size_t>(axis)] = {
      .value = index, .depth = body_.innermost(), .start = index, .startDepth = body_.innermost()};
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
  using Assumes = Body::Assumes;
  llvm::Instruction *anchor =
      emitVersion(shape_.width > 1 ? Assumes::InsideByVectors : Assumes::Nothing, afterVectors);
  llvm::Instruction *outside = nullptr; // in front of all versions
  b_.SetInsertPoint(anchor);
  while (Value *holds = body_.takeAssumptions()) {
    // The next version goes where this one's assumptions do not hold.
    if (Value *checks = body_.takeChecks()) holds = b_.CreateAnd(holds, checks);
    llvm::BasicBlock *other = f_.newBlock("inner.other");
    llvm::Instruction *branch = b_.CreateCondBr(holds, anchor->getSuccessor(0), other);
    if (!outside) outside = branch;
    anchor->eraseFromParent();
    b_.SetInsertPoint(other);
    before = other;
    anchor = emitVersion(body_.nextAssumes(), afterVectors);
    b_.SetInsertPoint(anchor);
  }
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

/// The loop over vectors, from a branch that is returned and by which code of the outer loops goes.
llvm::Instruction *NestEmitter::emitVersion(Body::Assumes assumes, llvm::BasicBlock *after) {
  body_.setAssumes(assumes);
  // Blocks at the edge are few: unrolled only where sums would wait for each other.
  const bool isFew = assumes == Body::Assumes::Nothing && shape_.width > 1;
  const std::int32_t unroll = isFew && accumulators_.empty() ? 1 : shape_.unroll;
  llvm::BranchInst *entry = b_.CreateBr(f_.newBlock("inner"));
  b_.SetInsertPoint(entry->getSuccessor(0));
  body_.pushLevel(entry);
  emitVectorTrips(unroll);
  body_.popLevel();
  b_.CreateBr(after);
  return entry;
}

void NestEmitter::emitVectorTrips(std::int32_t unroll) {
  const std::int64_t stride = std::int64_t{shape_.width} * unroll;
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
  for (std::int32_t copy = 0; copy < unroll; ++copy) {
    const std::int64_t offset = std::int64_t{copy} * shape_.width;
    Value *index = offset == 0 ? first : b_.CreateAdd(first, f_.index(offset));
    emitTrip({.value = index,
              .step = shape_.width > 1 ? 1 : 0,
              .depth = body_.innermost(),
              .start = f_.index(0),
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
  emitTrip({.value = index, .depth = body_.innermost()}, kRest);
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

void HostEmitter::emitNest(const Nest &nest) { NestEmitter(*this, nest).run(); }

} // namespace imbrex::host
