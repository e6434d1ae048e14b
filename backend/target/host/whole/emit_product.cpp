#include "backend/target/host/dot/dot.h"
#include "backend/target/host/nest/body.h"
#include "backend/target/host/whole/whole.h"

#include <algorithm>
#include <limits>

/// A product: where its factors are, which panels of b are there already, and how many trips of a
/// loop are one product. The arithmetic is in dot/.
///
///   slot = this trip's, of those that there are
///   if the slot's panels are of another box: copy b, by itself or from the tile that is kept of it
///   if a's box is not inside its view: keep a tile of it
///   if the next trip's part of a adjoins, and is to be of the same product: leave it to that trip
///   multiply what has been left, and this trip's; in the last trip to where the sums are stored
namespace imbrex::host {

using llvm::Value;

namespace {

// Panels of the whole depth of a product are kept in so many bytes, which last-level caches have
// for each thread: a product of 4096 columns of a and 128 of b.
constexpr std::int64_t kKeptBytes = 2 << 20;
constexpr std::int64_t kMostSlots = 64;

} // namespace

class WholeEmitter::Product {
public:
  explicit Product(WholeEmitter &whole)
      : whole_(whole), f_(whole.f_), b_(whole.b_), step_(whole.step_), op_(whole.op_),
        shape_(shapeOf()), panelBytes_(dotPanelBytes(shape_, f_.unit)),
        rowBytes_(dotRowBytes(shape_, f_.unit)) {}
  void emit();

private:
  /// Where a factor's tile is, or that of its transpose: in memory where its box lies inside the
  /// view, else kept in scratch.
  struct Factor {
    DotOperand at;
    std::optional<Body::BoxPlace> box; // of what is read from memory
  };

  DotShape shapeOf() const;
  const Nest *nestOf(size_t factor) const;
  DotOperand keptTile(ir::ValueId value);
  Factor factor(size_t operand);
  DotSums sums();
  DotOperand storedTo(const DotOperand &kept);
  std::int64_t tripCount() const;
  std::int64_t slotCount(std::int64_t trips) const;
  Value *slotOf(std::int64_t slots, std::int64_t trips);
  void copyIfOthers(Value *panels, std::int64_t slots, Value *slot);
  DotOperand rowsFor(const DotOperand &a);
  void multiplyRun(std::int64_t trips, Value *panels, DotSums sums);
  Value *isNextAlike(const Body::BoxPlace &box);

