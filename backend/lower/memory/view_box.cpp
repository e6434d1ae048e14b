#include "backend/lower/memory/view_box.h"

#include "backend/lower/memory/box_start.h"
#include "backend/support/check.h"

namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

namespace {

static_assert(analysis::ParameterAssumptions::kSmallSpan < Vocabulary::BufferPlace::kOutside);

/// A coordinate as i64 elements.
Value *wideStart(Emitter &e, Value *coordinate, ElementKind kind, std::int64_t unit) {
  Value *wide = emitCast(e.b, kind, ElementKind::I64, {}, coordinate, e.natives);
  return boxStart(e.b, wide, kind, unit);
}

/// A coordinate that is not negative as i32 elements, for views of less than 2^31: what lies beyond
/// comes to lie at 2^31 or little beyond.
Value *narrowStart(Emitter &e, ir::ValueId coordinate, std::int64_t unit) {
  Value *start = e.b.CreateZExtOrTrunc(e.scalar(coordinate), e.b.getInt32Ty());
  if (unit == 1) return start;
  constexpr std::int64_t kOutside = Vocabulary::BufferPlace::kOutside;
  const auto most = static_cast<std::uint64_t>(llvm::divideCeil(kOutside, unit));
  if (e.nonNegative.most(coordinate).value_or(most + 1) > most)
    start = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, start,
                                      e.i32(static_cast<std::int64_t>(most)));
  return e.b.CreateNUWMul(start, e.i32(unit));
}

/// An i64 as the nearest unsigned number of 32 bits; from the halves, for machines count in those.
Value *saturated(llvm::IRBuilder<> &b, Value *x) {
  Value *high = b.CreateTrunc(b.CreateLShr(x, 32), b.getInt32Ty());
  Value *bound = b.CreateNot(b.CreateAShr(high, 31));
  return b.CreateSelect(b.CreateIsNull(high), b.CreateTrunc(x, b.getInt32Ty()), bound);
}

} // namespace

Value *startInElements(Emitter &e, ir::ValueId coordinate, std::int64_t unit) {
  return wideStart(e, e.scalar(coordinate), e.type(coordinate).element(), unit);
}

ViewBox::ViewBox(Emitter &emitter, const ir::Op &op, ir::ValueId tile, std::size_t firstCoordinate)
    : ViewBox(emitter,
              {.view = op.operand(0),
               .coordinates = llvm::ArrayRef(op.operands).drop_front(firstCoordinate),
               .unit = op.attrs<ir::ViewAttrs>().unit},
              emitter.type(tile).shape(),
              emitter.kernel.layoutOf(tile).valid() ? &emitter.accessLayout(op, tile) : nullptr) {}

ViewBox::ViewBox(Emitter &emitter, const BoxStart &start, const ir::Shape &shape,
                 const layout::LinearLayout *layout)
    : e_(emitter), viewId_(start.view), view_(emitter.view(start.view)), layout_(layout),
      shape_(shape), bits_(ir::storageBits(emitter.type(start.view).element())),
      start_(emitter.i64(0)), threads_(start_), inRow_(start_), loadsIf_(emitter.loadsIf()),
      assumed_(emitter.assumptions.of(emitter.kernel, start.view)) {
  const bool inTiles = start.unit == ir::BoxUnit::Tiles;
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis)
    addAxis(axis, start.coordinates[static_cast<std::size_t>(axis)], inTiles ? shape_[axis] : 1);
  for (std::int32_t axis = 0; layout_ && axis < shape_.rank(); ++axis) {
    Value *thread = emitter.b.CreateZExt(emitter.splitCoordinate(*layout_, 0, axis).thread,
                                         emitter.b.getInt64Ty());
    threads_ = emitter.b.CreateAdd(threads_, scaled(axis, thread));
    if (hasNeighbours(axis)) inRow_ = thread;
  }
  base_ = behind(view_.data, emitter.b.CreateAdd(start_, threads_));
}

