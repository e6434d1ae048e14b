#include "backend/support/check.h"
#include "backend/target/host/nest/body.h"

#include <algorithm>

/// Loads and stores of lanes: one vector access where the lanes are neighbours, one element where
/// they are the same, else a gather or scatter.
namespace imbrex::host {

using llvm::Value;

namespace {

std::int64_t bytesOf(llvm::Type *memory) { return memory->getScalarSizeInBits() / 8; }
llvm::Align alignmentOf(llvm::Type *memory) {
  return llvm::Align(static_cast<std::uint64_t>(bytesOf(memory)));
}

} // namespace

/// An address that may be accessed whatever the mask says.
Value *Body::guarded(Value *address, Value *mask, llvm::Type *memory) {
  if (!mask) return address;
  return b_.CreateSelect(mask, address, f_.newVariable(memory, "unused"));
}

Value *Body::readOne(llvm::Type *memory, Value *address, Value *mask) {
  return b_.CreateAlignedLoad(memory, guarded(address, mask, memory), alignmentOf(memory));
}

/// Lanes that the mask turns off get `off`, or 0.
Value *Body::readMany(llvm::Type *memory, const Access &access, Value *off) {
  const auto lanes = static_cast<unsigned>(width_);
  auto *vectorType = llvm::FixedVectorType::get(memory, lanes);
  Value *mask = access.mask.value ? vector(access.mask) : nullptr;
  if (!off) off = llvm::Constant::getNullValue(vectorType);
  const std::int64_t bytes = bytesOf(memory);
  const bool isReversed = !access.address.isVector && access.address.step == -bytes;
  if (!access.address.isVector && (access.address.step == bytes || isReversed)) {
    Value *first = access.address.value;
    llvm::SmallVector<int, 64> reverse;
    for (std::int32_t lane = width_; lane-- > 0;) reverse.push_back(lane);
    if (isReversed) {
      first = b_.CreatePtrAdd(first, f_.index(-bytes * (width_ - 1)));
      if (mask) mask = b_.CreateShuffleVector(mask, reverse);
      if (mask) off = b_.CreateShuffleVector(off, reverse);
    }
    Value *loaded = mask ? static_cast<Value *>(b_.CreateMaskedLoad(vectorType, first,
                                                                    alignmentOf(memory), mask, off))
                         : b_.CreateAlignedLoad(vectorType, first, alignmentOf(memory));
    return isReversed ? b_.CreateShuffleVector(loaded, reverse) : loaded;
  }
  return b_.CreateMaskedGather(vectorType, vector(addressLanes(access.address)),
                               alignmentOf(memory), mask, off);
}

/// Pointers as a vector of LLVM pointers.
Lanes Body::addressLanes(const Lanes &pointers) {
  if (pointers.isVector) return pointers;
  Value *steps = laneSteps(f_.i64, pointers.step);
  Value *first = pointers.value;
  if (width_ == 1) return pointers;
  return {.value = b_.CreateGEP(f_.i8, b_.CreateVectorSplat(static_cast<unsigned>(width_), first),
                                steps),
          .isVector = true,
          .depth = pointers.depth};
}

Lanes Body::readMemory(const ir::Type &type, const Access &access, const Lanes &other) {
  llvm::Type *memory = f_.memoryType(type);
  const bool isOne = width_ == 1 || access.address.isUniform();
  const bool maskIsOne = !access.mask.value || access.mask.isUniform() || width_ == 1;
  const std::int32_t depth =
      std::max({access.address.depth, access.mask.value ? access.mask.depth : -1,
                other.value ? other.depth : -1});
  Value *maskVector = nullptr, *otherVector = nullptr;
  const bool resultIsOne = isOne && maskIsOne && (!other.value || other.isUniform() || width_ == 1);
  if (access.mask.value) maskVector = resultIsOne ? access.mask.value : vector(access.mask);
  if (other.value) otherVector = resultIsOne ? other.value : vector(other);

  const AtDepth position(*this, depth);
  Value *loaded = nullptr;
  if (isOne) {
    Value *any = nullptr;
    if (access.mask.value) any = maskIsOne ? access.mask.value : b_.CreateOrReduce(maskVector);
    loaded = readOne(memory, access.address.value, any);
    if (!resultIsOne) loaded = b_.CreateVectorSplat(static_cast<unsigned>(width_), loaded);
  } else {
    const bool takesOff = otherVector && memory == f_.laneType(type);
    loaded = readMany(memory, access, takesOff ? otherVector : nullptr);
    if (takesOff || !otherVector) maskVector = nullptr;
  }
  if (type.isTile() && type.element() == ir::ElementKind::Bool)
    loaded = b_.CreateICmpNE(loaded, llvm::Constant::getNullValue(loaded->getType()));
  if (maskVector) {
    Value *off = otherVector ? otherVector : llvm::Constant::getNullValue(loaded->getType());
    loaded = b_.CreateSelect(maskVector, loaded, off);
  }
  return {.value = loaded, .isVector = !resultIsOne, .depth = depth};
}

/// Bring what the next block reads here, if the plan says so, to the first-level cache.
void Body::prefetchNext(const ir::Op &load, const Lanes &address) {
  const auto *ahead =
      llvm::find_if(ahead_, [&](const ReadAhead &each) { return each.load == &load; });
  const std::int64_t bytes = storageBits(f_.type(load.result()).element()) / 8;
  const bool areNeighbours = width_ > 1 && !address.isVector && address.step == bytes;
  if (ahead == ahead_.end() || !areNeighbours) return;
  Value *distance = f_.index(0);
  {
    const AtDepth position(*this, -1);
    for (size_t i = 0; i < ahead->step.size(); ++i) {
      Value *elements = f_.index(ahead->step[i]);
      if (load.kind == ir::OpKind::ViewLoad)
        elements = times(elements, f_.view(load.operand(0)).strides[i]);
      distance = plus(distance, times(elements, f_.index(bytes)));
    }
  }
  const AtDepth position(*this, address.depth);
  constexpr int kToRead = 0, kKeep = 3, kData = 1; // see llvm.prefetch
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {f_.pointer},
                     {b_.CreateGEP(f_.i8, address.value, distance), b_.getInt32(kToRead),
                      b_.getInt32(kKeep), b_.getInt32(kData)});
}

