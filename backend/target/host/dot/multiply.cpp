#include "backend/target/host/dot/layout.h"
#include "backend/target/host/nest/control_flow.h"

#include <algorithm>

/// The product of factors as they are wanted, micro-tile by micro-tile.
namespace imbrex::host {
namespace {

using llvm::Value;

class DotProduct : public DotLayout {
public:
  DotProduct(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
             const DotSums &sums, const std::optional<DotPieces> &pieces)
      : DotLayout(builder, shape, unit), sums_(sums), pieces_(pieces) {}

  void multiply(const DotOperand &a, const DotOperand &b) {
    forEachMatrix([&](Value *batch) {
      const DotOperand ofA = atBatch(a, batch, plan_.copied), ofB = atBatch(b, batch, shape_.sum);
      const DotOperand from = atBatch(sums_.at, batch, shape_.sum),
                       to = atBatch(sums_.to, batch, shape_.sum);
      const auto microTile = [&](Value *row, std::int64_t rows, Value *column,
                                 std::int64_t columns) {
        emitMicroTile(ofA, ofB, from, to,
                      {.firstRow = row,
                       .firstColumn = column,
                       .rows = rows,
                       .columns = columns,
                       .vectors = widthOf(columns) / plan_.lanes});
      };
      if (hasNearPanels())
        forEachColumns([&](Value *column, std::int64_t columns) {
          forEachRows(
              [&](Value *row, std::int64_t rows) { microTile(row, rows, column, columns); });
        });
      else
        forEachRows([&](Value *row, std::int64_t rows) {
          forEachColumns(
              [&](Value *column, std::int64_t columns) { microTile(row, rows, column, columns); });
        });
    });
  }

private:
  /// Whether a panel stays in the first-level cache while all rows of a pass over it. If not, rows
  /// stay there while all panels do.
  bool hasNearPanels() const {
    // Half of what Zen 2 to 5 and Neoverse have at least.
    constexpr std::int64_t kNearBytes = 16 << 10;
    return !pieces_ && plan_.panelColumns() * plan_.depth * plan_.elementBytes <= kNearBytes;
  }

  void forEachRows(llvm::function_ref<void(Value *firstRow, std::int64_t rows)> each) {
    forEachUnit(shape_.m, plan_.rows, sums_.rows, each);
  }

  void forEachColumns(llvm::function_ref<void(Value *firstColumn, std::int64_t columns)> each) {
    forEachUnit(shape_.n, plan_.panelColumns(), sums_.columns, each);
  }

  struct Tile {
    Value *firstRow, *firstColumn;
    std::int64_t rows, columns, vectors;
  };

  /// rows x columns sums in registers over all of k.
  void emitMicroTile(const DotOperand &a, const DotOperand &b, const DotOperand &from,
                     const DotOperand &to, const Tile &tile) {
    Carried sums = loadSums(from, tile);
    if (plan_.sweeps.size() == 1) {
      storeSums(to, tile, sweep(a, b, tile, plan_.sweeps[0], sums));
      return;
    }
    Carried small(sums.size(), llvm::Constant::getNullValue(sums[0]->getType()));
    small = sweep(a, b, tile, plan_.sweeps[0], small);
    for (size_t i = 0; i < sums.size(); ++i) {
      Value *isNumber = b_.CreateFCmpORD(small[i], small[i]);
      Value *zero = llvm::Constant::getNullValue(small[i]->getType());
      sums[i] = b_.CreateFAdd(sums[i], b_.CreateSelect(isNumber, small[i], zero));
    }
    storeSums(to, tile, sweep(a, b, tile, plan_.sweeps[1], sums));
  }

  Carried sweep(const DotOperand &a, const DotOperand &b, const Tile &tile, const Sweep &products,
                const Carried &initial) {
    if (!pieces_) return sweepPiece(a, b, tile, products, initial);
    return emitCountedLoop(
        b_, pieces_->count, 1, initial, [&](Value *piece, llvm::ArrayRef<Value *> carried) {
          DotOperand partOfA = a, partOfB = b;
          partOfA.data = bytesInto(a.data, b_.CreateMul(piece, pieces_->strideA));
          partOfB.data = bytesInto(b.data, b_.CreateMul(piece, pieces_->strideB));
          return sweepPiece(partOfA, partOfB, tile, products, carried, depthOf(piece));
        });
  }

