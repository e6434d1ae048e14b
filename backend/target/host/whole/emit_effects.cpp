#include "backend/lower/memory/atomics.h"
#include "backend/lower/values/inline_assembly.h"
#include "backend/support/check.h"
#include "backend/target/host/whole/whole.h"

/// Atomics, print, assert, inline assembly: element by element, in order.
namespace imbrex::host {

using ir::ElementKind;
using llvm::Value;
using lower::AtomicPlace;
using lower::emitAtomicLoop;
using lower::emitAtomicUpdate;
using lower::emitCompareExchange;

namespace {

ir::Combine combineOf(ir::AtomicKind kind) {
  if (kind == ir::AtomicKind::Min) return ir::Combine::Min;
  if (kind == ir::AtomicKind::Max) return ir::Combine::Max;
  IMBREX_CHECK(kind == ir::AtomicKind::Add, "floats have no bits to combine");
  return ir::Combine::Sum;
}

AtomicPlace placeOf(Value *address, Value *bits, ir::MemoryOrder order) {
  return {.address = address,
          .alignment = llvm::Align(bits->getType()->getScalarSizeInBits() / 8),
          .ordering = lower::orderingOf(order)};
}

} // namespace

void WholeEmitter::emitAtomic() {
  const bool isCas = op_.kind == ir::OpKind::AtomicCas;
  const size_t values = isCas ? 2 : 1;
  const std::optional<size_t> mask =
      op_.operands.size() > values + 1 ? std::optional(values + 1) : std::nullopt;
  const Tile result = tile(op_.result());
  llvm::Type *lane = f_.laneType(result.type.withShape({}));
  llvm::Type *integer = llvm::IntegerType::get(f_.context, lane->getScalarSizeInBits());
  llvm::AllocaInst *old = f_.newVariable(integer, "old");
  forEachElement([&](Value *index) {
    b_.CreateStore(llvm::Constant::getNullValue(integer), old);
    whereOn(mask, index, [&] {
      Value *address = b_.CreateIntToPtr(element(tile(op_.operand(0)), index), f_.pointer);
      const auto bits = [&](size_t operand) {
        return b_.CreateBitCast(element(tile(op_.operand(operand)), index), integer);
      };
      b_.CreateStore(isCas ? atomicCas(address, bits(1), bits(2)) : atomicRmw(address, bits(1)),
                     old);
    });
    Value *before = b_.CreateBitCast(b_.CreateLoad(integer, old), lane);
    if (result.type.rank() == 0)
      f_.setScalar(op_.result(), before);
    else
      setElement(result, index, before);
  });
}

Value *WholeEmitter::atomicRmw(Value *address, Value *bits) {
  const auto &attrs = op_.attrs<ir::AtomicAttrs>();
  const ElementKind element = f_.type(op_.operand(1)).element();
  if (isFloat(element) && attrs.kind != ir::AtomicKind::Exchange)
    return atomicLoop(address, bits, element);
  return emitAtomicUpdate(b_, placeOf(address, bits, attrs.order), attrs.kind, isSigned(element),
                          bits);
}

/// What the CPU cannot do at once.
Value *WholeEmitter::atomicLoop(Value *address, Value *bits, ElementKind element) {
  const auto &attrs = op_.attrs<ir::AtomicAttrs>();
  llvm::Type *lane = f_.laneType(ir::Type::tile(element));
  auto *const integer = llvm::cast<llvm::IntegerType>(bits->getType());
  return emitAtomicLoop(b_, placeOf(address, bits, attrs.order), integer, [&](Value *old) {
    Value *combined = emitCombine(b_, combineOf(attrs.kind), element, b_.CreateBitCast(old, lane),
                                  b_.CreateBitCast(bits, lane), f_.natives);
    return b_.CreateBitCast(combined, integer);
  });
}

Value *WholeEmitter::atomicCas(Value *address, Value *expected, Value *desired) {
  const AtomicPlace place = placeOf(address, expected, op_.attrs<ir::AtomicAttrs>().order);
  return emitCompareExchange(b_, place, expected, desired).old;
}

/// Hand the operands' elements to a function of the runtime: scalars by a variable of their own.
void WholeEmitter::emitPrint() {
  std::vector<Value *> addresses;
  for (const ir::ValueId operand : op_.operands) {
    Tile printed = tile(operand);
    if (!printed.address) {
      printed.address = f_.newVariable(f_.memoryType(printed.type), "printed");
      setElement(printed, f_.index(0), printed.scalar);
    }
    addresses.push_back(printed.address);
  }
  const auto function =
      f_.runtimeFunction("imbrex_host_print", b_.getVoidTy(),
                         {f_.pointer, f_.i32, f_.i32, f_.i32, f_.i32, f_.pointer});
  b_.CreateCall(function, {f_.launch(), f_.site(op_), f_.programId(0), f_.programId(1),
                           f_.programId(2), pointerArray(addresses)});
}

void WholeEmitter::emitAssert() {
  const auto check = [&](Value *condition, Value *index) {
    llvm::BasicBlock *fails = f_.newBlock("fails"), *holds = f_.newBlock("holds");
    b_.CreateCondBr(condition, holds, fails);
    b_.SetInsertPoint(fails);
    const auto function = f_.runtimeFunction("imbrex_host_fail", b_.getVoidTy(),
                                             {f_.pointer, f_.i32, f_.i32, f_.i32, f_.i32, f_.i64});
    b_.CreateCall(function, {f_.launch(), f_.site(op_), f_.programId(0), f_.programId(1),
                             f_.programId(2), index});
    b_.CreateBr(f_.stopBlock());
    b_.SetInsertPoint(holds);
  };
  forEachElement([&](Value *index) { check(element(tile(op_.operand(0)), index), index); });
}

void WholeEmitter::emitInlineAsm() {
  llvm::InlineAsm *code = lower::assemblyOf(f_.context, f_.kernel, op_);
  std::int64_t count = 1;
  for (const ir::ValueId value : op_.operands)
    count = std::max(count, f_.type(value).shape().elements());
  for (const ir::ValueId value : op_.results)
    count = std::max(count, f_.type(value).shape().elements());
  f_.emitLoop(count, [&](Value *index) {
    std::vector<Value *> operands;
    for (const ir::ValueId operand : op_.operands)
      operands.push_back(element(tile(operand), index));
    Value *called = b_.CreateCall(code, operands);
    for (size_t i = 0; i < op_.results.size(); ++i) {
      Value *value = op_.results.size() == 1
                         ? called
                         : b_.CreateExtractValue(called, static_cast<unsigned>(i));
      if (f_.type(op_.result(i)).rank() == 0)
        f_.setScalar(op_.result(i), value);
      else
        setElement(tile(op_.result(i)), index, value);
    }
  });
}

} // namespace imbrex::host
