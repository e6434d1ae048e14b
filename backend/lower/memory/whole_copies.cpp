#include "backend/lower/memory/whole_copies.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace imbrex::lower {

using llvm::Value;

using analysis::boxTile;
using analysis::boxUnit;
using analysis::viewOperand;

namespace {

ir::ValueId viewOf(const ir::Op &box) { return box.operand(viewOperand(box)); }

llvm::ArrayRef<ir::ValueId> coordinatesOf(const ir::Op &box) {
  return llvm::ArrayRef(box.operands).drop_front(viewOperand(box) + 1);
}

} // namespace

WholeCopies::WholeCopies(Emitter &e, const ir::Op &loop, analysis::WholeTrips trips,
                         bool hasOneBody)
    : e_(e), trips_(std::move(trips)), index_(loop.regions[0].arguments[0]),
      hasOneBody_(hasOneBody) {
  const ir::Block &body = loop.regions[0];
  e.define(index_, {e.scalar(loop.operand(0))});
  for (const auto &op : body.ops)
    if (trips_.coordinates.contains(op.get())) e.emitOp(*op);
}

void WholeCopies::begin() {
  for (const analysis::MovingBox &box : trips_.boxes) addBox(box);
}

ir::Shape WholeCopies::shapeOf(const ir::Op &box) const { return e_.type(boxTile(box)).shape(); }

/// So many elements a coordinate counts along an axis.
std::int64_t WholeCopies::unitOf(const ir::Op &box, std::int32_t axis) const {
  return boxUnit(box) == ir::BoxUnit::Tiles ? shapeOf(box)[axis] : 1;
}

/// As emitRead (access.h) reads it, which has no hints for buffers; and copies in lane order.
bool WholeCopies::isByBuffer(const ir::Op &op) const {
  const bool mayBe = op.kind == ir::OpKind::ViewLoad
                         ? hintsOf(op.attrs<ir::ViewAttrs>()) == Hints()
                         : e_.ring(op.operand(0)).copies().areInLaneOrder;
  return mayBe && boxes_.at(&op).isInReachAsAWhole();
}

/// Copies that each thread makes by itself, along an axis whose step is a stride's multiple.
bool WholeCopies::isByDistance(const analysis::MovingBox &box) const {
  const ir::Op &op = *box.op;
  if (op.kind == ir::OpKind::ViewLoad || !hasOneBody_) return false;
  const analysis::RingCopies &copies = e_.ring(boxTile(op)).copies();
  if (!copies.areAsynchronous || copies.areInLaneOrder) return false;
  for (std::size_t axis = 0; axis < box.moves.size(); ++axis)
    if (box.moves[axis] && !hasNeighbours(e_, viewOf(op), static_cast<std::int32_t>(axis)))
      return true;
  return false;
}

void WholeCopies::addBox(const analysis::MovingBox &box) {
  const ir::Op &op = *box.op;
  const ir::ValueId tile = boxTile(op);
  const BoxStart start{.view = viewOf(op), .coordinates = coordinatesOf(op), .unit = boxUnit(op)};
  ViewBox &first =
      boxes_.try_emplace(&op, e_, start, shapeOf(op), &e_.accessLayout(op, tile)).first->second;
  Value *const step = stepOf(box);
  if (isByDistance(box)) return addRowsByDistance(op, step);
  if (!isByBuffer(op)) return addRows(op, step);
  rowOf_[&op].emplace(0, Row{.moving = moving_.size()});
  moving_.push_back(
      {.first = first.startInBuffer(), .step = e_.b.CreateTrunc(step, e_.b.getInt32Ty())});
}

