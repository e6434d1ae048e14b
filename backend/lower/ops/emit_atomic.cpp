#include "backend/lower/memory/atomics.h"
#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/combine.h"

/// Atomics: each element by one thread that holds it, which then tells the others.
namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

namespace {

class AtomicEmitter {
public:
  AtomicEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), attrs_(op.attrs<ir::AtomicAttrs>()),
        element_(emitter.type(op.operand(1)).element()), isCas_(op.kind == ir::OpKind::AtomicCas) {}

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
    Value *value = e_.registers(op_.operand(1))[r];
    return e_.b.CreateBitCast(isCas_ ? exchange(r) : update(placeOf(r), value), value->getType());
  }

  AtomicPlace placeOf(std::size_t r) {
    return {.address = e_.registers(op_.operand(0))[r],
            .alignment = llvm::Align(static_cast<std::uint64_t>(ir::storageBits(element_) / 8)),
            .ordering = orderingOf(attrs_.order),
            .scope = e_.words.syncScope(e_.context, attrs_.scope)};
  }

  llvm::IntegerType *bitsOf(llvm::Type *type) {
    return e_.b.getIntNTy(type->getScalarSizeInBits());
  }
  Value *bitsOf(Value *value) { return e_.b.CreateBitCast(value, bitsOf(value->getType())); }

  Value *exchange(std::size_t r) {
    Value *expected = e_.registers(op_.operand(1))[r], *desired = e_.registers(op_.operand(2))[r];
    return emitCompareExchange(e_.b, placeOf(r), bitsOf(expected), bitsOf(desired)).old;
  }

  Value *update(const AtomicPlace &place, Value *value) {
    if (!ir::isFloat(element_) || attrs_.kind == ir::AtomicKind::Exchange)
      return emitAtomicUpdate(e_.b, place, attrs_.kind, ir::isSigned(element_), bitsOf(value));
    if (attrs_.kind == ir::AtomicKind::Add)
      return e_.b.CreateAtomicRMW(llvm::AtomicRMWInst::FAdd, place.address,
                                  e_.b.CreateBitCast(value, floatType()), place.alignment,
                                  place.ordering, place.scope);
    // min and max of floats, which hardware orders otherwise than we do
    const bool isMax = attrs_.kind == ir::AtomicKind::Max;
    return emitAtomicLoop(e_.b, place, bitsOf(value->getType()), [&](Value *old) {
      return bitsOf(emitCombine(e_.b, isMax ? ir::Combine::Max : ir::Combine::Min, element_,
                                e_.b.CreateBitCast(old, value->getType()), value, e_.natives));
    });
  }

  llvm::Type *floatType() {
    if (element_ == ElementKind::F16) return e_.b.getHalfTy();
    if (element_ == ElementKind::BF16) return e_.b.getBFloatTy();
    return e_.laneType(ir::Type::tile(element_));
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
  bool isCas_;
};

} // namespace

void emitAtomic(Emitter &e, const ir::Op &op) { AtomicEmitter(e, op).run(); }

} // namespace imbrex::lower