void ViewBox::addAxis(std::int32_t axis, ir::ValueId coordinate, std::int64_t unit) {
  const Start start = startOf(coordinate, unit);
  start_ = e_.b.CreateAdd(start_, scaled(axis, start.wide));
  mayBeInFront_ |= shape_[axis] > static_cast<std::int64_t>(analysis::NonNegative::kFar) ||
                   !e_.nonNegative.containsOrFar(e_.kernel, coordinate);
  Value *extent = view_.extents[static_cast<std::size_t>(axis)];
  const auto *made = llvm::dyn_cast<llvm::Instruction>(e_.scalar(coordinate));
  // A guess: made in this block. Either way is right; a choice that does not change is hoisted.
  const bool changes = made && made->getParent() == e_.b.GetInsertBlock();
  if (changes && loadsIf_) {
    // Nothing is inside, for all threads at once.
    extent = e_.b.CreateSelect(loadsIf_, extent, e_.i64(0));
    loadsIf_ = nullptr;
  }
  bounds_.push_back(boundsOf(start, extent, shape_[axis]));
  bounds_.back().change = changes;
}

bool hasNeighbours(const Emitter &e, ir::ValueId view, std::int32_t axis) {
  return e.assumptions.haveNeighbours(e.kernel, view, axis);
}

bool ViewBox::hasNeighbours(std::int32_t axis) const {
  return lower::hasNeighbours(e_, viewId_, axis);
}

Value *ViewBox::scaled(std::int32_t axis, Value *elements) {
  if (hasNeighbours(axis)) return elements;
  return e_.b.CreateMul(elements, view_.strides[static_cast<std::size_t>(axis)]);
}

ViewBox::Start ViewBox::startOf(ir::ValueId coordinate, std::int64_t unit) {
  const ElementKind kind = e_.type(coordinate).element();
  Value *index = e_.scalar(coordinate);
  const bool isNarrow = info(kind).bits <= 32 ? e_.nonNegative.containsOrFar(e_.kernel, coordinate)
                                              : e_.nonNegative.isSmall(coordinate);
  if (!assumed_.hasSmallExtents || !isNarrow) return {wideStart(e_, index, kind, unit), nullptr};
  Value *narrow = narrowStart(e_, coordinate, unit);
  return {e_.b.CreateZExt(narrow, e_.b.getInt64Ty()), narrow};
}

ViewBox::Bounds ViewBox::boundsOf(const Start &start, Value *extent, std::int64_t length) {
  llvm::IRBuilder<> &b = e_.b;
  if (start.narrow) {
    Value *end = b.CreateTrunc(extent, b.getInt32Ty());
    return {nullptr, b.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, end, start.narrow)};
  }
  if (length == 1) {
    // Unsigned, so that what lies in front of the view is beyond its end.
    return {nullptr, b.CreateZExt(b.CreateICmpULT(start.wide, extent), b.getInt32Ty())};
  }
  Value *first = saturated(b, b.CreateNeg(start.wide));
  Value *end = saturated(b, b.CreateSub(extent, start.wide));
  return {first, b.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, end, first)};
}

/// From the thread's first element of the box to the one in a register.
Value *ViewBox::distance(std::size_t r) {
  Value *distance = e_.i64(0);
  for (std::int32_t axis = 0; layout_ && axis < shape_.rank(); ++axis)
    if (const std::int64_t ofRegister = e_.splitCoordinate(*layout_, r, axis).constant)
      distance = e_.b.CreateAdd(distance, scaled(axis, e_.i64(ofRegister)));
  return distance;
}

layout::Bits ViewBox::rowOf(std::size_t r) {
  layout::Bits row = layout_->apply(layout::Dim::Register, r);
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis) {
    const layout::Dim dim = layout::axisDim(axis);
    if (hasNeighbours(axis)) row ^= layout_->outputPart(row, dim) << layout_->outputShift(dim);
  }
  return row;
}

/// From the thread's first element to the first of the row that a register's is in.
Value *ViewBox::toRow(std::size_t r) {
  return e_.b.CreateSub(distance(r), e_.i64(bytesInRow(r) * 8 / bits_));
}

Value *ViewBox::rowAddress(std::size_t r) { return behind(base_, toRow(r)); }

Value *ViewBox::beginOfRow(std::size_t r) {
  return behind(base_, e_.b.CreateSub(toRow(r), inRow_));
}

Value *ViewBox::bytesOfThreadInRow() { return e_.b.CreateMul(inRow_, e_.i64(bits_ / 8)); }

std::int64_t ViewBox::bytesInRow(std::size_t r) {
  std::int64_t elements = 0;
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis)
    if (hasNeighbours(axis)) elements += e_.splitCoordinate(*layout_, r, axis).constant;
  return elements * bits_ / 8;
}

Value *ViewBox::behind(Value *place, Value *elements) {
  if (bits_ >= 8)
    return e_.b.CreateGEP(e_.b.getIntNTy(static_cast<unsigned>(bits_)), place, elements);
  IMBREX_CHECK(bits_ == 4, "elements of {0} bits", bits_);
  return e_.b.CreateGEP(e_.b.getInt8Ty(), place, e_.b.CreateAShr(elements, 1));
}