void WholeCopies::addRows(const ir::Op &op, Value *step) {
  ViewBox &first = boxes_.at(&op);
  const ir::ValueId tile = boxTile(op);
  const layout::RegisterVectors vectors =
      op.kind == ir::OpKind::ViewLoad ? e_.accessVectors(op, tile) : e_.ring(tile).copies().vectors;
  for (const llvm::ArrayRef<std::int32_t> vector : vectors.each()) {
    const auto r = static_cast<std::size_t>(vector[0]);
    const auto [row, isNew] = rowOf_[&op].try_emplace(first.rowOf(r), Row{moving_.size()});
    if (isNew) moving_.push_back({.first = first.rowAddress(r), .step = step});
  }
}

/// A copy begins at a multiple of its bytes: so does a row, and a thread's part of it.
void WholeCopies::addRowsByDistance(const ir::Op &op, Value *step) {
  ViewBox &first = boxes_.at(&op);
  const analysis::RingCopies &copies = e_.ring(boxTile(op)).copies();
  const auto inCopies = [&](Value *bytes) {
    return e_.b.CreateTrunc(e_.b.CreateLShr(bytes, llvm::Log2_64(copies.bytes)), e_.b.getInt32Ty());
  };
  for (const llvm::ArrayRef<std::int32_t> vector : copies.vectors.each()) {
    const auto r = static_cast<std::size_t>(vector[0]);
    const auto [row, isNew] = rowOf_[&op].try_emplace(first.rowOf(r), Row{moving_.size()});
    if (isNew) row->second.base = first.beginOfRow(r);
  }
  moving_.push_back({.first = inCopies(first.bytesOfThreadInRow()), .step = inCopies(step)});
}

/// Whether a view is short enough along an axis for distances in 32 bits: i1. An eighth of these is
/// let pass for each axis, of which there are no more than five.
Value *WholeCopies::isInReach(const ir::Op &op, std::size_t axis) {
  constexpr std::int64_t kMostCopies = std::int64_t{1} << 29, kSmall = std::int64_t{1} << 31;
  llvm::IRBuilder<> &b = e_.b;
  Value *const extent = e_.view(viewOf(op)).extents[axis];
  Value *const stride = e_.view(viewOf(op)).strides[axis];
  const std::int64_t width = e_.ring(boxTile(op)).copies().vectors.width;
  Value *const hasProduct =
      b.CreateAnd(b.CreateICmpULT(extent, e_.i64(kSmall)), b.CreateICmpULT(stride, e_.i64(kSmall)));
  return b.CreateAnd(hasProduct,
                     b.CreateICmpULT(b.CreateMul(extent, stride), e_.i64(kMostCopies * width)));
}

/// From one trip's box to the next one's, in bytes.
Value *WholeCopies::stepOf(const analysis::MovingBox &box) {
  Value *elements = e_.i64(0);
  ViewBox &at = boxes_.at(box.op);
  for (std::size_t axis = 0; axis < box.moves.size(); ++axis) {
    if (!box.moves[axis]) continue;
    const auto a = static_cast<std::int32_t>(axis);
    elements = e_.b.CreateAdd(elements, at.scaled(a, e_.i64(trips_.step * unitOf(*box.op, a))));
  }
  const std::int64_t bits = ir::storageBits(e_.type(viewOf(*box.op)).element());
  return e_.b.CreateMul(elements, e_.i64(bits / 8));
}

