#include "backend/target/host/nest/nest_emitter.h"

#include <algorithm>
#include <numeric>

/// Reductions inside a nest.
namespace imbrex::host {

using llvm::Value;

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
    Value *wideIndex = body_.vector(c);
    index = b_.CreateTrunc(wideIndex, lanesLike(wideIndex->getType(), f_.i32));
  }
  Value *value = emitCast(b_, element, wide, {}, body_.vector(lanes), f_.natives);
  if (isAlongInner(root)) {
    const auto found = std::ranges::find(accumulators_, &root, &Accumulator::root);
    llvm::AllocaInst *to = copy < 0 ? found->restValue : found->values[static_cast<size_t>(copy)];
    if (!index) {
      Value *old = b_.CreateLoad(to->getAllocatedType(), to);
      b_.CreateStore(emitAccumulate(b_, attrs.combine, wide, old, value, f_.natives), to);
      return [] {};
    }
    llvm::AllocaInst *toIndex =
        copy < 0 ? found->restIndex : found->indices[static_cast<size_t>(copy)];
    const ValueWithIndex old{b_.CreateLoad(to->getAllocatedType(), to),
                             b_.CreateLoad(toIndex->getAllocatedType(), toIndex)};
    const ValueWithIndex best =
        emitCombineArg(b_, attrs.combine, wide, old, {value, index}, f_.natives);
    b_.CreateStore(best.value, to);
    b_.CreateStore(best.index, toIndex);
    return [] {};
  }

  const PointId into = withoutAxis(at, attrs.axis);
  const auto bufferOf = [&](size_t result) {
    return f_.plan.bufferOf[root.op->result(result).index()];
  };
  const auto load = [&](BufferId buffer) {
    return body_.vector(
        body_.loadBuffer(f_.plan.buffers[buffer.index()], f_.bufferAddress(buffer), into));
  };
  const auto store = [&](BufferId buffer, Value *x) {
    body_.storeBuffer(
        f_.plan.buffers[buffer.index()], f_.bufferAddress(buffer), into,
        {.value = x, .isVector = x->getType()->isVectorTy(), .depth = body_.innermost()});
  };
  if (!index) {
    store(bufferOf(0),
          emitAccumulate(b_, attrs.combine, element, load(bufferOf(0)), value, f_.natives));
  } else {
    const ValueWithIndex old{load(bufferOf(0)), load(bufferOf(1))};
    const ValueWithIndex best =
        emitCombineArg(b_, attrs.combine, element, old, {value, index}, f_.natives);
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
ValueWithIndex NestEmitter::acrossLanes(const Accumulator &accumulator, ValueWithIndex value) {
  const ir::Combine combine = reduction(*accumulator.root).combine;
  for (std::int32_t lanes = shape_.width; lanes > 1; lanes /= 2) {
    llvm::SmallVector<int, 32> low(static_cast<size_t>(lanes / 2)), high(low.size());
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), lanes / 2);
    const auto half = [&](Value *x, llvm::ArrayRef<int> mask) {
      return x ? b_.CreateShuffleVector(x, mask) : nullptr;
    };
    const ValueWithIndex a{half(value.value, low), half(value.index, low)};
    const ValueWithIndex b{half(value.value, high), half(value.index, high)};
    value = a.index ? emitCombineArg(b_, combine, accumulator.element, a, b, f_.natives)
                    : ValueWithIndex{emitCombine(b_, combine, accumulator.element, a.value, b.value,
                                                 f_.natives),
                                     nullptr};
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
  const auto combine = [&](const ValueWithIndex &a, const ValueWithIndex &b) {
    if (a.index) return emitCombineArg(b_, attrs.combine, accumulator.element, a, b, f_.natives);
    return ValueWithIndex{
        emitCombine(b_, attrs.combine, accumulator.element, a.value, b.value, f_.natives), nullptr};
  };
  const auto at = [&](size_t copy) {
    return ValueWithIndex{load(accumulator.values[copy]),
                          accumulator.indices.empty() ? nullptr : load(accumulator.indices[copy])};
  };
  // Pairs first, so that few steps depend on each other.
  std::vector<ValueWithIndex> parts;
  for (size_t copy = 0; copy < accumulator.values.size(); ++copy) parts.push_back(at(copy));
  while (parts.size() > 1) {
    std::vector<ValueWithIndex> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(combine(parts[i], parts[i + 1]));
    if (parts.size() % 2 == 1) next.push_back(parts.back());
    parts = std::move(next);
  }
  ValueWithIndex result = acrossLanes(accumulator, parts[0]);
  result = combine(result, {load(accumulator.restValue), load(accumulator.restIndex)});
  const ir::ElementKind element = f_.type(op.operand(0)).element();
  result.value = emitCast(b_, accumulator.element, element, {}, result.value, f_.natives);
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
                    {.value = value, .depth = body_.innermost()});
}

} // namespace imbrex::host
