#include "backend/target/host/dot/dot.h"
#include "backend/target/host/nest/body.h"
#include "backend/target/host/nest/control_flow.h"
#include "backend/target/host/whole/whole.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

/// A product: where its factors are, which panels of b are there already, and how many trips of a
/// loop are one product. The arithmetic is in dot/.
///
///   slot = this trip's, of those that there are
///   if b's box is not inside its view, its rows are far from each other, or many blocks share it:
///     if the slot's panels are of another box: copy b, by itself or from a tile that is kept of it
///   if what is multiplied of a's box is not inside its view: keep a tile of the box
///   if the next trip's parts adjoin, and are to be of the same product: leave it to that trip
///   multiply what has been left, and this trip's; in the last trip to where the sums are stored
namespace imbrex::host {

using llvm::Value;

namespace {

// Panels of the whole depth of a product are kept in so many bytes, which last-level caches have
// for each thread: a product of 4096 columns of a and 128 of b.
constexpr std::int64_t kKeptBytes = 2 << 20;
constexpr std::int64_t kMostSlots = 64;
// Rows of b so near each other are read in place. Of 2 KiB, products of 512 columns took from as
// long as with panels to twice as long on Emerald Rapids: rows of b meet in few sets of the caches.
constexpr std::int64_t kNearRowBytes = 1 << 10;
// So many blocks that may share panels do without: two gained a twenty-fifth of 256^3 by that. Of
// more than these the copy is less than a hundredth of their time, and copies are read in order.
constexpr std::uint32_t kFewBlocks = 8;

} // namespace

class WholeEmitter::Product {
public:
  explicit Product(WholeEmitter &whole)
      : whole_(whole), f_(whole.f_), b_(whole.b_), step_(whole.step_), op_(whole.op_),
        shape_(shapeOf()), panelBytes_(dotPanelBytes(shape_, f_.unit)),
        rowBytes_(dotRowBytes(shape_, f_.unit)) {}
  void emit();

private:
  /// Where a's rows are in a trip, whether they may be read there, and how much of k they have
  /// (null: all). The next trip's may be read where this one's may, or neither.
  struct PlacedRows {
    Body::BoxPlace box;
    Value *isThere, *depth, *isNextAlike;
  };

  /// Where b's columns are in a trip, if they may be read there as panels are, and whether the next
  /// trip's may where this one's may, or neither.
  struct PlacedPanels {
    DotOperand at;
    Value *areThere = nullptr, *areNextAlike = nullptr;
  };

  DotShape shapeOf() const;
  /// The box of a factor that has one.
  const MatrixBox &boxOf(size_t operand) const { return step_.factorInMemory(operand)->box; }
  const ViewValues &viewOf(const MatrixBox &box) { return f_.view(box.access->operand(0)); }
  DotOperand keptTile(ir::ValueId value);
  DotOperand keptBox(const FactorInMemory &factor);
  DotOperand matrixAt(const MatrixBox &box, Value *address);
  DotOperand either(Value *which, const DotOperand &first, const DotOperand &second);
  DotOperand factor(size_t operand);
  DotOperand factorAt(const FactorInMemory &factor, const Body::BoxPlace &box, Value *isThere);
  DotSums sums();
  void storeWhereDue(DotSums &sums);
  Value *reachOf(Value *extent, Value *start);
  std::int64_t tripCount() const;
  std::int64_t slotCount(std::int64_t trips) const;
  Value *slotOf(Value *trip, std::int64_t slots, std::int64_t trips);
  Value *nextSlot(std::int64_t slots);
  void copyIfOthers(Value *panels, std::int64_t slots, Value *slot);
  DotOperand rowsFor(const DotOperand &a);
  void multiplyRun(std::int64_t trips, Value *panels, const std::optional<PlacedPanels> &placed,
                   DotSums sums);
  PlacedRows placedRows(const DotSums &sums);
  bool mayHavePlacedPanels(std::int64_t trips) const;
  PlacedPanels placedPanels();
  bool mayEndInside() const;
  Value *depthFrom(Value *start);
  Value *isDepthInside(Value *start, Value *depth, Value *extent);
  Value *areRowsInside(const Body::BoxPlace &box, Value *wanted);
  Value *least(Value *x, Value *y);