void Body::writeMemory(const ir::Type &type, const Access &access, const Lanes &value,
                       bool isStreaming) {
  llvm::Type *memory = f_.memoryType(type);
  Value *data = vector(value);
  Value *mask = access.mask.value ? vector(access.mask) : nullptr;
  if (type.isTile() && type.element() == ir::ElementKind::Bool)
    data = b_.CreateZExt(data, lanesLike(data->getType(), f_.i8));
  const std::int64_t bytes = bytesOf(memory);
  if (width_ == 1) {
    b_.CreateAlignedStore(data, guarded(access.address.value, mask, memory), alignmentOf(memory));
  } else if (!access.address.isVector && access.address.step == bytes) {
    if (mask)
      b_.CreateMaskedStore(data, access.address.value, alignmentOf(memory), mask);
    else if (isStreaming)
      f_.storeAroundCaches(data, access.address.value, streamedAlignment(bytes));
    else
      b_.CreateAlignedStore(data, access.address.value, alignmentOf(memory));
  } else {
    b_.CreateMaskedScatter(data, vector(addressLanes(access.address)), alignmentOf(memory), mask);
  }
}

// --- tiles in scratch ---

Lanes Body::bufferLanes(const ScratchTile &buffer, Value *address, PointId at) {
  const Point where = point(at);
  const Coordinate element = linear(buffer.type.shape().extents(), where);
  const std::int64_t bytes = scratchElementBytes(buffer.type);
  const AtDepth position(*this, element.depth);
  Value *offset =
      b_.CreateMul(element.value, llvm::ConstantInt::getSigned(element.value->getType(), bytes));
  return {.value = b_.CreateGEP(f_.i8, address, offset),
          .isVector = element.isVector,
          .step = element.step * bytes,
          .depth = element.depth};
}

Lanes Body::loadBuffer(const ScratchTile &buffer, Value *address, PointId at) {
  return readMemory(buffer.type, {.address = bufferLanes(buffer, address, at), .mask = {}}, {});
}

void Body::storeBuffer(const ScratchTile &buffer, Value *address, PointId at, const Lanes &lanes) {
  writeMemory(buffer.type, {.address = bufferLanes(buffer, address, at), .mask = {}}, lanes);
}

// --- pointers ---

Lanes Body::tablePointer(const ir::Op &op, PointId at) {
  ViewValues table = f_.view(op.operand(0));
  const Lanes index = read(op.operand(1), at);
  const AtDepth position(*this, index.depth);
  Value *number = emitCast(b_, f_.type(op.operand(1)).element(), ir::ElementKind::I64, {},
                           index.value, f_.natives);
  table.data = b_.CreateIntToPtr(table.data, f_.pointer);
  return uniform(lower::tablePointer(b_, table, number, f_.i64), index.depth);
}