Value *ViewBox::elementAt(std::size_t r) {
  return e_.b.CreateAdd(e_.b.CreateAdd(start_, threads_), distance(r));
}

Value *ViewBox::isInside(std::size_t r, std::int32_t axis) {
  const Bounds &bounds = bounds_[static_cast<std::size_t>(axis)];
  Value *index = layout_ ? e_.coordinate(*layout_, r, axis) : e_.i32(0);
  if (bounds.first) index = e_.b.CreateSub(index, bounds.first);
  return e_.b.CreateICmpULT(index, bounds.count);
}

Value *ViewBox::isInside(std::size_t r) {
  llvm::SmallVector<Value *, 6> conditions;
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis) conditions.push_back(isInside(r, axis));
  if (layout_) conditions.push_back(e_.isInside(*layout_, shape_, r));
  conditions.push_back(loadsIf_);
  return e_.allOf(conditions);
}

bool ViewBox::isInReachAsAWhole() const { return e_.words.hasBuffers() && assumed_.hasSmallSpan; }

/// i32, negative where an element is outside along an axis.
Value *ViewBox::beyond(std::size_t r, std::int32_t axis) {
  const Bounds &bounds = bounds_[static_cast<std::size_t>(axis)];
  if (bounds.first || !layout_)
    return e_.b.CreateSExt(e_.b.CreateNot(isInside(r, axis)), e_.b.getInt32Ty());
  const auto [thread, ofRegister] = e_.splitCoordinate(*layout_, r, axis);
  return e_.b.CreateSub(bounds.count, e_.b.CreateAdd(thread, e_.i32(ofRegister + 1)));
}

/// Of elements an even number of which shares a byte.
Value *ViewBox::bytes(Value *elements) {
  Value *narrow = e_.b.CreateTrunc(elements, e_.b.getInt32Ty());
  return bits_ >= 8 ? e_.b.CreateMul(narrow, e_.i32(bits_ / 8)) : e_.b.CreateLShr(narrow, 1);
}

Vocabulary::BufferPlace ViewBox::wholeInBuffer(std::size_t r, Value *start) {
  Value *ofThread = bytes(e_.b.CreateAdd(threads_, distance(r)));
  if (Value *inside = layout_ ? e_.isInside(*layout_, shape_, r) : nullptr) // no padding
    ofThread =
        e_.b.CreateSelect(inside, ofThread, e_.b.getInt32(Vocabulary::BufferPlace::kOutside));
  return {.first = view_.data, .ofBlock = start, .ofThread = ofThread};
}

Value *ViewBox::wholeAddress(std::size_t r, Value *start) {
  const auto byBytes = [&](Value *from, Value *bytes) {
    return e_.b.CreateGEP(e_.b.getInt8Ty(), from, bytes);
  };
  Value *const row = e_.b.CreateAdd(start, bytes(e_.b.CreateAdd(threads_, toRow(r))));
  return byBytes(byBytes(view_.data, e_.widened(row)), e_.i64(bytesInRow(r)));
}

Vocabulary::BufferPlace ViewBox::inBuffer(std::size_t r) {
  llvm::IRBuilder<> &b = e_.b;
  Vocabulary::BufferPlace place = wholeInBuffer(r, startInBuffer());
  // What may be the same in all trips of the loop around, by one choice in front of it.
  llvm::SmallVector<Value *, 6> conditions{loadsIf_};
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis)
    if (!bounds_[static_cast<std::size_t>(axis)].change) conditions.push_back(isInside(r, axis));
  Value *const outside = b.getInt32(Vocabulary::BufferPlace::kOutside);
  if (Value *inside = e_.allOf(conditions))
    place.ofThread = b.CreateSelect(inside, place.ofThread, outside);
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis)
    if (bounds_[static_cast<std::size_t>(axis)].change)
      place.ofThread = b.CreateOr(place.ofThread, b.CreateAnd(beyond(r, axis), outside));
  return place;
}

GlobalAccess ViewBox::at(std::size_t r, std::size_t width) {
  GlobalAccess access{.address = behind(base_, distance(r)),
                      .mask = isInside(r),
                      .alignment = bits_ * static_cast<std::int64_t>(width) / 8};
  if (isInReach()) access.inBuffer = inBuffer(r);
  return access;
}

} // namespace imbrex::lower