  WholeEmitter &whole_;
  HostEmitter &f_;
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
  const FactorInMemory *inMemory = step_.factorInMemory(1);
  return {.batch = sum.shape().elements() / (m * n),
          .m = m,
          .n = n,
          .k = a.shape()[rank - 1],
          .a = a.element(),
          .b = b.element(),
          .sum = sum.element(),
          .precision = op_.attrs<ir::DotAttrs>().precision,
          .isTransposedB = inMemory != nullptr && inMemory->box.isTransposed};
}

DotOperand WholeEmitter::Product::keptTile(ir::ValueId value) {
  const ir::Shape &shape = f_.type(value).shape();
  const std::int64_t columns = shape[shape.rank() - 1];
  return {.data = whole_.tile(value).address,
          .rowStride = f_.index(columns),
          .batchStride = f_.index(shape[shape.rank() - 2] * columns)};
}

/// The matrix of a box that is kept in scratch.
DotOperand WholeEmitter::Product::keptBox(const FactorInMemory &factor) {
  const ir::Op &load = *factor.box.access;
  const ir::Shape &shape = f_.type(load.result()).shape();
  const auto stride = [&](std::optional<size_t> axis) {
    const auto inner = shape.extents().drop_front(axis ? *axis + 1 : shape.extents().size());
    return f_.index(
        std::accumulate(inner.begin(), inner.end(), std::int64_t{1}, std::multiplies()));
  };
  return {.data = whole_.tile(load.result()).address,
          .rowStride = stride(factor.box.row),
          .batchStride = stride(factor.box.batch)};
}

/// The matrix of a box that begins there in memory.
DotOperand WholeEmitter::Product::matrixAt(const MatrixBox &box, Value *address) {
  const auto &strides = viewOf(box).strides;
  const auto stride = [&](std::optional<size_t> axis) {
    return axis ? strides[*axis] : f_.index(0);
  };
  return {.data = address, .rowStride = stride(box.row), .batchStride = stride(box.batch)};
}

DotOperand WholeEmitter::Product::either(Value *which, const DotOperand &first,
                                         const DotOperand &second) {
  return {.data = b_.CreateSelect(which, first.data, second.data),
          .rowStride = b_.CreateSelect(which, first.rowStride, second.rowStride),
          .batchStride = b_.CreateSelect(which, first.batchStride, second.batchStride),
          .columnStride = first.columnStride
                              ? b_.CreateSelect(which, first.columnStride, second.columnStride)
                              : nullptr,
          .next = second.next ? b_.CreateSelect(which, first.next, second.next) : nullptr};
}

/// Where a factor's tile is, or that of its transpose: in memory where its box lies inside the
/// view, else kept in scratch.
DotOperand WholeEmitter::Product::factor(size_t operand) {
  const FactorInMemory *inMemory = step_.factorInMemory(operand);
  if (inMemory == nullptr) return keptTile(op_.operand(operand));
  const Body::BoxPlace box = Body(f_, 1).placeOf(*inMemory->box.access);
  return factorAt(*inMemory, box, box.isInside);
}

/// The same, in memory where the box may be read there.
DotOperand WholeEmitter::Product::factorAt(const FactorInMemory &factor, const Body::BoxPlace &box,
                                           Value *isThere) {
  const DotOperand kept = keptBox(factor);
  emitUnless(b_, isThere, [&] { f_.emitNest(factor.nest); });
  return either(isThere, matrixAt(factor.box, box.address), kept);
}

void WholeEmitter::Product::emit() {
  if (isOnAmx(shape_, f_.unit)) f_.useAmx();
  if (!wantsPanels(shape_, f_.unit)) {
    const DotOperand b = factor(1);
    return host::emitDot(b_, shape_, f_.unit, rowsFor(factor(0)), b, sums());
  }
  const std::int64_t trips = tripCount();
  const std::int64_t slots = slotCount(trips);
  Value *memory = f_.scratch(slots * panelBytes_);
  Value *slot = slots > 1 ? slotOf(f_.trip(), slots, trips) : f_.index(0);
  const auto panelsOf = [&](Value *of) {
    return b_.CreateGEP(f_.i8, memory, b_.CreateMul(of, f_.index(panelBytes_)));
  };
  Value *panels = panelsOf(slot);
  std::optional<PlacedPanels> placed;
  if (mayHavePlacedPanels(trips)) placed = placedPanels();
  const auto copy = [&] {
    if (step_.product.keepsPanels)
      copyIfOthers(panels, slots, slot);
    else
      emitDotPanels(b_, shape_, f_.unit, factor(1), panels);
  };
  if (placed)
    emitUnless(b_, placed->areThere, copy);
  else
    copy();
  if (trips > 1) return multiplyRun(trips, panels, placed, sums());
  DotOperand b = dotPanelsAt(b_, shape_, f_.unit, panels);
  if (slots > 1) b.next = panelsOf(nextSlot(slots));
  if (placed) b = either(placed->areThere, placed->at, b);
  host::emitDot(b_, shape_, f_.unit, rowsFor(factor(0)), b, sums());
}

DotSums WholeEmitter::Product::sums() {
  using Start = ProductPlan::Start;
  Value *areNew = nullptr;
  if (step_.product.start == Start::Always) areNew = b_.getTrue();
  if (step_.product.start == Start::FirstTrip) areNew = b_.CreateICmpEQ(f_.trip(), f_.index(0));
  const DotOperand kept = keptTile(op_.result());
  DotSums sums{.at = kept, .to = kept, .areNew = areNew};
  if (step_.product.store) storeWhereDue(sums);
  return sums;
}

/// Complete sums go to where they are stored, if their box is inside its view; of a box at the
/// edge only what is inside is wanted.
void WholeEmitter::Product::storeWhereDue(DotSums &sums) {
  const MatrixBox &stored = *step_.product.store;
  const Body::BoxPlace box = Body(f_, 1).placeOf(*stored.access);
  Value *isDue =
      step_.product.storesLast ? b_.CreateAnd(box.isInside, f_.isLastTrip()) : box.isInside;
  sums.to = either(isDue, matrixAt(stored, box.address), sums.at);
  const auto reachAlong = [&](size_t axis) {
    return reachOf(viewOf(stored).extents[axis], box.start[axis]);
  };
  if (stored.row) sums.rows = reachAlong(*stored.row);
  sums.columns = reachAlong(stored.column);
}

/// How far a view reaches along an axis from where a box begins.
Value *WholeEmitter::Product::reachOf(Value *extent, Value *start) {
  return b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smax, b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, extent, start),
      f_.index(1));
}

