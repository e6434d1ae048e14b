#include "backend/target/host/nest/body.h"
#include "backend/target/host/whole/dot.h"
#include "backend/target/host/whole/whole.h"

#include <algorithm>
#include <limits>

/// A product: where its factors are, which panels of b are there already, and how many trips of a
/// loop are one product. The arithmetic is in dot.cpp.
///
///   slot = this trip's, of those that there are
///   if the slot's panels are of another box: copy b, by itself or from the tile that is kept of it
///   if a's box is not inside its view: keep a tile of it
///   if the next trip's part of a adjoins, and is to be of the same product: leave it to that trip
///   multiply what has been left, and this trip's
namespace imbrex::host {

using llvm::Value;

namespace {

// Panels of the whole depth of a product are kept in so many bytes, which last-level caches have
// for each thread: a product of 4096 columns of a and 128 of b.
constexpr std::int64_t kKeptBytes = 2 << 20;
constexpr std::int64_t kMostSlots = 64;

} // namespace

/// Where a factor's tile is: in memory where its box lies inside the view, else kept in scratch.
struct WholeEmitter::Factor {
  DotOperand at;
  std::optional<Body::BoxPlace> box; // of what is read from memory
};

DotShape WholeEmitter::dotShape() const {
  const ir::Type &a = f_.type(op_.operand(0)), &b = f_.type(op_.operand(1));
  const ir::Type &sum = f_.type(op_.result());
  const std::int32_t rank = sum.rank();
  const std::int64_t m = sum.shape()[rank - 2], n = sum.shape()[rank - 1];
  return {.batch = sum.shape().elements() / (m * n),
          .m = m,
          .n = n,
          .k = a.shape()[rank - 1],
          .a = a.element(),
          .b = b.element(),
          .sum = sum.element(),
          .precision = op_.attrs<ir::DotAttrs>().precision};
}

const Nest *WholeEmitter::nestOf(ir::ValueId factor) const {
  const auto found = llvm::find_if(step_.operands,
                                   [&](const Nest &nest) { return nest.roots[0].value == factor; });
  return found == step_.operands.end() ? nullptr : &*found;
}

DotOperand WholeEmitter::keptTile(ir::ValueId value) {
  const ir::Shape &shape = f_.type(value).shape();
  const std::int64_t columns = shape[shape.rank() - 1];
  return {.data = tile(value).address,
          .rowStride = f_.index(columns),
          .batchStride = f_.index(shape[shape.rank() - 2] * columns)};
}

WholeEmitter::Factor WholeEmitter::factor(size_t operand) {
  const ir::ValueId value = op_.operand(operand);
  const DotOperand kept = keptTile(value);
  const Nest *nest = nestOf(value);
  if (nest == nullptr) return {.at = kept, .box = {}};
  const ir::Op &load = *f_.kernel.definition(value);
  const Body::BoxPlace box = Body(f_, 1).placeOf(load);
  llvm::BasicBlock *outside = f_.newBlock("outside"), *ready = f_.newBlock("ready");
  b_.CreateCondBr(box.isInside, ready, outside);
  b_.SetInsertPoint(outside);
  f_.emitNest(*nest);
  b_.CreateBr(ready);
  b_.SetInsertPoint(ready);
  const auto either = [&](Value *inMemory, Value *inScratch) {
    return b_.CreateSelect(box.isInside, inMemory, inScratch);
  };
  const auto &strides = f_.view(load.operand(0)).strides;
  return {.at = {.data = either(box.address, kept.data),
                 .rowStride = either(strides[strides.size() - 2], kept.rowStride),
                 .batchStride = either(strides.front(), kept.batchStride)},
          .box = box};
}

void WholeEmitter::emitDot() {
  const DotShape shape = dotShape();
  const std::int64_t bytes = dotPanelBytes(shape, f_.unit);
  const std::int64_t trips = canHavePieces(shape) ? step_.product.trips : 1;
  const std::int64_t slots = slotCount(bytes, trips);
  Value *memory = f_.scratch(slots * bytes);
  Value *slot = slots > 1 ? slotOf(slots, trips) : f_.index(0);
  Value *panels = b_.CreateGEP(f_.i8, memory, b_.CreateMul(slot, f_.index(bytes)));
  if (step_.product.keepsPanels)
    copyIfOthers(shape, panels, slots, slot);
  else
    emitDotPanels(b_, shape, f_.unit, factor(1).at, panels);
  const DotOperand sum = keptTile(op_.result());
  Value *scratch = f_.scratch(dotScratchBytes(shape, f_.unit));
  if (trips > 1)
    multiplyRun(shape, trips, panels, sum);
  else
    host::emitDot(b_, shape, f_.unit, factor(0).at, panels, sum, scratch);
}

/// As many as fit, or as the trips of one product want; whole products of them.
std::int64_t WholeEmitter::slotCount(std::int64_t bytes, std::int64_t trips) const {
  if (!f_.isInFor() || !step_.product.keepsPanels) return trips;
  const std::int64_t fit = std::clamp<std::int64_t>(kKeptBytes / bytes, 1, kMostSlots);
  return std::max(trips, fit / trips * trips);
}

/// Trips that have no slot of their own share those of the last product.
Value *WholeEmitter::slotOf(std::int64_t slots, std::int64_t trips) {
  Value *trip = f_.trip();
  Value *shared = b_.CreateAdd(f_.index(slots - trips), b_.CreateURem(trip, f_.index(trips)));
  return b_.CreateSelect(b_.CreateICmpULT(trip, f_.index(slots)), trip, shared);
}

/// Where a box begins tells what it is: nothing writes it, and its view is the same in all blocks.
void WholeEmitter::copyIfOthers(const DotShape &shape, Value *panels, std::int64_t slots,
                                Value *slot) {
  const auto start = Body(f_, 1).placeOf(*f_.kernel.definition(op_.operand(1))).start;
  const auto rank = static_cast<std::int64_t>(start.size());
  Value *owner =
      b_.CreateGEP(f_.i64, f_.placesPerRange(slots * rank), b_.CreateMul(slot, f_.index(rank)));
  const auto word = [&](size_t axis) { return b_.CreateConstGEP1_64(f_.i64, owner, axis); };
  Value *areOurs = b_.getTrue();
  for (size_t axis = 0; axis < start.size(); ++axis) {
    Value *owned = b_.CreateLoad(f_.i64, word(axis));
    areOurs = b_.CreateAnd(areOurs, b_.CreateICmpEQ(owned, start[axis]));
  }
  llvm::BasicBlock *others = f_.newBlock("others"), *ours = f_.newBlock("ours");
  b_.CreateCondBr(areOurs, ours, others);
  b_.SetInsertPoint(others);
  emitDotPanels(b_, shape, f_.unit, factor(1).at, panels);
  for (size_t axis = 0; axis < start.size(); ++axis) b_.CreateStore(start[axis], word(axis));
  b_.CreateBr(ours);
  b_.SetInsertPoint(ours);
}

/// The products of a run of trips at once, in its last one.
void WholeEmitter::multiplyRun(const DotShape &shape, std::int64_t trips, Value *panels,
                               const DotOperand &sum) {
  const Factor a = factor(0);
  llvm::AllocaInst *left = f_.newCounter();
  Value *before = b_.CreateLoad(f_.i64, left);
  Value *count = b_.CreateNUWAdd(before, f_.index(1));
  // The next box, which is also inside where its columns are: numbers are not near to wrapping.
  const ir::ValueId box = op_.operand(0);
  Value *extent = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, f_.view(f_.kernel.definition(box)->operand(0)).extents.back(),
      f_.index(std::numeric_limits<std::int32_t>::max()));
  Value *isNextInside = b_.CreateICmpSLE(b_.CreateAdd(a.box->start.back(), f_.index(shape.k)),
                                         b_.CreateSub(extent, f_.index(shape.k)));
  Value *isOver = b_.CreateICmpEQ(b_.CreateURem(f_.trip(), f_.index(trips)), f_.index(trips - 1));
  Value *goesOn = b_.CreateAnd(
      {a.box->isInside, isNextInside, b_.CreateNot(isOver), b_.CreateNot(f_.isLastTrip())});
  llvm::BasicBlock *last = f_.newBlock("last"), *after = f_.newBlock("after");
  b_.CreateStore(b_.CreateSelect(goesOn, count, f_.index(0)), left);
  b_.CreateCondBr(goesOn, after, last);
  b_.SetInsertPoint(last);
  const auto back = [&](Value *from, llvm::Type *unit, std::int64_t piece) {
    return b_.CreateGEP(unit, from, b_.CreateMul(before, f_.index(-piece)));
  };
  DotOperand first = a.at;
  first.data = back(first.data, f_.memoryType(f_.type(box)), shape.k);
  host::emitDot(b_, shape, f_.unit, first, back(panels, f_.i8, dotPanelBytes(shape, f_.unit)), sum,
                nullptr, DotPieces{.count = count, .strideA = f_.index(shape.k)});
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

} // namespace imbrex::host