  WholeEmitter &whole_;
  Emitter &f_;
  llvm::IRBuilder<> &b_;
  const Step &step_;
  const ir::Op &op_;
  const DotShape shape_;
  const std::int64_t panelBytes_, rowBytes_;
};

DotShape WholeEmitter::Product::shapeOf() const {
  const ir::Type &a = f_.type(op_.operand(0)), &b = f_.type(op_.operand(1));
  const ir::Type &sum = f_.type(op_.result());
  const std::int32_t rank = sum.rank();
  const std::int64_t m = sum.shape()[rank - 2], n = sum.shape()[rank - 1];
  const Nest *nest = nestOf(1);
  return {.batch = sum.shape().elements() / (m * n),
          .m = m,
          .n = n,
          .k = a.shape()[rank - 1],
          .a = a.element(),
          .b = b.element(),
          .sum = sum.element(),
          .precision = op_.attrs<ir::DotAttrs>().precision,
          .isTransposedB = nest != nullptr && nest->roots[0].value != op_.operand(1)};
}

const Nest *WholeEmitter::Product::nestOf(size_t factor) const {
  return nestBehind(step_, f_.kernel, op_.operand(factor));
}

DotOperand WholeEmitter::Product::keptTile(ir::ValueId value) {
  const ir::Shape &shape = f_.type(value).shape();
  const std::int64_t columns = shape[shape.rank() - 1];
  return {.data = whole_.tile(value).address,
          .rowStride = f_.index(columns),
          .batchStride = f_.index(shape[shape.rank() - 2] * columns)};
}

WholeEmitter::Product::Factor WholeEmitter::Product::factor(size_t operand) {
  const Nest *nest = nestOf(operand);
  if (nest == nullptr) return {.at = keptTile(op_.operand(operand)), .box = {}};
  const ir::Op &load = *f_.kernel.definition(nest->roots[0].value);
  const DotOperand kept = keptTile(load.result());
  const Body::BoxPlace box = Body(f_, 1).placeOf(load);
  f_.emitUnless(box.isInside, [&] { f_.emitNest(*nest); });
  const auto either = [&](Value *inMemory, Value *inScratch) {
    return b_.CreateSelect(box.isInside, inMemory, inScratch);
  };
  const auto &strides = f_.view(load.operand(0)).strides;
  return {.at = {.data = either(box.address, kept.data),
                 .rowStride = either(strides[strides.size() - 2], kept.rowStride),
                 .batchStride = either(strides.front(), kept.batchStride)},
          .box = box};
}

void WholeEmitter::Product::emit() {
  if (!wantsPanels(shape_, f_.unit)) {
    const DotOperand b = factor(1).at;
    return host::emitDot(b_, shape_, f_.unit, rowsFor(factor(0).at), b, sums());
  }
  const std::int64_t trips = tripCount();
  const std::int64_t slots = slotCount(trips);
  Value *memory = f_.scratch(slots * panelBytes_);
  Value *slot = slots > 1 ? slotOf(slots, trips) : f_.index(0);
  Value *panels = b_.CreateGEP(f_.i8, memory, b_.CreateMul(slot, f_.index(panelBytes_)));
  if (step_.product.keepsPanels)
    copyIfOthers(panels, slots, slot);
  else
    emitDotPanels(b_, shape_, f_.unit, factor(1).at, panels);
  if (trips > 1) return multiplyRun(trips, panels, sums());
  host::emitDot(b_, shape_, f_.unit, rowsFor(factor(0).at),
                dotPanelsAt(b_, shape_, f_.unit, panels), sums());
}

DotSums WholeEmitter::Product::sums() {
  using Start = ProductPlan::Start;
  Value *areNew = nullptr;
  if (step_.product.start == Start::Always) areNew = b_.getTrue();
  if (step_.product.start == Start::FirstTrip) areNew = b_.CreateICmpEQ(f_.trip(), f_.index(0));
  const DotOperand kept = keptTile(op_.result());
  return {.at = kept, .to = step_.product.store ? storedTo(kept) : kept, .areNew = areNew};
}

/// Where complete sums are stored, if their box is inside its view.
DotOperand WholeEmitter::Product::storedTo(const DotOperand &kept) {
  const ir::Op &store = *step_.product.store;
  const Body::BoxPlace box = Body(f_, 1).placeOf(store);
  Value *isDue =
      step_.product.storesLast(op_) ? b_.CreateAnd(box.isInside, f_.isLastTrip()) : box.isInside;
  const auto &strides = f_.view(store.operand(0)).strides;
  return {.data = b_.CreateSelect(isDue, box.address, kept.data),
          .rowStride = b_.CreateSelect(isDue, strides[strides.size() - 2], kept.rowStride),
          .batchStride = b_.CreateSelect(isDue, strides.front(), kept.batchStride)};
}

DotOperand WholeEmitter::Product::rowsFor(const DotOperand &a) {
  return wantsRows(shape_) ? emitDotRows(b_, shape_, f_.unit, a, f_.scratch(rowBytes_)) : a;
}

/// How many trips are one product at most. One that has a where it is wants parts that adjoin.
std::int64_t WholeEmitter::Product::tripCount() const {
  const bool mayRun =
      canHavePieces(shape_, f_.unit) && (wantsRows(shape_) || step_.product.adjoins);
  return mayRun ? step_.product.trips : 1;
}

/// As many as fit, or as the trips of one product want; whole products of them.
std::int64_t WholeEmitter::Product::slotCount(std::int64_t trips) const {
  if (!f_.isInFor() || !step_.product.keepsPanels) return trips;
  const std::int64_t fit = std::clamp<std::int64_t>(kKeptBytes / panelBytes_, 1, kMostSlots);
  return std::max(trips, fit / trips * trips);
}

/// Trips that have no slot of their own share those of the last product. Where no block follows
/// along x, few slots stay in the nearer caches.
Value *WholeEmitter::Product::slotOf(std::int64_t slots, std::int64_t trips) {
  Value *trip = f_.trip();
  Value *shared = b_.CreateURem(trip, f_.index(trips));
  if (slots == trips) return shared;
  Value *isAlone = b_.CreateICmpEQ(f_.gridExtent(0), llvm::ConstantInt::get(f_.i32, 1));
  Value *own = b_.CreateSelect(b_.CreateICmpULT(trip, f_.index(slots)), trip,
                               b_.CreateAdd(f_.index(slots - trips), shared));
  return b_.CreateSelect(isAlone, shared, own);
}

/// Where a box begins tells what it is: nothing writes it, and its view is the same in all blocks.
void WholeEmitter::Product::copyIfOthers(Value *panels, std::int64_t slots, Value *slot) {
  const auto start = Body(f_, 1).placeOf(*f_.kernel.definition(nestOf(1)->roots[0].value)).start;
  const auto rank = static_cast<std::int64_t>(start.size());
  Value *owner =
      b_.CreateGEP(f_.i64, f_.placesPerRange(slots * rank), b_.CreateMul(slot, f_.index(rank)));
  const auto word = [&](size_t axis) { return b_.CreateConstGEP1_64(f_.i64, owner, axis); };
  Value *areOurs = b_.getTrue();
  for (size_t axis = 0; axis < start.size(); ++axis) {
    Value *owned = b_.CreateLoad(f_.i64, word(axis));
    areOurs = b_.CreateAnd(areOurs, b_.CreateICmpEQ(owned, start[axis]));
  }
  f_.emitUnless(areOurs, [&] {
    emitDotPanels(b_, shape_, f_.unit, factor(1).at, panels);
    for (size_t axis = 0; axis < start.size(); ++axis) b_.CreateStore(start[axis], word(axis));
  });
}

/// The products of a run of trips at once, in its last one: of parts of a that adjoin in memory, or
/// of rows that are copied trip by trip.
void WholeEmitter::Product::multiplyRun(std::int64_t trips, Value *panels, DotSums sums) {
  const Factor a = factor(0);
  llvm::AllocaInst *left = f_.newCounter();
  Value *before = b_.CreateLoad(f_.i64, left);
  Value *memory = f_.scratch(trips * rowBytes_);
  const auto copy = [&] {
    emitDotRows(b_, shape_, f_.unit, a.at,
                b_.CreateGEP(f_.i8, memory, b_.CreateMul(before, f_.index(rowBytes_))));
  };
  const DotOperand copied = dotRowsAt(b_, shape_, f_.unit, memory);
  DotOperand rows = copied;
  Value *stride = f_.index(rowBytes_);
  Value *isOver =
      b_.CreateOr(f_.isLastTrip(),
                  b_.CreateICmpEQ(b_.CreateURem(f_.trip(), f_.index(trips)), f_.index(trips - 1)));
  if (wantsRows(shape_)) {
    copy();
  } else {
    f_.emitUnless(a.box->isInside, copy);
    const auto either = [&](Value *inMemory, Value *inScratch) {
      return b_.CreateSelect(a.box->isInside, inMemory, inScratch);
    };
    Value *piece = f_.index(shape_.k * scratchElementBytes(f_.type(op_.operand(0))));
    Value *first = b_.CreateGEP(f_.i8, a.at.data, b_.CreateNeg(b_.CreateMul(before, piece)));
    rows.data = either(first, copied.data);
    rows.rowStride = either(a.at.rowStride, copied.rowStride);
    rows.batchStride = either(a.at.batchStride, copied.batchStride);
    stride = either(piece, stride);
    isOver = b_.CreateOr(isOver, b_.CreateNot(isNextAlike(*a.box)));
  }
  b_.CreateStore(b_.CreateSelect(isOver, f_.index(0), b_.CreateNUWAdd(before, f_.index(1))), left);
  if (sums.areNew) sums.areNew = b_.CreateICmpEQ(f_.trip(), before); // the run's first was
  f_.emitUnless(b_.CreateNot(isOver), [&] {
    Value *first = b_.CreateGEP(f_.i8, panels, b_.CreateMul(before, f_.index(-panelBytes_)));
    host::emitDot(b_, shape_, f_.unit, rows, dotPanelsAt(b_, shape_, f_.unit, first), sums,
                  DotPieces{.count = b_.CreateNUWAdd(before, f_.index(1)),
                            .strideA = stride,
                            .strideB = f_.index(panelBytes_)});
  });
}

/// Whether the box of a in the next trip is inside its view as this one is, or outside like it. Its
/// rows are the same; its columns follow, since numbers below 2^31 do not wrap.
Value *WholeEmitter::Product::isNextAlike(const Body::BoxPlace &box) {
  const ir::Op &load = *f_.kernel.definition(op_.operand(0));
  const ir::Shape &shape = f_.type(load.result()).shape();
  Value *columns = f_.index(shape[shape.rank() - 1]), *start = box.start.back();
  Value *extent =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, f_.view(load.operand(0)).extents.back(),
                               f_.index(std::numeric_limits<std::int32_t>::max()));
  Value *hasNext = b_.CreateICmpSLE(b_.CreateAdd(start, columns), b_.CreateSub(extent, columns));
  // One that begins inside is outside by its rows, or by an end that the next one exceeds too.
  Value *beginsInside = b_.CreateICmpULT(start, extent);
  return b_.CreateSelect(box.isInside, hasNext, beginsInside);
}

void WholeEmitter::emitDot() { Product(*this).emit(); }

} // namespace imbrex::host