DotOperand WholeEmitter::Product::rowsFor(const DotOperand &a) {
  return wantsRows(shape_, f_.unit) ? emitDotRows(b_, shape_, f_.unit, a, f_.scratch(rowBytes_))
                                    : a;
}

/// How many trips are one product at most: panels have half of the second-level cache, a's rows and
/// sums the other. One that has a where it is wants parts that adjoin.
std::int64_t WholeEmitter::Product::tripCount() const {
  const bool mayRun =
      canHavePieces(shape_, f_.unit) && (wantsRows(shape_, f_.unit) || step_.product.adjoins);
  if (!mayRun) return 1;
  const std::int64_t copied = panelBytes_ + (wantsRows(shape_, f_.unit) ? rowBytes_ : 0);
  return std::clamp<std::int64_t>(f_.unit.secondLevelBytes / 2 / copied, 1, step_.product.trips);
}

/// As many as fit, or as the trips of one product want; whole products of them.
std::int64_t WholeEmitter::Product::slotCount(std::int64_t trips) const {
  if (!f_.isInFor() || !step_.product.keepsPanels) return trips;
  const std::int64_t fit = std::clamp<std::int64_t>(kKeptBytes / panelBytes_, 1, kMostSlots);
  return std::max(trips, fit / trips * trips);
}

