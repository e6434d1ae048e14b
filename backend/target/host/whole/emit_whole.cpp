#include "backend/support/check.h"
#include "backend/target/host/nest/body.h"
#include "backend/target/host/whole/key_rule.h"
#include "backend/target/host/whole/whole.h"

#include <algorithm>

namespace imbrex::host {

using ir::OpKind;
using llvm::Value;

AxisSplit cutAt(const ir::Shape &shape, std::int32_t axis) {
  AxisSplit cut;
  for (std::int32_t i = 0; i < shape.rank(); ++i)
    (i < axis ? cut.outer : i == axis ? cut.along : cut.inner) *= shape[i];
  return cut;
}

void HostEmitter::emitWhole(const Step &step) {
  WholeEmitter(*this, step).emit();
  for (const ir::ValueId result : step.op->results) setReady(result);
}

void WholeEmitter::emit() {
  if (op_.kind == OpKind::Dot) return emitDot();
  if (op_.kind == OpKind::Reduce) return emitTreeReduce();
  if (op_.kind == OpKind::Scan) return emitScan();
  if (op_.kind == OpKind::Sort) return emitSort();
  if (op_.kind == OpKind::Histogram) return emitHistogram();
  if (op_.kind == OpKind::AtomicRmw || op_.kind == OpKind::AtomicCas) return emitAtomic();
  if (op_.kind == OpKind::Print) return emitPrint();
  if (op_.kind == OpKind::Assert) return emitAssert();
  IMBREX_CHECK(op_.kind == OpKind::InlineAsm, "'{0}' does not take whole tiles",
               info(op_.kind).mnemonic);
  emitInlineAsm();
}

// --- elements ---

WholeEmitter::Tile WholeEmitter::tile(ir::ValueId value) {
  const ir::Type &type = f_.type(value);
  if (type.rank() == 0) return {type, nullptr, f_.scalar(value)};
  const BufferId buffer = f_.plan.bufferOf[value.index()];
  return {type, buffer.valid() ? f_.bufferAddress(buffer) : nullptr, nullptr};
}

Value *WholeEmitter::element(const Tile &tile, Value *index, std::int32_t lanes) {
  if (!tile.address) return tile.scalar;
  llvm::Type *memory = f_.memoryType(tile.type);
  llvm::Type *type = memory;
  if (lanes > 1) type = llvm::FixedVectorType::get(memory, static_cast<unsigned>(lanes));
  const auto bytes = static_cast<std::uint64_t>(scratchElementBytes(tile.type));
  Value *loaded =
      b_.CreateAlignedLoad(type, b_.CreateGEP(memory, tile.address, index), llvm::Align(bytes));
  if (f_.laneType(tile.type) != f_.i1) return loaded;
  return b_.CreateICmpNE(loaded, llvm::Constant::getNullValue(type));
}

void WholeEmitter::setElement(const Tile &tile, Value *index, Value *value) {
  if (!tile.address) return;
  llvm::Type *memory = f_.memoryType(tile.type);
  if (f_.laneType(tile.type) == f_.i1)
    value = b_.CreateZExt(value, lanesLike(value->getType(), f_.i8));
  const auto bytes = static_cast<std::uint64_t>(scratchElementBytes(tile.type));
  b_.CreateAlignedStore(value, b_.CreateGEP(memory, tile.address, index), llvm::Align(bytes));
}

void WholeEmitter::forEachElement(const std::function<void(Value *)> &body) {
  f_.emitLoop(elements(), body);
}

void WholeEmitter::whereOn(std::optional<size_t> mask, Value *index,
                           const std::function<void()> &body) {
  if (!mask) return body();
  llvm::BasicBlock *on = f_.newBlock("on"), *after = f_.newBlock("after");
  b_.CreateCondBr(element(tile(op_.operand(*mask)), index), on, after);
  b_.SetInsertPoint(on);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void WholeEmitter::setScalarResult(size_t result, Value *value) {
  f_.setScalar(op_.result(result), value);
}

std::int32_t WholeEmitter::lanesFor(std::int64_t inner) {
  std::int32_t bits = 8;
  for (const ir::ValueId operand : op_.operands)
    bits = std::max(bits, storageBits(f_.type(operand).element()));
  return static_cast<std::int32_t>(std::gcd<std::int64_t>(inner, f_.unit.lanes(bits)));
}

// --- along an axis ---

/// One step of a reduction or scan on as many lanes as the values have. A combine region is emitted
/// where it is used, its arguments being the lanes.
llvm::SmallVector<Value *, 4> WholeEmitter::combine(llvm::ArrayRef<Value *> a,
                                                    llvm::ArrayRef<Value *> b) {
  const ir::Combine kind = op_.kind == OpKind::Reduce ? op_.attrs<ir::ReduceAttrs>().combine
                                                      : op_.attrs<ir::ScanAttrs>().combine;
  if (kind != ir::Combine::Region)
    return {emitCombine(b_, kind, f_.type(op_.operand(0)).element(), a[0], b[0], f_.natives)};
  const ir::Block &region = op_.regions[0];
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(a[0]->getType());
  const auto lanes = vector ? static_cast<std::int32_t>(vector->getNumElements()) : 1;
  Body body(f_, lanes);
  const PointId nowhere = body.intern({});
  for (size_t i = 0; i < region.arguments.size(); ++i)
    body.bind(region.arguments[i], nowhere,
              {.value = i < a.size() ? a[i] : b[i - a.size()], .isVector = lanes > 1});
  llvm::SmallVector<Value *, 4> results;
  for (const ir::ValueId yielded : region.ops.back()->operands)
    results.push_back(body.readVector(yielded, nowhere));
  return results;
}

/// A pairwise tree over the index, level by level: (0,1), (2,3), …; an odd last element passes
/// through. The first level reads the operands and writes half as many elements aside.
void WholeEmitter::emitTreeReduce() {
  const AxisSplit cut = cutAt(f_.type(op_.operand(0)).shape(), op_.attrs<ir::ReduceAttrs>().axis);
  const std::int32_t lanes = lanesFor(cut.inner);
  const size_t count = op_.operands.size();
  std::vector<Tile> sources, partial;
  for (const ir::ValueId operand : op_.operands) {
    sources.push_back(tile(operand));
    const std::int64_t bytes = scratchElementBytes(f_.type(operand));
    partial.push_back(
        {f_.type(operand), f_.scratch((cut.along + 1) / 2 * cut.inner * bytes), nullptr});
  }
  const auto at = [&](Value *row, Value *inner, Value *base) {
    return b_.CreateAdd(b_.CreateAdd(base, b_.CreateMul(row, f_.index(cut.inner))), inner);
  };
  const auto load = [&](const std::vector<Tile> &from, Value *index) {
    llvm::SmallVector<Value *, 4> values;
    for (const Tile &tile : from) values.push_back(element(tile, index, lanes));
    return values;
  };
  const auto store = [&](Value *index, llvm::ArrayRef<Value *> values) {
    for (size_t i = 0; i < count; ++i) setElement(partial[i], index, values[i]);
  };
  const auto level = [&](const std::vector<Tile> &from, Value *base, std::int64_t length) {
    const auto forInner = [&](const std::function<void(Value *)> &body) {
      f_.emitLoop(cut.inner / lanes, [&](Value *i) { body(b_.CreateMul(i, f_.index(lanes))); });
    };
    if (length > 1)
      f_.emitLoop(length / 2, [&](Value *pair) {
        Value *left = b_.CreateMul(pair, f_.index(2)), *right = b_.CreateAdd(left, f_.index(1));
        forInner([&](Value *inner) {
          store(at(pair, inner, f_.index(0)),
                combine(load(from, at(left, inner, base)), load(from, at(right, inner, base))));
        });
      });
    if (length % 2 == 1)
      forInner([&](Value *inner) {
        store(at(f_.index(length / 2), inner, f_.index(0)),
              load(from, at(f_.index(length - 1), inner, base)));
      });
  };
  f_.emitLoop(cut.outer, [&](Value *outer) {
    level(sources, b_.CreateMul(outer, f_.index(cut.along * cut.inner)), cut.along);
    for (std::int64_t length = (cut.along + 1) / 2; length > 1; length = (length + 1) / 2)
      level(partial, f_.index(0), length);
    f_.emitLoop(cut.inner / lanes, [&](Value *i) {
      Value *inner = b_.CreateMul(i, f_.index(lanes));
      const auto values = load(partial, inner);
      Value *to = b_.CreateAdd(b_.CreateMul(outer, f_.index(cut.inner)), inner);
      for (size_t result = 0; result < count; ++result)
        if (f_.type(op_.result(result)).rank() == 0)
          setScalarResult(result, values[result]);
        else
          setElement(tile(op_.result(result)), to, values[result]);
    });
  });
}

Value *WholeEmitter::pointerArray(llvm::ArrayRef<Value *> pointers) {
  auto *array = f_.newVariable(llvm::ArrayType::get(f_.pointer, pointers.size()), "pointers");
  for (size_t i = 0; i < pointers.size(); ++i)
    b_.CreateStore(pointers[i], b_.CreateConstGEP1_64(f_.pointer, array, i));
  return array;
}

/// Where the code has it.
llvm::Constant *WholeEmitter::keyRule(const launching::KeyRule &rule) {
  auto *content = llvm::ConstantStruct::getAnon(
      {b_.getInt64(rule.mask), b_.getInt64(rule.nanMask), b_.getInt64(rule.nanLeast),
       b_.getInt64(rule.nanMost), b_.getInt64(rule.nanKey), b_.getInt32(rule.form),
       b_.getInt32(rule.isDescending)});
  return new llvm::GlobalVariable(f_.module, content->getType(), true,
                                  llvm::GlobalValue::PrivateLinkage, content, "order");
}

/// Copy the operands into the results' buffers and sort them there.
void WholeEmitter::emitSort() {
  const auto &attrs = op_.attrs<ir::SortAttrs>();
  const ir::Type &keys = f_.type(op_.operand(0));
  const AxisSplit cut = cutAt(keys.shape(), attrs.axis);
  std::vector<Value *> buffers;
  llvm::SmallVector<llvm::Constant *, 4> sizes;
  for (size_t i = 0; i < op_.operands.size(); ++i) {
    const std::int64_t size = scratchElementBytes(f_.type(op_.operand(i)));
    const auto bytes = static_cast<std::uint64_t>(size * keys.shape().elements());
    Value *to = tile(op_.result(i)).address;
    if (!to) to = f_.scratch(static_cast<std::int64_t>(bytes));
    const llvm::Align alignment(static_cast<std::uint64_t>(size));
    b_.CreateMemCpy(to, alignment, tile(op_.operand(i)).address, alignment, bytes);
    buffers.push_back(to);
    sizes.push_back(f_.index(size));
  }
  auto *table = new llvm::GlobalVariable(
      f_.module, llvm::ArrayType::get(f_.i64, sizes.size()), true,
      llvm::GlobalValue::PrivateLinkage,
      llvm::ConstantArray::get(llvm::ArrayType::get(f_.i64, sizes.size()), sizes), "sizes");
  const auto function =
      f_.runtimeFunction("imbrex_host_sort", b_.getVoidTy(),
                         {f_.pointer, f_.i64, f_.i64, f_.i64, f_.i32, f_.pointer, f_.pointer});
  b_.CreateCall(function, {keyRule(keyRuleOf(keys.element(), attrs.descending)),
                           f_.index(cut.outer), f_.index(cut.along), f_.index(cut.inner),
                           b_.getInt32(static_cast<std::uint32_t>(buffers.size())),
                           pointerArray(buffers), table});
}

void WholeEmitter::emitHistogram() {
  const ir::Type &values = f_.type(op_.operand(0));
  const Tile counts = tile(op_.result());
  if (!counts.address) return;
  const std::int64_t bins = f_.type(op_.result()).shape()[0];
  f_.emitFill(f_.plan.bufferOf[op_.result().index()],
              llvm::Constant::getNullValue(f_.memoryType(counts.type)));
  const std::optional<size_t> mask =
      op_.operands.size() > 1 ? std::optional<size_t>(1) : std::nullopt;
  forEachElement([&](Value *index) {
    whereOn(mask, index, [&] {
      Value *bin = emitCast(b_, values.element(), ir::ElementKind::I64, {},
                            element(tile(op_.operand(0)), index), f_.natives);
      // A negative number is beyond every bin as an unsigned one.
      llvm::BasicBlock *inside = f_.newBlock("inside"), *after = f_.newBlock("after");
      b_.CreateCondBr(b_.CreateICmpULT(bin, f_.index(bins)), inside, after);
      b_.SetInsertPoint(inside);
      Value *old = element(counts, bin);
      setElement(counts, bin, b_.CreateAdd(old, llvm::ConstantInt::get(old->getType(), 1)));
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    });
  });
}

} // namespace imbrex::host