  /// How many elements of copies a piece has; null: as many as all.
  Value *depthOf(Value *piece) {
    if (!pieces_->lastDepth) return nullptr;
    Value *isLast = b_.CreateICmpEQ(b_.CreateNUWAdd(piece, i64(1)), pieces_->count);
    Value *last = b_.CreateUDiv(b_.CreateNUWAdd(pieces_->lastDepth, i64(plan_.together - 1)),
                                i64(plan_.together));
    return b_.CreateSelect(isLast, last, i64(plan_.depth));
  }

  Carried sweepPiece(const DotOperand &a, const DotOperand &b, const Tile &tile,
                     const Sweep &products, llvm::ArrayRef<Value *> initial,
                     Value *depth = nullptr) {
    Carried sums(initial);
    if (plan_.bytesCorrection > 0) addCorrections(b, tile, sums);
    const auto step = [&](Value *k) {
      for (const auto &[partA, partB] : products)
        multiplyAdd(partOfA(a.data, partA), a.rowStride, rowOfB(b, partB, tile, k), tile, k, sums);
    };
    const auto loop = [&](Value *end, std::int64_t unroll) {
      sums = emitCountedLoop(b_, end, unroll, sums, [&](Value *k, llvm::ArrayRef<Value *> carried) {
        sums.assign(carried.begin(), carried.end());
        for (std::int64_t u = 0; u < unroll; ++u) step(b_.CreateNUWAdd(k, i64(u)));
        return sums;
      });
    };
    // A loop around so many multiply-adds costs nothing.
    constexpr std::int64_t kLongStep = 16, kUnroll = 4;
    const bool isLong = tile.rows * tile.vectors >= kLongStep;
    if (depth || isLong) {
      loop(depth ? depth : i64(plan_.depth), 1);
      return sums;
    }
    const std::int64_t rest = plan_.depth % kUnroll, whole = plan_.depth - rest;
    if (whole > 0) loop(i64(whole), kUnroll);
    for (std::int64_t k = whole; k < plan_.depth; ++k) step(i64(k));
    return sums;
  }

  Value *rowOfB(const DotOperand &b, DotPart part, const Tile &tile, Value *k) {
    if (!plan_.wantsPanels)
      return at(at(b.data, tile.firstColumn, shape_.sum), b_.CreateMul(k, b.rowStride), shape_.sum);
    Value *panel =
        at(partOfB(b.data, part), b_.CreateMul(tile.firstColumn, b.columnStride), shape_.sum);
    if (tile.columns < plan_.panelColumns()) return rowOfPanel(panel, k, tile.columns);
    return at(panel, b_.CreateMul(k, b.rowStride), shape_.sum);
  }

  /// sums += column k of a times this row of b.
  void multiplyAdd(Value *a, Value *strideA, Value *row, const Tile &tile, Value *k,
                   Carried &sums) {
    llvm::SmallVector<Value *, 16> right;
    for (std::int64_t v = 0; v < tile.vectors; ++v) {
      // A panel is filled up; b itself may end.
      const std::int64_t first = v * plan_.lanes;
      const std::int64_t lanes =
          plan_.wantsPanels ? plan_.lanes : std::min(plan_.lanes, tile.columns - first);
      right.push_back(loadVector(at(row, i64(first), shape_.sum), lanes));
    }
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      Value *left = broadcast(a, strideA, rowOfA(tile, i), k);
      for (std::int64_t v = 0; v < tile.vectors; ++v) {
        Value *&sum = sums[static_cast<size_t>(i * tile.vectors + v)];
        sum = fusedMultiplyAdd(left, right[static_cast<size_t>(v)], sum);
      }
    }
  }

  /// Behind the last row that is wanted there may be none.
  Value *rowOfA(const Tile &tile, std::int64_t i) {
    Value *row = b_.CreateNUWAdd(tile.firstRow, i64(i));
    if (!pieces_ || !sums_.rows || plan_.wantsRows) return row;
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, row, b_.CreateSub(sums_.rows, i64(1)));
  }

  Value *broadcast(Value *a, Value *stride, Value *row, Value *k) {
    Value *pointer = at(at(a, b_.CreateMul(row, stride), plan_.copied), k, shape_.sum);
    const llvm::Align align(static_cast<std::uint64_t>(copiedBytes()));
    Value *scalar = b_.CreateAlignedLoad(element_, pointer, align);
    return b_.CreateVectorSplat(static_cast<unsigned>(plan_.lanes), scalar);
  }

