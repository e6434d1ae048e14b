#include "backend/lower/combine.h"
#include "backend/lower/emit_ops.h"
#include "backend/lower/exchange.h"
#include "backend/support/check.h"

/// Atomics: each element by one thread that holds it, which then tells the others.
namespace imbrex::lower {

using ir::ElementKind;
using llvm::AtomicOrdering;
using llvm::Value;

namespace {

AtomicOrdering orderingOf(ir::MemoryOrder order) {
  switch (order) {
  case ir::MemoryOrder::Relaxed: return AtomicOrdering::Monotonic;
  case ir::MemoryOrder::Acquire: return AtomicOrdering::Acquire;
  case ir::MemoryOrder::Release: return AtomicOrdering::Release;
  case ir::MemoryOrder::AcquireRelease: return AtomicOrdering::AcquireRelease;
  }
  IMBREX_UNREACHABLE("an order that is none");
}

/// The order of the read when nothing is exchanged.
AtomicOrdering failureOrderingOf(AtomicOrdering order) {
  return llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order);
}

llvm::AtomicRMWInst::BinOp integerOpOf(ir::AtomicKind kind, bool isSigned) {
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

class AtomicEmitter {
public:
  AtomicEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), attrs_(op.attrs<ir::AtomicAttrs>()),
        element_(emitter.type(op.operand(1)).element()), ordering_(orderingOf(attrs_.order)),
        scope_(emitter.words.syncScope(emitter.context, attrs_.scope)),
        isCas_(op.kind == ir::OpKind::AtomicCas),
        alignment_(static_cast<std::uint64_t>(ir::storageBits(element_) / 8)) {}

  void run() {
    const ir::ValueId pointers = op_.operand(0);
    const ir::Type &type = e_.type(pointers);
    Value *const owner = e_.isOwner(pointers);
    const std::size_t maskOperand = isCas_ ? 3 : 2;
    Value *const nothing = llvm::Constant::getNullValue(e_.laneType(e_.type(op_.result())));
    Registers olds;
    for (std::size_t r = 0; r < e_.registerCount(pointers); ++r) {
      Value *inside =
          type.rank() > 0 ? e_.isInside(e_.layoutOf(pointers), type.shape(), r) : nullptr;
      Value *mask =
          op_.operands.size() > maskOperand ? e_.registers(op_.operand(maskOperand))[r] : nullptr;
      olds.push_back(e_.where(e_.allOf({owner, inside, mask}), nothing, [&] { return atomic(r); }));
    }
    e_.define(op_.result(), tell(std::move(olds)));
  }

private:
  Value *atomic(std::size_t r) {
    Value *address = e_.registers(op_.operand(0))[r], *value = e_.registers(op_.operand(1))[r];
    llvm::Type *const lane = value->getType();
    if (isCas_) return exchangeWhere(address, value, e_.registers(op_.operand(2))[r], lane);
    if (!ir::isFloat(element_) || attrs_.kind == ir::AtomicKind::Exchange) {
      Value *bits = bitsOf(value);
      return e_.b.CreateBitCast(
          e_.b.CreateAtomicRMW(integerOpOf(attrs_.kind, ir::isSigned(element_)), address, bits,
                               alignment_, ordering_, scope_),
          lane);
    }
    if (attrs_.kind == ir::AtomicKind::Add)
      return e_.b.CreateBitCast(e_.b.CreateAtomicRMW(llvm::AtomicRMWInst::FAdd, address,
                                                     e_.b.CreateBitCast(value, floatType()),
                                                     alignment_, ordering_, scope_),
                                lane);
    return retried(address, value);
  }

  llvm::Type *floatType() {
    if (element_ == ElementKind::F16) return e_.b.getHalfTy();
    if (element_ == ElementKind::BF16) return e_.b.getBFloatTy();
    return e_.laneType(ir::Type::tile(element_));
  }

  Value *bitsOf(Value *value) {
    return e_.b.CreateBitCast(value, e_.b.getIntNTy(value->getType()->getScalarSizeInBits()));
  }

  Value *exchangeWhere(Value *address, Value *expected, Value *desired, llvm::Type *lane) {
    Value *exchanged =
        e_.b.CreateAtomicCmpXchg(address, bitsOf(expected), bitsOf(desired), alignment_, ordering_,
                                 failureOrderingOf(ordering_), scope_);
    return e_.b.CreateBitCast(e_.b.CreateExtractValue(exchanged, 0), lane);
  }

  /// min and max of floats, which hardware orders otherwise than we do: compute the new value, and
  /// try again while another thread was faster.
  Value *retried(Value *address, Value *value) {
    llvm::Type *const lane = value->getType(), *const integer = bitsOf(value)->getType();
    llvm::LoadInst *first = e_.b.CreateAlignedLoad(integer, address, alignment_);
    first->setAtomic(AtomicOrdering::Monotonic, scope_);
    llvm::BasicBlock *const before = e_.b.GetInsertBlock(), *const loop = e_.newBlock("try");
    llvm::BasicBlock *const after = e_.newBlock("done");
    e_.b.CreateBr(loop);
    e_.b.SetInsertPoint(loop);
    llvm::PHINode *old = e_.b.CreatePHI(integer, 2);
    old->addIncoming(first, before);
    const bool isMax = attrs_.kind == ir::AtomicKind::Max;
    Value *combined = emitCombine(e_.b, isMax ? ir::Combine::Max : ir::Combine::Min, element_,
                                  e_.b.CreateBitCast(old, lane), value, e_.natives);
    Value *exchanged = e_.b.CreateAtomicCmpXchg(address, old, bitsOf(combined), alignment_,
                                                ordering_, failureOrderingOf(ordering_), scope_);
    old->addIncoming(e_.b.CreateExtractValue(exchanged, 0), e_.b.GetInsertBlock());
    e_.b.CreateCondBr(e_.b.CreateExtractValue(exchanged, 1), after, loop);
    e_.b.SetInsertPoint(after);
    return e_.b.CreateBitCast(old, lane);
  }

  /// From the threads that did it to those with copies.
  Registers tell(Registers olds) {
    std::int64_t copies = e_.kernel.threads().count() - 1;
    if (e_.kernel.layoutOf(op_.result()).valid()) {
      const layout::LinearLayout &layout = e_.layoutOf(op_.result());
      copies = static_cast<std::int64_t>(copyBits(layout, layout::Dim::Lane) |
                                         copyBits(layout, layout::Dim::Warp)
                                             << layout.inputBits(layout::Dim::Lane));
    }
    const bool isUsed = e_.uses(op_.result()) > 0;
    if (copies == 0 || !isUsed) return olds;
    Value *owner = e_.b.CreateAnd(e_.thread(), e_.i32(~copies));
    Registers told;
    for (const Registers &ofThread : fetchFromThreads(e_, olds, owner)) told.push_back(ofThread[0]);
    return told;
  }

  Emitter &e_;
  const ir::Op &op_;
  const ir::AtomicAttrs &attrs_;
  ElementKind element_;
  AtomicOrdering ordering_;
  llvm::SyncScope::ID scope_;
  bool isCas_;
  llvm::Align alignment_;
};

} // namespace

void emitAtomic(Emitter &e, const ir::Op &op) { AtomicEmitter(e, op).run(); }

} // namespace imbrex::lower
