#include "backend/lower/memory/box_start.h"
#include "backend/support/check.h"
#include "backend/target/host/nest/body.h"

#include <algorithm>

/// Boxes of views: which element of memory an index of the box is, and whether it lies inside.
namespace imbrex::host {

using ir::ElementKind;
using llvm::Value;

/// The view's index of the box's first element, per axis.
const llvm::SmallVector<Value *, 5> &Body::boxStart(const ir::Op &op, size_t firstCoordinate,
                                                    const ir::Shape &box) {
  const auto [entry, isNew] = boxStarts_.try_emplace(&op);
  if (!isNew) return entry->second;
  const bool inTiles = op.attrs<ir::ViewAttrs>().unit == ir::BoxUnit::Tiles;
  const AtDepth position(*this, -1);
  for (std::int32_t axis = 0; axis < box.rank(); ++axis) {
    const ir::ValueId coordinate = op.operand(firstCoordinate + static_cast<size_t>(axis));
    const ElementKind element = f_.type(coordinate).element();
    Value *wide = emitCast(b_, element, ElementKind::I64, {}, f_.scalar(coordinate), f_.natives);
    Value *start = lower::boxStart(b_, wide, element, inTiles ? box[axis] : 1);
    entry->second.push_back(start);
  }
  return entry->second;
}

Value *areInside(llvm::IRBuilder<> &builder, Value *start, Value *count, Value *extent) {
  // The last start that is inside, not the end of the part: that overflows for a far start.
  Value *last = builder.CreateSub(extent, count);
  return builder.CreateAnd(builder.CreateICmpSGE(start, builder.getInt64(0)),
                           builder.CreateICmpSLE(start, last));
}

/// The condition under which a whole box is inside, for the version of a loop that has no masks.
void Body::assumeInside(const ir::Op &op, size_t firstCoordinate, const ir::Shape &box) {
  if (!assumedInside_.insert(&op).second) return;
  const ViewValues &view = f_.view(op.operand(0));
  const llvm::SmallVector<Value *, 5> &start = boxStart(op, firstCoordinate, box);
  const AtDepth position(*this, -1);
  for (std::int32_t axis = 0; axis < box.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    assumptions_.push_back(areInside(b_, start[i], f_.index(box[axis]), view.extents[i]));
  }
}

bool isStreamed(const ir::Op &op) {
  return op.kind == ir::OpKind::ViewStore &&
         op.attrs<ir::ViewAttrs>().cache == ir::Cache::Streaming;
}

/// Stores around the caches are of 16 bytes at least, and aligned: the box's first element and
/// every row must be so.
void Body::assumeAligned(ir::ValueId view, const ir::Op &op) {
  if (!assumedAligned_.insert(&op).second) return;
  const ir::Type &type = f_.type(view);
  const std::int64_t bytes = storageBits(type.element()) / 8;
  const ViewValues &values = f_.view(view);
  const llvm::SmallVector<Value *, 5> &start = boxStart(op, 2, f_.type(op.operand(1)).shape());
  const AtDepth position(*this, -1);
  Value *bits = values.data;
  for (size_t axis = 0; axis < start.size(); ++axis) {
    const bool isLast = axis + 1 == start.size();
    Value *distance = isLast ? start[axis] : values.strides[axis];
    bits = b_.CreateOr(bits, b_.CreateMul(distance, f_.index(bytes)));
  }
  Value *low = b_.CreateAnd(bits, f_.index(streamedAlignment(bytes) - 1));
  streamsMoreThan16_ |= streamedAlignment(bytes) > kLeastStreamed;
  assumptions_.push_back(b_.CreateICmpEQ(low, f_.index(0)));
}

std::int64_t Body::streamedAlignment(std::int64_t elementBytes) const {
  const std::int64_t whole = width_ * elementBytes;
  return assumes_ == Assumes::InsideByVectors ? whole : std::min(whole, kLeastStreamed);
}

Body::ViewAccess Body::viewAccess(const ir::Op &op, size_t firstCoordinate, const ir::Shape &box,
                                  PointId at) {
  const ViewValues &view = f_.view(op.operand(0));
  const llvm::SmallVector<Value *, 5> &start = boxStart(op, firstCoordinate, box);
  const Point where = point(at);
  ViewAccess access{.element = uniform(f_.index(0)), .mask = {}};
  Lanes isTouched; // uniform
  if (assumes_ != Assumes::Nothing) assumeInside(op, firstCoordinate, box);
  for (size_t axis = 0; axis < where.size(); ++axis) {
    const Coordinate first{.value = start[axis]};
    const Coordinate index = add(where[axis], first);
    if (assumes_ == Assumes::Nothing) {
      const Lanes inside = within(where[axis], start[axis], view.extents[axis]);
      access.mask = both(access.mask, inside);
      if (width_ > 1)
        isTouched = both(isTouched, inside.isVector ? touches(index, view.extents[axis]) : inside);
    }
    access.element = addLanes(access.element, scaleLanes(asLanes(index), view.strides[axis]));
  }
  if (isTouched.value && !access.element.isVector)
    access.element = orFirst(access.element, isTouched);
  return access;
}

/// A processor takes some hundred times as long for an access whose lanes are all turned off if
/// nothing is mapped at its address, as behind the end of an array: it goes to the view's first
/// element then.
Lanes Body::orFirst(const Lanes &element, const Lanes &isTouched) {
  const std::int32_t depth = std::max(element.depth, isTouched.depth);
  const AtDepth position(*this, depth);
  return {.value = b_.CreateSelect(isTouched.value, element.value, f_.index(0)),
          .step = element.step,
          .depth = depth};
}

Lanes Body::viewAddress(ir::ValueId view, const Lanes &element) {
  const std::int64_t bytes = storageBits(f_.type(view).element()) / 8;
  const Lanes offset = scaleLanes(element, f_.index(bytes));
  const AtDepth position(*this, offset.depth);
  Value *base = b_.CreateIntToPtr(f_.view(view).data, f_.pointer);
  return {.value = b_.CreateGEP(f_.i8, base, offset.value),
          .isVector = offset.isVector,
          .step = offset.step,
          .depth = offset.depth};
}

Body::BoxPlace Body::placeOf(const ir::Op &op) {
  const bool isStore = op.kind == ir::OpKind::ViewStore;
  const size_t first = isStore ? 2 : 1;
  const ir::Shape &box = f_.type(isStore ? op.operand(1) : op.result()).shape();
  const llvm::SmallVector<Value *, 5> start = boxStart(op, first, box);
  assumeInside(op, first, box);
  Value *element = f_.index(0);
  for (size_t axis = 0; axis < start.size(); ++axis)
    element = plus(element, times(start[axis], f_.view(op.operand(0)).strides[axis]));
  return {.address = viewAddress(op.operand(0), uniform(element)).value,
          .isInside = takeAssumptions(),
          .start = start};
}

Lanes Body::viewLoad(const ir::Op &op, PointId at) {
  const ir::Type &type = f_.type(op.result());
  const ir::Padding padding = op.attrs<ir::ViewAttrs>().padding;
  const ViewAccess access = viewAccess(op, 1, type.shape(), at);
  Lanes other;
  if (padding == ir::Padding::Value) other = read(op.operands.back(), at);
  if (padding == ir::Padding::Nan) {
    const llvm::APFloat nan = llvm::APFloat::getQNaN(floatFormat(type.element()));
    other = uniform(splatBits(f_.laneType(type), nan.bitcastToAPInt().getZExtValue()));
  }
  if (type.element() != ElementKind::F4E2M1) {
    const Lanes address = viewAddress(op.operand(0), access.element);
    prefetchNext(op, address);
    return readMemory(type, {address, access.mask}, other);
  }
  const Lanes loaded = readNibbles(op.operand(0), access);
  if (!access.mask.value) return loaded;
  const std::int32_t depth = std::max(loaded.depth, other.value ? other.depth : -1);
  Value *mask = vector(access.mask), *inside = vector(loaded);
  Value *outside = other.value ? vector(other) : llvm::Constant::getNullValue(inside->getType());
  const AtDepth position(*this, depth);
  return {.value = b_.CreateSelect(mask, inside, outside), .isVector = width_ > 1, .depth = depth};
}

// --- f4e2m1: two elements in a byte, the first in the low nibble ---

Lanes Body::readNibbles(ir::ValueId view, const ViewAccess &access) {
  const std::int32_t depth =
      std::max(access.element.depth, access.mask.value ? access.mask.depth : -1);
  Value *element = vector(access.element);
  Value *mask = access.mask.value ? vector(access.mask) : nullptr;
  const AtDepth position(*this, depth);
  Value *base = b_.CreateIntToPtr(f_.view(view).data, f_.pointer);
  Value *address = b_.CreateGEP(f_.i8, base, b_.CreateAShr(element, 1));
  Value *byte =
      width_ == 1
          ? readOne(f_.i8, address, mask)
          : b_.CreateMaskedGather(llvm::FixedVectorType::get(f_.i8, static_cast<unsigned>(width_)),
                                  address, llvm::Align(1), mask);
  Value *odd = b_.CreateTrunc(element, lanesLike(element->getType(), f_.i1));
  Value *nibble = b_.CreateSelect(odd, b_.CreateLShr(byte, 4), b_.CreateAnd(byte, 15));
  return {.value = nibble, .isVector = width_ > 1, .depth = depth};
}

/// The byte's other nibble may belong to another block, so that each half is changed in one step
/// that leaves the other alone.
void Body::writeNibble(ir::ValueId view, const ViewAccess &access, Value *value) {
  IMBREX_CHECK(width_ == 1, "nibbles are written one by one");
  Value *base = b_.CreateIntToPtr(f_.view(view).data, f_.pointer);
  Value *address = b_.CreateGEP(f_.i8, base, b_.CreateAShr(access.element.value, 1));
  Value *target = guarded(address, access.mask.value, f_.i8);
  Value *odd = b_.CreateTrunc(access.element.value, f_.i1);
  Value *shift = b_.CreateSelect(odd, b_.getInt8(4), b_.getInt8(0));
  const auto change = [&](llvm::AtomicRMWInst::BinOp op, Value *bits) {
    b_.CreateAtomicRMW(op, target, bits, llvm::Align(1), llvm::AtomicOrdering::Monotonic);
  };
  Value *keep = b_.CreateNot(b_.CreateShl(b_.getInt8(15), shift));
  change(llvm::AtomicRMWInst::And, keep);
  change(llvm::AtomicRMWInst::Or, b_.CreateShl(b_.CreateAnd(value, 15), shift));
}

} // namespace imbrex::host
