#include "backend/target/host/dot/product.h"

namespace imbrex::host {

using llvm::Value;

void DotProduct::multiply(const DotOperand &a, const DotOperand &b) {
  forEachMatrix([&](Value *batch) {
    const Matrices matrices{.a = atBatch(a, batch, plan_.copied),
                            .b = atBatch(b, batch, plan_.word),
                            .from = atBatch(sums_.at, batch, shape_.sum),
                            .to = atBatch(sums_.to, batch, shape_.sum),
                            .areNew = sums_.areNew ? sums_.areNew : b_.getFalse()};
    beginMatrix(matrices);
    if (plan_.slice < plan_.depth)
      multiplySlices(matrices);
    else
      multiplyMatrix(matrices);
  });
}

/// Between two slices sums are where they were before the first.
void DotProduct::multiplySlices(const Matrices &all) {
  emitCountedLoop(b_, i64(plan_.depth), plan_.slice, {}, [&](Value *k, auto) {
    Matrices slice = all;
    slice.a.data = at(all.a.data, k, plan_.copied);
    slice.b.data = at(all.b.data, b_.CreateMul(k, all.b.rowStride), plan_.word);
    slice.areNew = b_.CreateAnd(all.areNew, b_.CreateICmpEQ(k, i64(0)));
    Value *isLast = b_.CreateICmpEQ(k, i64(plan_.depth - plan_.slice));
    slice.to.data = b_.CreateSelect(isLast, all.to.data, all.from.data);
    slice.to.rowStride = b_.CreateSelect(isLast, all.to.rowStride, all.from.rowStride);
    multiplyMatrix(slice);
    return Carried{};
  });
}

void DotProduct::multiplyMatrix(const Matrices &matrices) {
  const auto forEachRows = [&](llvm::function_ref<void(Value *, std::int64_t)> each) {
    const std::int64_t first = shape_.m - plan_.rowsInHalves;
    forEachUnit(0, first, plan_.rows, sums_.rows, each);
    if (plan_.rowsInHalves > 0)
      forEachUnit(first, shape_.m, plan_.rowsInHalves / 2, sums_.rows, each);
  };
  const auto forEachColumns = [&](llvm::function_ref<void(Value *, std::int64_t)> each) {
    forEachUnit(0, shape_.n, plan_.panelColumns(), sums_.columns, each);
  };
  const auto microTile = [&](Value *row, std::int64_t rows, Value *column, std::int64_t columns) {
    emitMicroTile(matrices, {.firstRow = row,
                             .firstColumn = column,
                             .rows = rows,
                             .columns = columns,
                             .vectors = widthOf(columns) / plan_.lanes});
  };
  if (hasNearPanels())
    forEachColumns([&](Value *column, std::int64_t columns) {
      forEachRows([&](Value *row, std::int64_t rows) { microTile(row, rows, column, columns); });
    });
  else
    forEachRows([&](Value *row, std::int64_t rows) {
      forEachColumns(
          [&](Value *column, std::int64_t columns) { microTile(row, rows, column, columns); });
    });
}

/// Whether a panel stays in the first-level cache while all rows of a pass over it. If not, rows
/// stay there while all panels do.
bool DotProduct::hasNearPanels() const {
  // Half of what Zen 2 to 5 and Neoverse have at least.
  constexpr std::int64_t kNearBytes = 16 << 10;
  return !pieces_ && plan_.panelColumns() * plan_.depth * plan_.wordBytes() <= kNearBytes;
}

Carried DotProduct::forEachPiece(const Matrices &matrices, const Carried &initial, PieceBody body) {
  if (!pieces_) return body({matrices.a, matrices.b}, initial);
  return emitCountedLoop(b_, pieces_->count, 1, initial,
                         [&](Value *number, llvm::ArrayRef<Value *> carried) {
                           Piece piece = pieceAt(matrices, number);
                           piece.depth = depthOf(number);
                           return body(piece, carried);
                         });
}

DotProduct::Piece DotProduct::pieceAt(const Matrices &matrices, Value *number) {
  Piece piece{matrices.a, matrices.b};
  piece.a.data = bytesInto(piece.a.data, b_.CreateMul(number, pieces_->strideA));
  piece.b.data = bytesInto(piece.b.data, b_.CreateMul(number, pieces_->strideB));
  return piece;
}

DotProduct::Piece DotProduct::lastPiece(const Matrices &matrices) {
  return pieceAt(matrices, b_.CreateSub(pieces_->count, i64(1)));
}

/// How many elements of copies a piece has; null: as many as all.
Value *DotProduct::depthOf(Value *piece) {
  if (!pieces_->lastDepth) return nullptr;
  Value *isLast = b_.CreateICmpEQ(b_.CreateNUWAdd(piece, i64(1)), pieces_->count);
  return b_.CreateSelect(isLast, lastWords(), i64(plan_.depth));
}

Value *DotProduct::lastWords() {
  return b_.CreateUDiv(b_.CreateNUWAdd(pieces_->lastDepth, i64(plan_.together - 1)),
                       i64(plan_.together));
}

Value *DotProduct::panelOf(const DotOperand &b, DotPart part, const MicroTile &tile) {
  return at(partOfB(b.data, part), b_.CreateMul(tile.firstColumn, b.columnStride), plan_.word);
}

void emitDot(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
             const DotOperand &a, const DotOperand &b, const DotSums &sums,
             const std::optional<DotPieces> &pieces) {
  const auto make = isOnAmx(shape, unit) ? productOnAmx : productOnVectors;
  make(builder, shape, unit, sums, pieces)->multiply(a, b);
}

} // namespace imbrex::host