/// Trips that have no slot of their own share those of the last product. Where no block follows
/// along x, few slots stay in the nearer caches.
Value *WholeEmitter::Product::slotOf(Value *trip, std::int64_t slots, std::int64_t trips) {
  Value *shared = b_.CreateURem(trip, f_.index(trips));
  if (slots == trips) return shared;
  Value *isAlone = b_.CreateICmpEQ(f_.gridExtent(0), llvm::ConstantInt::get(f_.i32, 1));
  Value *own = b_.CreateSelect(b_.CreateICmpULT(trip, f_.index(slots)), trip,
                               b_.CreateAdd(f_.index(slots - trips), shared));
  return b_.CreateSelect(isAlone, shared, own);
}

/// Behind the last trip that of the next block's first.
Value *WholeEmitter::Product::nextSlot(std::int64_t slots) {
  Value *next = b_.CreateAdd(f_.trip(), f_.index(1));
  return slotOf(b_.CreateSelect(f_.isLastTrip(), f_.index(0), next), slots, 1);
}

/// Where a box begins tells what it is: nothing writes it, and its view is the same in all blocks.
void WholeEmitter::Product::copyIfOthers(Value *panels, std::int64_t slots, Value *slot) {
  const auto start = Body(f_, 1).placeOf(*boxOf(1).access).start;
  const auto rank = static_cast<std::int64_t>(start.size());
  Value *owner =
      b_.CreateGEP(f_.i64, f_.placesPerRange(slots * rank), b_.CreateMul(slot, f_.index(rank)));
  const auto word = [&](size_t axis) { return b_.CreateConstGEP1_64(f_.i64, owner, axis); };
  Value *areOurs = b_.getTrue();
  for (size_t axis = 0; axis < start.size(); ++axis) {
    Value *owned = b_.CreateLoad(f_.i64, word(axis));
    areOurs = b_.CreateAnd(areOurs, b_.CreateICmpEQ(owned, start[axis]));
  }
  emitUnless(b_, areOurs, [&] {
    emitDotPanels(b_, shape_, f_.unit, factor(1), panels);
    for (size_t axis = 0; axis < start.size(); ++axis) b_.CreateStore(start[axis], word(axis));
  });
}

