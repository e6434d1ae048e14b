#include "backend/lower/memory/atomics.h"

#include "backend/support/check.h"

namespace imbrex::lower {

using llvm::AtomicOrdering;
using llvm::BasicBlock;
using llvm::Value;

namespace {

llvm::AtomicRMWInst::BinOp operationOf(ir::AtomicKind kind, bool isSigned) {
  using Op = llvm::AtomicRMWInst;
  switch (kind) {
  case ir::AtomicKind::Add: return Op::Add;
  case ir::AtomicKind::Min: return isSigned ? Op::Min : Op::UMin;
  case ir::AtomicKind::Max: return isSigned ? Op::Max : Op::UMax;
  case ir::AtomicKind::And: return Op::And;
  case ir::AtomicKind::Or: return Op::Or;
  case ir::AtomicKind::Xor: return Op::Xor;
  case ir::AtomicKind::Exchange: return Op::Xchg;
  }
  IMBREX_UNREACHABLE("an atomic that is none");
}

} // namespace

AtomicOrdering orderingOf(ir::MemoryOrder order) {
  switch (order) {
  case ir::MemoryOrder::Relaxed: return AtomicOrdering::Monotonic;
  case ir::MemoryOrder::Acquire: return AtomicOrdering::Acquire;
  case ir::MemoryOrder::Release: return AtomicOrdering::Release;
  case ir::MemoryOrder::AcquireRelease: return AtomicOrdering::AcquireRelease;
  }
  IMBREX_UNREACHABLE("an order that is none");
}

Value *emitAtomicUpdate(llvm::IRBuilder<> &builder, const AtomicPlace &place, ir::AtomicKind kind,
                        bool isSigned, Value *bits) {
  return builder.CreateAtomicRMW(operationOf(kind, isSigned), place.address, bits, place.alignment,
                                 place.ordering, place.scope);
}

CompareExchangeResult emitCompareExchange(llvm::IRBuilder<> &builder, const AtomicPlace &place,
                                          Value *expected, Value *desired) {
  const AtomicOrdering failure =
      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(place.ordering);
  Value *both = builder.CreateAtomicCmpXchg(place.address, expected, desired, place.alignment,
                                            place.ordering, failure, place.scope);
  return {builder.CreateExtractValue(both, 0), builder.CreateExtractValue(both, 1)};
}

Value *emitAtomicLoop(llvm::IRBuilder<> &builder, const AtomicPlace &place, llvm::IntegerType *type,
                      llvm::function_ref<Value *(Value *old)> compute) {
  llvm::LoadInst *first = builder.CreateAlignedLoad(type, place.address, place.alignment);
  first->setAtomic(AtomicOrdering::Monotonic, place.scope);
  BasicBlock *const before = builder.GetInsertBlock();
  const auto newBlock = [&](const char *name) {
    return BasicBlock::Create(builder.getContext(), name, before->getParent());
  };
  BasicBlock *const loop = newBlock("try"), *const after = newBlock("done");
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode *old = builder.CreatePHI(type, 2);
  old->addIncoming(first, before);
  const CompareExchangeResult exchanged = emitCompareExchange(builder, place, old, compute(old));
  old->addIncoming(exchanged.old, builder.GetInsertBlock());
  builder.CreateCondBr(exchanged.isDone, after, loop);
  builder.SetInsertPoint(after);
  return old;
}

} // namespace imbrex::lower