Lanes Body::pointerAdd(const ir::Op &op, PointId at) {
  const Lanes base = read(op.operand(0), at);
  const ir::Type &offsetType = f_.type(op.operand(1));
  Lanes offset = read(op.operand(1), at);
  const bool isWide = info(offsetType.element()).bits == 64;
  if (!isWide && !offset.isVector && offset.step != 0) {
    offset = extendTo64(offset, op.operand(1), at);
  } else if (!isWide) {
    const AtDepth position(*this, offset.depth);
    offset.value =
        emitCast(b_, offsetType.element(), ir::ElementKind::I64, {}, offset.value, f_.natives);
  }
  const std::int64_t bytes = storageBits(f_.type(op.result()).element()) / 8;
  return addLanes(base, scaleLanes(offset, f_.index(bytes)));
}

/// An offset of fewer bits counts as that number, so that its lanes keep their step only if none of
/// them wrapped. Whether they do is checked before the inner loop; if so, elements go one by one.
Lanes Body::extendTo64(const Lanes &offset, ir::ValueId value, PointId at) {
  const ir::ElementKind element = f_.type(value).element();
  Point start;
  for (const Coordinate &c : point(at))
    start.push_back(
        {.value = c.start, .depth = c.startDepth, .start = c.start, .startDepth = c.startDepth});
  const bool isKnown = std::ranges::all_of(start, [](const Coordinate &c) { return c.start; });
  // The reach must fit the type, or no start can be right.
  const std::int64_t reach = offset.step * (innerTrips_ - 1); // 32 bits times 31
  const std::int64_t limit = std::int64_t{1} << (info(element).bits - 1);
  const bool fits = -limit <= reach && reach < limit;
  const bool checked = isKnown && fits;
  Value *x = checked ? offset.value : vector(offset);
  if (checked && innerTrips_ > 1) checks_.push_back({value, start, reach});
  const AtDepth position(*this, offset.depth);
  Value *wide = emitCast(b_, element, ir::ElementKind::I64, {}, x, f_.natives);
  return {.value = wide,
          .isVector = !checked,
          .step = checked ? offset.step : 0,
          .depth = offset.depth};
}

namespace {

llvm::Type *pointersLike(Value *integers, llvm::PointerType *pointer) {
  return lanesLike(integers->getType(), pointer);
}

} // namespace

Lanes Body::load(const ir::Op &op, PointId at) {
  const Lanes pointers = read(op.operand(0), at);
  Access access;
  Lanes other;
  if (op.operands.size() > 1) access.mask = read(op.operand(1), at);
  if (op.operands.size() > 2) other = read(op.operand(2), at);
  {
    const AtDepth position(*this, pointers.depth);
    access.address = pointers;
    access.address.value =
        b_.CreateIntToPtr(pointers.value, pointersLike(pointers.value, f_.pointer));
  }
  prefetchNext(op, access.address);
  return readMemory(f_.type(op.result()), access, other);
}

std::function<void()> Body::prepareStore(const ir::Op &op, PointId at) {
  if (op.kind == ir::OpKind::ViewStore) {
    const ir::ValueId view = op.operand(0), tile = op.operand(1);
    const ViewAccess access = viewAccess(op, 2, f_.type(tile).shape(), at);
    const Lanes value = read(tile, at);
    if (f_.type(tile).element() == ir::ElementKind::F4E2M1)
      return [=, this] { writeNibble(view, access, vector(value)); };
    const Lanes address = viewAddress(view, access.element);
    const bool isStreaming = assumes_ != Assumes::Nothing && isStreamed(op);
    if (isStreaming) assumeAligned(view, op);
    return [=, this] { writeMemory(f_.type(tile), {address, access.mask}, value, isStreaming); };
  }
  Access access;
  access.address = read(op.operand(0), at);
  const Lanes value = read(op.operand(1), at);
  if (op.operands.size() > 2) access.mask = read(op.operand(2), at);
  return [=, this, &op] {
    Access ready = access;
    ready.address.value =
        b_.CreateIntToPtr(access.address.value, pointersLike(access.address.value, f_.pointer));
    writeMemory(f_.type(op.operand(1)), ready, value);
  };
}

} // namespace imbrex::host