/// The products of a run of trips at once, in its last one: of parts of a that adjoin in memory, or
/// of rows that are copied trip by trip.
void WholeEmitter::Product::multiplyRun(std::int64_t trips, Value *panels,
                                        const std::optional<PlacedPanels> &placedB, DotSums sums) {
  llvm::AllocaInst *left = f_.newCounter();
  Value *before = b_.CreateLoad(f_.i64, left);
  Value *memory = f_.scratch(trips * rowBytes_);
  const auto copy = [&](const DotOperand &a) {
    emitDotRows(b_, shape_, f_.unit, a,
                b_.CreateGEP(f_.i8, memory, b_.CreateMul(before, f_.index(rowBytes_))));
  };
  DotOperand rows = dotRowsAt(b_, shape_, f_.unit, memory);
  DotPieces pieces{.count = b_.CreateNUWAdd(before, f_.index(1)),
                   .strideA = f_.index(rowBytes_),
                   .strideB = f_.index(panelBytes_)};
  Value *isOver =
      b_.CreateOr(f_.isLastTrip(),
                  b_.CreateICmpEQ(b_.CreateURem(f_.trip(), f_.index(trips)), f_.index(trips - 1)));
  if (wantsRows(shape_, f_.unit)) {
    copy(factor(0));
  } else {
    const PlacedRows placed = placedRows(sums);
    const DotOperand a = factorAt(*step_.factorInMemory(0), placed.box, placed.isThere);
    emitUnless(b_, placed.isThere, [&] { copy(a); });
    Value *piece = f_.index(shape_.k * scratchElementBytes(f_.type(op_.operand(0))));
    Value *first = b_.CreateGEP(f_.i8, a.data, b_.CreateNeg(b_.CreateMul(before, piece)));
    rows = either(placed.isThere, {first, a.rowStride, a.batchStride}, rows);
    pieces.strideA = b_.CreateSelect(placed.isThere, piece, pieces.strideA);
    pieces.lastDepth = placed.depth;
    if (placed.depth) pieces.end = f_.scratch(dotEndBytes(shape_, f_.unit));
    isOver = b_.CreateOr(isOver, b_.CreateNot(placed.isNextAlike));
  }
  Value *firstPanels = b_.CreateGEP(f_.i8, panels, b_.CreateMul(before, f_.index(-panelBytes_)));
  DotOperand columns = dotPanelsAt(b_, shape_, f_.unit, firstPanels);
  if (placedB) {
    Value *piece = b_.CreateMul(placedB->at.rowStride,
                                f_.index(shape_.k * scratchElementBytes(f_.type(op_.operand(1)))));
    DotOperand first = placedB->at;
    first.data = b_.CreateGEP(f_.i8, first.data, b_.CreateNeg(b_.CreateMul(before, piece)));
    columns = either(placedB->areThere, first, columns);
    pieces.strideB = b_.CreateSelect(placedB->areThere, piece, pieces.strideB);
    isOver = b_.CreateOr(isOver, b_.CreateNot(placedB->areNextAlike));
  }
  b_.CreateStore(b_.CreateSelect(isOver, f_.index(0), pieces.count), left);
  if (sums.areNew) sums.areNew = b_.CreateICmpEQ(f_.trip(), before); // the run's first was
  emitUnless(b_, b_.CreateNot(isOver),
             [&] { host::emitDot(b_, shape_, f_.unit, rows, columns, sums, pieces); });
}

/// Of the next trip's box the rows are this one's; its columns follow, since numbers below 2^31 do
/// not wrap. A box that begins inside its view, and is not to be read there, is outside by its
/// rows, or by an end that the next one exceeds too.
WholeEmitter::Product::PlacedRows WholeEmitter::Product::placedRows(const DotSums &sums) {
  const MatrixBox &a = boxOf(0);
  const Body::BoxPlace box = Body(f_, 1).placeOf(*a.access);
  Value *start = box.start[a.column], *depth = depthFrom(start);
  Value *extent = viewOf(a).extents[a.column];
  Value *wanted = isOnAmx(shape_, f_.unit) ? nullptr : sums.rows;
  Value *isThere = b_.CreateAnd(areRowsInside(box, wanted), isDepthInside(start, depth, extent));
  Value *next = b_.CreateAdd(start, f_.index(shape_.k));
  Value *end = least(extent, f_.index(std::numeric_limits<std::int32_t>::max()));
  Value *isNextAlike = b_.CreateSelect(isThere, isDepthInside(next, depthFrom(next), end),
                                       b_.CreateICmpULT(start, end));
  return {.box = box,
          .isThere = isThere,
          .depth = mayEndInside() ? depth : nullptr,
          .isNextAlike = isNextAlike};
}

/// Of several trips' boxes one has to follow the other. A box that has no axis along k has one row.
bool WholeEmitter::Product::mayHavePlacedPanels(std::int64_t trips) const {
  return step_.factorInMemory(1) != nullptr && boxOf(1).depthOfB() &&
         takesPanelsInPlace(shape_, f_.unit) && (trips == 1 || step_.product.adjoinsB);
}

