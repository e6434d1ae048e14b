#include "backend/lower/memory/whole_copies.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace imbrex::lower {

using llvm::Value;

namespace {

constexpr std::size_t kFirstCoordinate = 3; // of ring.copy_box

ir::ValueId viewOf(const ir::Op &copy) { return copy.operand(2); }

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

/// So many elements the box goes on along an axis, if it does.
std::int64_t WholeCopies::boxStep(const ir::Op &copy, std::int32_t axis) const {
  const bool inTiles = copy.attrs<ir::RingCopyBoxAttrs>().unit == ir::BoxUnit::Tiles;
  return trips_.step * (inTiles ? e_.type(copy.operand(0)).shape()[axis] : 1);
}

void WholeCopies::addRows(const analysis::MovingBox &box) {
  const ir::Op &copy = *box.copy;
  const BoxStart start{.view = viewOf(copy),
                       .coordinates = llvm::ArrayRef(copy.operands).drop_front(kFirstCoordinate),
                       .unit = copy.attrs<ir::RingCopyBoxAttrs>().unit};
  ViewBox &first = boxes_
                       .try_emplace(&copy, e_, start, e_.type(copy.operand(0)).shape(),
                                    &e_.layoutOf(copy.operand(0)))
                       .first->second;
  Value *const step = stepOf(box);
  const analysis::RingCopies &copies = e_.ring(copy.operand(0)).copies();
  const auto width = static_cast<std::size_t>(copies.vectors.width);
  for (std::size_t i = 0; i < copies.vectors.registers.size(); i += width) {
    const auto r = static_cast<std::size_t>(copies.vectors.registers[i]);
    const auto [row, isNew] = rowOf_[&copy].try_emplace(first.rowOf(r), rows_.size());
    if (isNew) rows_.push_back({.first = first.rowAddress(r), .step = step});
  }
}

/// From one trip's box to the next one's, in bytes.
Value *WholeCopies::stepOf(const analysis::MovingBox &box) {
  Value *elements = e_.i64(0);
  ViewBox &at = boxes_.at(box.copy);
  for (std::size_t axis = 0; axis < box.moves.size(); ++axis) {
    if (!box.moves[axis]) continue;
    const auto a = static_cast<std::int32_t>(axis);
    elements = e_.b.CreateAdd(elements, at.scaled(a, e_.i64(boxStep(*box.copy, a))));
  }
  const std::int64_t bits = ir::storageBits(e_.type(viewOf(*box.copy)).element());
  return e_.b.CreateMul(elements, e_.i64(bits / 8));
}

/// How many trips' boxes lie in the view along an axis, from the first one on: i64.
Value *WholeCopies::countOf(const analysis::MovingBox &box, std::int32_t axis) {
  llvm::IRBuilder<> &b = e_.b;
  const ir::Op &copy = *box.copy;
  const bool inTiles = copy.attrs<ir::RingCopyBoxAttrs>().unit == ir::BoxUnit::Tiles;
  const ir::Shape &shape = e_.type(copy.operand(0)).shape();
  const ir::ValueId coordinate = copy.operand(kFirstCoordinate + static_cast<std::size_t>(axis));
  const std::int64_t unit = inTiles ? shape[axis] : 1;
  Value *const start = startInElements(e_, coordinate, unit);
  Value *end = e_.view(viewOf(copy)).extents[static_cast<std::size_t>(axis)];
  // A narrow coordinate may not go on beyond its largest number.
  const std::int32_t bits = ir::info(e_.type(coordinate).element()).bits;
  constexpr std::int32_t kWide = 64;
  if (bits < kWide)
    end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end,
                                  e_.i64((std::int64_t{1} << (bits - 1)) * unit));
  Value *const room = b.CreateSub(b.CreateSub(end, e_.i64(shape[axis])), start);
  Value *const isInside =
      b.CreateAnd(b.CreateICmpSGE(start, e_.i64(0)), b.CreateICmpSGE(room, e_.i64(0)));
  Value *trips = e_.i64(std::numeric_limits<std::int64_t>::max());
  if (box.moves[static_cast<std::size_t>(axis)])
    trips = b.CreateAdd(b.CreateUDiv(room, e_.i64(boxStep(copy, axis))), e_.i64(1));
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

void WholeCopies::enter(llvm::BasicBlock *before) {
  for (Row &row : rows_) {
    row.head = e_.b.CreatePHI(row.first->getType(), 2);
    row.head->addIncoming(row.first, before);
    row.now = row.head;
  }
}

void WholeCopies::advance() {
  for (Row &row : rows_) row.now = e_.b.CreateGEP(e_.b.getInt8Ty(), row.now, row.step);
}

void WholeCopies::repeat() {
  for (Row &row : rows_) row.head->addIncoming(row.now, e_.b.GetInsertBlock());
}

Access WholeCopies::at(const ir::Op &copy, std::size_t r, std::size_t width) {
  ViewBox &box = boxes_.at(&copy);
  const Row &row = rows_[rowOf_.at(&copy).at(box.rowOf(r))];
  const std::int64_t bits = ir::storageBits(e_.type(viewOf(copy)).element());
  const ir::ValueId ring = copy.operand(0);
  return {.address = e_.b.CreateGEP(e_.b.getInt8Ty(), row.now, e_.i64(box.bytesInRow(r))),
          .mask = e_.isInside(e_.layoutOf(ring), e_.type(ring).shape(), r), // or padding
          .alignment = bits * static_cast<std::int64_t>(width) / 8};
}

} // namespace imbrex::lower
