#include "backend/target/host/nest/control_flow.h"

namespace imbrex::host {
namespace {

/// Of one trip or more.
Carried emitLoop(llvm::IRBuilder<> &builder, llvm::Value *first, llvm::Value *end,
                 std::int64_t step, llvm::ArrayRef<llvm::Value *> initial, LoopBody body) {
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::Function *function = before->getParent();
  auto *loop = llvm::BasicBlock::Create(builder.getContext(), "loop", function);
  builder.CreateBr(loop);

  builder.SetInsertPoint(loop);
  llvm::PHINode *index = builder.CreatePHI(builder.getInt64Ty(), 2);
  index->addIncoming(first, before);
  llvm::SmallVector<llvm::PHINode *, 16> phis;
  Carried carried;
  for (llvm::Value *value : initial) {
    phis.push_back(builder.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    carried.push_back(phis.back());
  }

  const Carried next = body(index, carried);
  llvm::Value *nextIndex =
      builder.CreateNUWAdd(index, builder.getInt64(static_cast<std::uint64_t>(step)));
  llvm::BasicBlock *latch = builder.GetInsertBlock();
  index->addIncoming(nextIndex, latch);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);

  auto *after = llvm::BasicBlock::Create(builder.getContext(), "after", function);
  builder.CreateCondBr(builder.CreateICmpULT(nextIndex, end), loop, after);
  builder.SetInsertPoint(after);
  return next;
}

} // namespace

Carried emitCountedLoop(llvm::IRBuilder<> &builder, llvm::Value *trips, std::int64_t step,
                        llvm::ArrayRef<llvm::Value *> initial, LoopBody body) {
  return emitLoop(builder, builder.getInt64(0), trips, step, initial, body);
}

Carried emitLoopFrom(llvm::IRBuilder<> &builder, llvm::Value *first, llvm::Value *end,
                     std::int64_t step, llvm::ArrayRef<llvm::Value *> initial, LoopBody body) {
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::Function *function = before->getParent();
  auto *enter = llvm::BasicBlock::Create(builder.getContext(), "enter", function);
  auto *after = llvm::BasicBlock::Create(builder.getContext(), "after", function);
  builder.CreateCondBr(builder.CreateICmpULT(first, end), enter, after);
  builder.SetInsertPoint(enter);
  Carried carried = emitLoop(builder, first, end, step, initial, body);
  llvm::BasicBlock *latch = builder.GetInsertBlock();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode *either = builder.CreatePHI(carried[i]->getType(), 2);
    either->addIncoming(initial[i], before);
    either->addIncoming(carried[i], latch);
    carried[i] = either;
  }
  return carried;
}

void emitUnless(llvm::IRBuilder<> &builder, llvm::Value *condition,
                llvm::function_ref<void()> body) {
  llvm::Function *function = builder.GetInsertBlock()->getParent();
  auto *otherwise = llvm::BasicBlock::Create(builder.getContext(), "otherwise", function);
  auto *after = llvm::BasicBlock::Create(builder.getContext(), "after", function);
  builder.CreateCondBr(condition, after, otherwise);
  builder.SetInsertPoint(otherwise);
  body();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

} // namespace imbrex::host