/// Where b's box is inside its view, its rows are near each other, and few blocks would share the
/// copies.
WholeEmitter::Product::PlacedPanels WholeEmitter::Product::placedPanels() {
  const MatrixBox &b = boxOf(1);
  const Body::BoxPlace box = Body(f_, 1).placeOf(*b.access);
  PlacedPanels placed{.at = matrixAt(b, box.address)};
  placed.at.columnStride = f_.index(1);
  const std::int64_t elementBytes = scratchElementBytes(f_.type(op_.operand(1)));
  placed.at.next = b_.CreateGEP(
      f_.i8, box.address, b_.CreateMul(placed.at.rowStride, f_.index(shape_.k * elementBytes)));
  Value *mayBe =
      b_.CreateICmpULE(placed.at.rowStride, f_.index(kNearRowBytes / elementBytes)); // not negative
  if (step_.product.keepsPanels)
    mayBe = b_.CreateAnd(mayBe, b_.CreateICmpULE(f_.gridExtent(0), b_.getInt32(kFewBlocks)));
  const size_t depth = *b.depthOfB();
  const ir::Shape &shape = f_.type(b.access->result()).shape();
  for (size_t axis = 0; axis < box.start.size(); ++axis) {
    if (axis == depth) continue;
    Value *count = f_.index(shape[static_cast<std::int32_t>(axis)]);
    mayBe = b_.CreateAnd(mayBe, areInside(b_, box.start[axis], count, viewOf(b).extents[axis]));
  }
  Value *start = box.start[depth], *count = f_.index(shape_.k), *extent = viewOf(b).extents[depth];
  placed.areThere = b_.CreateAnd(mayBe, areInside(b_, start, count, extent));
  Value *end = least(extent, f_.index(std::numeric_limits<std::int32_t>::max()));
  Value *areNext = b_.CreateAnd(mayBe, areInside(b_, b_.CreateAdd(start, count), count, end));
  placed.areNextAlike = b_.CreateICmpEQ(placed.areThere, areNext);
  return placed;
}

/// Whether a trip may multiply less than all of its k.
bool WholeEmitter::Product::mayEndInside() const {
  constexpr std::int64_t kShortDepth = 32; // costs less than to look for its end
  return step_.product.endsWithFactors && shape_.k >= kShortDepth;
}

/// How much of k a trip multiplies whose boxes begin there: as much as one of the factors has.
Value *WholeEmitter::Product::depthFrom(Value *start) {
  if (!mayEndInside()) return f_.index(shape_.k);
  const MatrixBox &a = boxOf(0), &b = boxOf(1);
  Value *end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, viewOf(a).extents[a.column],
                                        viewOf(b).extents[*b.depthOfB()]);
  return least(reachOf(end, start), f_.index(shape_.k));
}

/// Whether so much of k lies inside, in whole words.
Value *WholeEmitter::Product::isDepthInside(Value *start, Value *depth, Value *extent) {
  Value *rest = b_.CreateURem(depth, f_.index(stepsTogether(shape_, f_.unit)));
  return b_.CreateAnd(b_.CreateICmpEQ(rest, f_.index(0)), areInside(b_, start, depth, extent));
}

/// Whether those rows of a's box lie inside its view whose sums are wanted.
Value *WholeEmitter::Product::areRowsInside(const Body::BoxPlace &box, Value *wanted) {
  const MatrixBox &a = boxOf(0);
  const ir::Shape &shape = f_.type(a.access->result()).shape();
  Value *areInThere = b_.getTrue();
  for (size_t axis = 0; axis < a.column; ++axis) {
    Value *count = f_.index(shape[static_cast<std::int32_t>(axis)]);
    if (axis == a.row && wanted) count = least(wanted, count);
    areInThere =
        b_.CreateAnd(areInThere, areInside(b_, box.start[axis], count, viewOf(a).extents[axis]));
  }
  return areInThere;
}

Value *WholeEmitter::Product::least(Value *x, Value *y) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
}

void WholeEmitter::emitDot() { Product(*this).emit(); }

} // namespace imbrex::host
