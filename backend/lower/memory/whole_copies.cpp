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

WholeCopies::WholeCopies(Emitter &e, const ir::Op &loop, analysis::WholeTrips trips)
    : e_(e), trips_(std::move(trips)) {
  const ir::Block &body = loop.regions[0];
  e.define(body.arguments[0], {e.scalar(loop.operand(0))});
  for (const auto &op : body.ops)
    if (trips_.coordinates.contains(op.get())) e.emitOp(*op);
}

void WholeCopies::begin() {
  for (const analysis::MovingBox &box : trips_.boxes) addRows(box);
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

void WholeCopies::addRows(const analysis::MovingBox &box) {
  const ir::Op &op = *box.op;
  const ir::ValueId tile = boxTile(op);
  const BoxStart start{.view = viewOf(op), .coordinates = coordinatesOf(op), .unit = boxUnit(op)};
  ViewBox &first =
      boxes_.try_emplace(&op, e_, start, shapeOf(op), &e_.layoutOf(tile)).first->second;
  Value *const step = stepOf(box);
  if (isByBuffer(op)) {
    rowOf_[&op].emplace(0, rows_.size());
    rows_.push_back(
        {.first = first.startInBuffer(), .step = e_.b.CreateTrunc(step, e_.b.getInt32Ty())});
    return;
  }
  const layout::RegisterVectors vectors =
      op.kind == ir::OpKind::ViewLoad ? e_.accessVectors(op, tile) : e_.ring(tile).copies().vectors;
  for (const llvm::ArrayRef<std::int32_t> vector : vectors.each()) {
    const auto r = static_cast<std::size_t>(vector[0]);
    const auto [row, isNew] = rowOf_[&op].try_emplace(first.rowOf(r), rows_.size());
    if (isNew) rows_.push_back({.first = first.rowAddress(r), .step = step});
  }
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
  Value *const isInside =
      b.CreateAnd(b.CreateICmpSGE(start, e_.i64(0)), b.CreateICmpSGE(room, e_.i64(0)));
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
  for (Row &row : rows_) {
    row.head = e_.b.CreatePHI(row.first->getType(), 2);
    row.head->addIncoming(row.first, before);
    row.now = row.head;
  }
  if (count_) isWhole_ = e_.b.CreateICmpULT(trip, e_.b.CreateZExtOrTrunc(count_, trip->getType()));
}

void WholeCopies::advance() {
  for (Row &row : rows_)
    row.now = row.now->getType()->isPointerTy()
                  ? e_.b.CreateGEP(e_.b.getInt8Ty(), row.now, row.step)
                  : e_.b.CreateAdd(row.now, row.step);
}

void WholeCopies::repeat() {
  for (Row &row : rows_) row.head->addIncoming(row.now, e_.b.GetInsertBlock());
}

GlobalAccess WholeCopies::at(const ir::Op &op, std::size_t r, std::size_t width) {
  ViewBox &box = boxes_.at(&op);
  const ir::ValueId tile = boxTile(op);
  const std::int64_t bits = ir::storageBits(e_.type(viewOf(op)).element());
  GlobalAccess access{.address = nullptr,
                      .mask = e_.isInside(e_.layoutOf(tile), shapeOf(op), r), // or padding
                      .alignment = bits * static_cast<std::int64_t>(width) / 8};
  const RowOf &rowOf = rowOf_.at(&op);
  if (isByBuffer(op)) {
    access.inBuffer = box.wholeInBuffer(r, rows_[rowOf.at(0)].now);
    return access;
  }
  access.address = e_.b.CreateGEP(e_.b.getInt8Ty(), rows_[rowOf.at(box.rowOf(r))].now,
                                  e_.i64(box.bytesInRow(r)));
  return access;
}

} // namespace imbrex::lower