/// How many trips' boxes lie in the view along an axis, from the first one on: i64.
Value *WholeCopies::countOf(const analysis::MovingBox &box, std::int32_t axis) {
  llvm::IRBuilder<> &b = e_.b;
  const ir::Op &op = *box.op;
  const ir::ValueId coordinate = coordinatesOf(op)[static_cast<std::size_t>(axis)];
  const std::int64_t unit = unitOf(op, axis);
  Value *const start = startInElements(e_, coordinate, unit);
  Value *end = e_.view(viewOf(op)).extents[static_cast<std::size_t>(axis)];
  // A narrow coordinate may not go on beyond its largest number.
  const std::int32_t bits = ir::info(e_.type(coordinate).element()).bits;
  constexpr std::int32_t kWide = 64;
  if (bits < kWide)
    end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end,
                                  e_.i64((std::int64_t{1} << (bits - 1)) * unit));
  Value *const room = b.CreateSub(b.CreateSub(end, e_.i64(shapeOf(op)[axis])), start);
  Value *isInside =
      b.CreateAnd(b.CreateICmpSGE(start, e_.i64(0)), b.CreateICmpSGE(room, e_.i64(0)));
  if (isByDistance(box) && !hasNeighbours(e_, viewOf(op), axis))
    isInside = b.CreateAnd(isInside, isInReach(op, static_cast<std::size_t>(axis)));
  Value *trips = e_.i64(std::numeric_limits<std::int64_t>::max());
  if (box.moves[static_cast<std::size_t>(axis)])
    trips = b.CreateAdd(b.CreateUDiv(room, e_.i64(trips_.step * unit)), e_.i64(1));
  return b.CreateSelect(isInside, trips, e_.i64(0));
}

Value *WholeCopies::count(Value *trips) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  llvm::IRBuilder<> &b = e_.b;
  Value *count = b.CreateBinaryIntrinsic(
      llvm::Intrinsic::usub_sat, b.CreateZExt(trips, b.getInt64Ty()), e_.i64(trips_.behind));
  count = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, e_.i64(kMost));
  for (const analysis::MovingBox &box : trips_.boxes)
    for (std::size_t axis = 0; axis < box.moves.size(); ++axis)
      count = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count,
                                      countOf(box, static_cast<std::int32_t>(axis)));
  return b.CreateTrunc(count, b.getInt32Ty());
}

void WholeCopies::enter(llvm::BasicBlock *before, Value *trip) {
  for (Moving &moving : moving_) {
    moving.head = e_.b.CreatePHI(moving.first->getType(), 2);
    moving.head->addIncoming(moving.first, before);
    moving.now = moving.head;
  }
  if (count_) isWhole_ = e_.b.CreateICmpULT(trip, e_.b.CreateZExtOrTrunc(count_, trip->getType()));
}

void WholeCopies::advance() {
  for (Moving &moving : moving_)
    moving.now = moving.now->getType()->isPointerTy()
                     ? e_.b.CreateGEP(e_.b.getInt8Ty(), moving.now, moving.step)
                     : e_.b.CreateAdd(moving.now, moving.step);
}

void WholeCopies::repeat() {
  for (Moving &moving : moving_) moving.head->addIncoming(moving.now, e_.b.GetInsertBlock());
}

GlobalAccess WholeCopies::at(const ir::Op &op, std::size_t r, std::size_t width) {
  ViewBox &box = boxes_.at(&op);
  const ir::ValueId tile = boxTile(op);
  const std::int64_t bits = ir::storageBits(e_.type(viewOf(op)).element());
  GlobalAccess access{.address = nullptr,
                      .mask = e_.isInside(e_.accessLayout(op, tile), shapeOf(op), r), // or padding
                      .alignment = bits * static_cast<std::int64_t>(width) / 8};
  const RowOf &rowOf = rowOf_.at(&op);
  if (isByBuffer(op)) {
    Value *const start = moving_[rowOf.at(0).moving].now;
    if (e_.namedForColumns(op))
      access.address = box.wholeAddress(r, start);
    else
      access.inBuffer = box.wholeInBuffer(r, start);
    return access;
  }
  const Row &row = rowOf.at(box.rowOf(r));
  Value *begins = moving_[row.moving].now;
  if (row.base) {
    Value *const copies = e_.b.CreateZExt(begins, e_.b.getInt64Ty());
    begins = e_.b.CreateGEP(e_.b.getInt8Ty(), row.base,
                            e_.b.CreateNUWMul(copies, e_.i64(access.alignment)));
  }
  access.address = e_.b.CreateGEP(e_.b.getInt8Ty(), begins, e_.i64(box.bytesInRow(r)));
  return access;
}

} // namespace imbrex::lower
