#include "backend/support/check.h"
#include "backend/target/host/host_emitter.h"
#include "backend/target/host/nest/body.h"
#include "backend/target/host/nest/control_flow.h"

/// Loops and branches. Scalars that cross a border of a body live in allocas, which LLVM turns into
/// SSA values again; tiles live in buffers that the plan's nests write.
namespace imbrex::host {

using ir::OpKind;
using ir::ValueId;
using llvm::Value;

namespace {

bool isScalar(const ir::Type &type) { return type.rank() == 0; }

const ir::Op &yieldOf(const ir::Block &body) { return *body.ops.back(); }

} // namespace

void HostEmitter::emitControl(const Step &step) {
  const ir::Op &op = *step.op;
  if (op.kind == OpKind::For) return emitFor(step);
  if (op.kind == OpKind::While) return emitWhile(op);
  if (op.kind == OpKind::If) return emitIf(op);
  if (op.kind == OpKind::BreakIf) return emitBreakIf(op);
  IMBREX_CHECK(op.kind == OpKind::ExitIf, "'{0}' is not control flow", info(op.kind).mnemonic);
  llvm::BasicBlock *stays = newBlock("stays");
  builder.CreateCondBr(scalar(op.operand(0)), nextBlock_, stays);
  builder.SetInsertPoint(stays);
}

HostEmitter::LoopFrame HostEmitter::enterLoop(const ir::Op &op, size_t firstInitial,
                                              size_t firstArgument) {
  LoopFrame frame{.op = &op, .carried = {}, .exit = newBlock("exit")};
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ir::Type &carried = type(op.result(i));
    frame.carried.push_back(isScalar(carried) ? newVariable(laneType(carried)) : nullptr);
    if (!isScalar(carried)) setReady(op.regions[0].arguments[firstArgument + i]);
  }
  writeCarried(frame, llvm::ArrayRef(op.operands).drop_front(firstInitial));
  return frame;
}

void HostEmitter::readCarried(const ir::Op &op, const LoopFrame &frame, size_t firstArgument) {
  for (size_t i = 0; i < frame.carried.size(); ++i)
    if (llvm::AllocaInst *variable = frame.carried[i])
      setScalar(op.regions[0].arguments[firstArgument + i],
                builder.CreateLoad(variable->getAllocatedType(), variable));
}

void HostEmitter::writeCarried(const LoopFrame &frame, llvm::ArrayRef<ValueId> values) {
  for (size_t i = 0; i < frame.carried.size(); ++i)
    if (frame.carried[i]) builder.CreateStore(scalar(values[i]), frame.carried[i]);
}

void HostEmitter::leaveLoop(const ir::Op &op, const LoopFrame &frame) {
  builder.SetInsertPoint(frame.exit);
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (llvm::AllocaInst *variable = frame.carried[i])
      setScalar(op.result(i), builder.CreateLoad(variable->getAllocatedType(), variable));
    else
      setReady(op.result(i));
  }
}

Value *HostEmitter::tripCount(const ir::Op &op) {
  Value *trips =
      lower::emitTripCount(builder, scalar(op.operand(0)), scalar(op.operand(1)),
                           scalar(op.operand(2)), ir::isSigned(type(op.operand(0)).element()));
  return builder.CreateZExt(trips, i64);
}

void HostEmitter::emitFor(const Step &step) {
  const ir::Op &op = *step.op;
  LoopFrame frame = enterLoop(op, 3, 1);
  Value *low = scalar(op.operand(0)), *stride = scalar(op.operand(2));
  Value *trips = tripCount(op);
  llvm::BasicBlock *before = builder.GetInsertBlock(), *loop = newBlock("for");
  llvm::BasicBlock *empty = newBlock("empty");
  builder.CreateCondBr(builder.CreateICmpEQ(trips, index(0)), empty, loop);
  builder.SetInsertPoint(empty);
  for (const BufferId buffer : step.zeros)
    emitFill(buffer, llvm::Constant::getNullValue(memoryType(plan.buffers[buffer.index()].type)));
  builder.CreateBr(frame.exit);
  builder.SetInsertPoint(loop);
  llvm::PHINode *trip = builder.CreatePHI(i64, 2);
  llvm::PHINode *current = builder.CreatePHI(low->getType(), 2);
  trip->addIncoming(index(0), before);
  current->addIncoming(low, before);
  setScalar(op.regions[0].arguments[0], current);
  readCarried(op, frame, 1);
  frame.trip = trip;
  frame.trips = trips;
  loops_.push_back(frame);
  emitBlock(op.regions[0]);
  loops_.pop_back();
  writeCarried(frame, yieldOf(op.regions[0]).operands);
  Value *next = builder.CreateNUWAdd(trip, index(1));
  trip->addIncoming(next, builder.GetInsertBlock());
  current->addIncoming(builder.CreateAdd(current, stride), builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpULT(next, trips), loop, frame.exit);
  leaveLoop(op, frame);
}

Value *HostEmitter::isLastTrip() {
  const LoopFrame &loop = loops_.back();
  return builder.CreateICmpEQ(builder.CreateNUWAdd(loop.trip, index(1)), loop.trips);
}

void HostEmitter::emitWhile(const ir::Op &op) {
  const LoopFrame frame = enterLoop(op, 0, 0);
  llvm::BasicBlock *loop = newBlock("while");
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  readCarried(op, frame, 0);
  loops_.push_back(frame);
  emitBlock(op.regions[0]);
  loops_.pop_back();
  writeCarried(frame, yieldOf(op.regions[0]).operands);
  builder.CreateBr(loop);
  leaveLoop(op, frame);
}

void HostEmitter::emitBreakIf(const ir::Op &op) {
  llvm::BasicBlock *leaves = newBlock("leaves"), *stays = newBlock("stays");
  builder.CreateCondBr(scalar(op.operand(0)), leaves, stays);
  builder.SetInsertPoint(leaves);
  const LoopFrame &frame = loops_.back();
  emitSteps(plan.leaving.at(&op));
  writeCarried(frame, llvm::ArrayRef(op.operands).drop_front());
  builder.CreateBr(frame.exit);
  builder.SetInsertPoint(stays);
}

void HostEmitter::emitIf(const ir::Op &op) {
  LoopFrame frame{.op = &op, .carried = {}, .exit = newBlock("endif")};
  for (const ValueId result : op.results)
    frame.carried.push_back(isScalar(type(result)) ? newVariable(laneType(type(result))) : nullptr);
  llvm::BasicBlock *bodies[] = {newBlock("then"), newBlock("else")};
  builder.CreateCondBr(scalar(op.operand(0)), bodies[0], bodies[1]);
  for (size_t i = 0; i < 2; ++i) {
    builder.SetInsertPoint(bodies[i]);
    if (i < op.regions.size() && !op.regions[i].ops.empty()) {
      emitBlock(op.regions[i]);
      writeCarried(frame, yieldOf(op.regions[i]).operands);
    }
    builder.CreateBr(frame.exit);
  }
  leaveLoop(op, frame);
}

/// The nest of a store that a product does itself where it can.
void HostEmitter::emitUnlessStored(const Step &step) {
  Value *isStored = Body(*this, 1).placeOf(*step.nest.roots[0].op).isInside;
  if (step.storedBy->kind == OpKind::For)
    isStored =
        builder.CreateAnd(isStored, builder.CreateICmpNE(tripCount(*step.storedBy), index(0)));
  emitUnless(builder, isStored, [&] { emitNest(step.nest); });
}

} // namespace imbrex::host