  Value *fusedMultiplyAdd(Value *x, Value *y, Value *z) {
    if (plan_.together > 1) return words_.multiplyAdd(x, y, z);
    if (ir::isInteger(shape_.sum)) return b_.CreateAdd(b_.CreateMul(x, y), z);
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {z->getType()}, {x, y, z});
  }

  Carried loadSums(const DotOperand &sum, const Tile &tile) {
    Carried sums;
    llvm::BasicBlock *before = b_.GetInsertBlock();
    llvm::Function *function = before->getParent();
    auto *load = llvm::BasicBlock::Create(b_.getContext(), "load", function);
    auto *multiply = llvm::BasicBlock::Create(b_.getContext(), "multiply", function);
    b_.CreateCondBr(sums_.areNew ? sums_.areNew : b_.getFalse(), multiply, load);
    b_.SetInsertPoint(load);
    forEachVector(sum, tile, [&](Value *pointer, std::int64_t lanes) {
      sums.push_back(loadVector(pointer, lanes));
    });
    b_.CreateBr(multiply);
    b_.SetInsertPoint(multiply);
    for (Value *&each : sums) {
      llvm::PHINode *either = b_.CreatePHI(each->getType(), 2);
      either->addIncoming(llvm::Constant::getNullValue(each->getType()), before);
      either->addIncoming(each, load);
      each = either;
    }
    return sums;
  }

  /// As wide as all are, of so many elements in memory.
  Value *loadVector(Value *pointer, std::int64_t lanes) {
    llvm::Type *type = llvm::FixedVectorType::get(element_, static_cast<unsigned>(lanes));
    return resized(b_.CreateAlignedLoad(type, pointer, elementAlign()), lanes, plan_.lanes);
  }

  void addCorrections(const DotOperand &b, const Tile &tile, Carried &sums) {
    Value *corrections = correctionsOf(b.data, tile.firstColumn);
    for (std::int64_t v = 0; v < tile.vectors; ++v) {
      Value *from = at(corrections, i64(v * plan_.lanes), shape_.sum);
      Value *correction = b_.CreateAlignedLoad(vectorType(), from, elementAlign());
      for (std::int64_t i = 0; i < tile.rows; ++i) {
        Value *&sum = sums[static_cast<size_t>(i * tile.vectors + v)];
        sum = b_.CreateAdd(sum, correction);
      }
    }
  }

  void storeSums(const DotOperand &sum, const Tile &tile, const Carried &sums) {
    size_t next = 0;
    forEachVector(sum, tile, [&](Value *pointer, std::int64_t lanes) {
      b_.CreateAlignedStore(resized(sums[next++], plan_.lanes, lanes), pointer, elementAlign());
    });
  }

  /// The memory of each vector of sums; the last of a row may be short.
  void forEachVector(const DotOperand &sum, const Tile &tile,
                     llvm::function_ref<void(Value *pointer, std::int64_t lanes)> visit) {
    Value *columns = at(sum.data, tile.firstColumn, shape_.sum);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      Value *row = b_.CreateMul(b_.CreateNUWAdd(tile.firstRow, i64(i)), sum.rowStride);
      for (std::int64_t v = 0; v < tile.vectors; ++v) {
        const std::int64_t first = v * plan_.lanes;
        visit(at(at(columns, row, shape_.sum), i64(first), shape_.sum),
              std::min(plan_.lanes, tile.columns - first));
      }
    }
  }

  /// The first lanes of a vector, or the vector with lanes of no meaning behind it.
  Value *resized(Value *vector, std::int64_t from, std::int64_t to) {
    if (from == to) return vector;
    llvm::SmallVector<int, 32> mask;
    for (std::int64_t lane = 0; lane < to; ++lane)
      mask.push_back(lane < from ? static_cast<int>(lane) : -1);
    return b_.CreateShuffleVector(vector, mask);
  }

  const DotSums sums_;
  const std::optional<DotPieces> pieces_;
};

} // namespace

void emitDot(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
             const DotOperand &a, const DotOperand &b, const DotSums &sums,
             const std::optional<DotPieces> &pieces) {
  DotProduct(builder, shape, unit, sums, pieces).multiply(a, b);
}

} // namespace imbrex::host
