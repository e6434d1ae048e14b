#include "backend/target/host/dot/product.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace imbrex::host {
namespace {

using llvm::Value;

class VectorProduct final : public DotProduct {
public:
  using DotProduct::DotProduct;

private:
  void emitMicroTile(const Matrices &matrices, const MicroTile &tile) override {
    Carried sums = loadSums(matrices, tile);
    if (plan_.sweeps.size() > 1) {
      Carried small(sums.size(), llvm::Constant::getNullValue(sums[0]->getType()));
      small = sweep(matrices, tile, plan_.sweeps[0], small);
      for (size_t i = 0; i < sums.size(); ++i) {
        Value *isNumber = b_.CreateFCmpORD(small[i], small[i]);
        Value *zero = llvm::Constant::getNullValue(small[i]->getType());
        sums[i] = b_.CreateFAdd(sums[i], b_.CreateSelect(isNumber, small[i], zero));
      }
    }
    storeSums(matrices.to, tile, sweep(matrices, tile, plan_.sweeps.back(), sums));
  }

  Carried sweep(const Matrices &matrices, const MicroTile &tile, const Sweep &products,
                const Carried &initial) {
    return forEachPiece(matrices, initial,
                        [&](const Piece &piece, llvm::ArrayRef<Value *> carried) {
                          return sweepPiece(piece, tile, products, carried);
                        });
  }

  Carried sweepPiece(const Piece &piece, const MicroTile &tile, const Sweep &products,
                     llvm::ArrayRef<Value *> initial) {
    Carried sums(initial);
    if (plan_.bytesCorrection > 0) addCorrections(piece.b, tile, sums);
    const Ahead ahead = aheadOf(piece.b, tile);
    llvm::SmallVector<Factors, 2> factors;
    for (const auto &[partA, partB] : products)
      factors.push_back(factorsOf(piece, partA, partB, tile));
    const auto step = [&](Value *k, std::int64_t further) {
      if (ahead.first) prefetch(ahead, b_.CreateNUWAdd(k, i64(further)));
      for (const Factors &each : factors) multiplyAdd(each, tile, k, further, sums);
    };
    // A loop around so many multiply-adds costs nothing; what is left of rows and columns is less.
    constexpr std::int64_t kLongStep = 16;
    const bool isWhole = tile.rows == plan_.rows && tile.columns == plan_.panelColumns();
    const std::int64_t unroll = isWhole && std::ssize(sums) < kLongStep ? 4 : 1;
    const auto loop = [&](Value *first, Value *end, std::int64_t steps) {
      const auto body = [&](Value *k, llvm::ArrayRef<Value *> carried) {
        sums.assign(carried.begin(), carried.end());
        for (std::int64_t i = 0; i < steps; ++i) step(k, i);
        return sums;
      };
      sums = emitLoopFrom(b_, first, end, steps, Carried(sums), body);
    };
    Value *depth = piece.depth ? piece.depth : i64(plan_.slice);
    Value *whole = b_.CreateSub(depth, b_.CreateURem(depth, i64(unroll)));
    loop(i64(0), whole, unroll);
    if (whole != depth) loop(whole, depth, 1);
    return sums;
  }

  /// The share of the next panels that a micro-tile prefetches, so that all have the same: from
  /// where on, and how much in each step of k.
  struct Ahead {
    Value *first;
    std::int64_t bytesPerStep;
  };
  Ahead aheadOf(const DotOperand &b, const MicroTile &tile) {
    if (!b.next) return {};
    const std::int64_t across = llvm::divideCeilSigned(shape_.n, plan_.panelColumns());
    const std::int64_t below = llvm::divideCeilSigned(shape_.m, plan_.rows);
    const std::int64_t bytesPerStep =
        llvm::divideCeilSigned(plan_.bytesPanels(), across * below * plan_.depth);
    Value *above =
        b_.CreateUDiv(b_.CreateNUWAdd(tile.firstRow, i64(plan_.rows - 1)), i64(plan_.rows));
    Value *number = b_.CreateAdd(b_.CreateMul(above, i64(across)),
                                 b_.CreateUDiv(tile.firstColumn, i64(plan_.panelColumns())));
    return {bytesInto(b.next, b_.CreateMul(number, i64(bytesPerStep * plan_.depth))), bytesPerStep};
  }

  void prefetch(const Ahead &ahead, Value *k) {
    constexpr std::int64_t kLine = 64;
    constexpr int kToRead = 0, kSecondLevel = 2, kData = 1; // see llvm.prefetch
    Value *first = bytesInto(ahead.first, b_.CreateMul(k, i64(ahead.bytesPerStep)));
    for (std::int64_t line = 0; line < ahead.bytesPerStep; line += kLine) {
      Value *address = bytesInto(first, i64(line));
      b_.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {address->getType()},
          {address, b_.getInt32(kToRead), b_.getInt32(kSecondLevel), b_.getInt32(kData)});
    }
  }

  /// Where a micro-tile's rows of a begin, and its columns of b, of which a row is so many elements
  /// behind the one before. Frozen: of what they are made LLVM would look for cheaper addresses in
  /// the loop over k, for half of a compilation, and finds none.
  struct Factors {
    llvm::SmallVector<Value *, 12> rows;
    Value *columns, *strideB;
  };
  Factors factorsOf(const Piece &piece, DotPart partA, DotPart partB, const MicroTile &tile) {
    Factors factors;
    Value *a = partOfA(piece.a.data, partA);
    for (std::int64_t i = 0; i < tile.rows; ++i)
      factors.rows.push_back(
          b_.CreateFreeze(at(a, b_.CreateMul(rowOfA(tile, i), piece.a.rowStride), plan_.copied)));
    factors.columns =
        b_.CreateFreeze(plan_.wantsPanels ? panelOf(piece.b, partB, tile)
                                          : at(piece.b.data, tile.firstColumn, plan_.word));
    const bool isShort = plan_.wantsPanels && tile.columns < plan_.panelColumns();
    factors.strideB = isShort ? i64(widthOf(tile.columns)) : piece.b.rowStride;
    return factors;
  }

  /// sums += a's column times b's row, `further` behind k: so the address is one, and a constant.
  void multiplyAdd(const Factors &factors, const MicroTile &tile, Value *k, std::int64_t further,
                   Carried &sums) {
    Value *row = at(at(factors.columns, b_.CreateMul(k, factors.strideB), plan_.word),
                    b_.CreateMul(factors.strideB, i64(further)), plan_.word);
    llvm::SmallVector<Value *, 16> right;
    for (std::int64_t v = 0; v < tile.vectors; ++v) {
      // A panel is filled up; b itself may end.
      const std::int64_t first = v * plan_.lanes;
      const std::int64_t lanes =
          plan_.wantsPanels ? plan_.lanes : std::min(plan_.lanes, tile.columns - first);
      right.push_back(loadVector(at(row, i64(first), plan_.word), plan_.word, lanes));
    }
    auto sum = sums.begin();
    for (std::int64_t i = 0; i < tile.rows; i += plan_.rowsTogether) {
      Value *left = wordsOfA(factors, tile, i, k, further);
      for (Value *columns : right) {
        *sum = fusedMultiplyAdd(left, columns, *sum);
        ++sum;
      }
    }
  }

  /// As many as a vector has: of a row the same, of two rows both. A row alone stands for two.
  Value *wordsOfA(const Factors &factors, const MicroTile &tile, std::int64_t row, Value *k,
                  std::int64_t further) {
    const auto wordOf = [&](std::int64_t i) {
      Value *first = at(factors.rows[static_cast<size_t>(i)], k, plan_.word);
      return b_.CreateAlignedLoad(scratchElementType(b_.getContext(), plan_.word),
                                  at(first, i64(further), plan_.word),
                                  llvm::Align(static_cast<std::uint64_t>(copiedBytes())));
    };
    Value *words = b_.CreateVectorSplat(static_cast<unsigned>(plan_.lanes), wordOf(row));
    if (plan_.rowsTogether == 1 || row + 1 == tile.rows) return words;
    return b_.CreateInsertElement(words, wordOf(row + 1), std::uint64_t{1});
  }

  /// Behind the last row that is wanted there may be none.
  Value *rowOfA(const MicroTile &tile, std::int64_t i) {
    Value *row = b_.CreateNUWAdd(tile.firstRow, i64(i));
    if (!pieces_ || !sums_.rows || plan_.wantsRows) return row;
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, row, b_.CreateSub(sums_.rows, i64(1)));
  }

  Value *fusedMultiplyAdd(Value *x, Value *y, Value *z) {
    if (plan_.together > 1) return words_.multiplyAdd(x, y, z);
    if (ir::isInteger(shape_.sum)) return b_.CreateAdd(b_.CreateMul(x, y), z);
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {z->getType()}, {x, y, z});
  }

  Carried loadSums(const Matrices &matrices, const MicroTile &tile) {
    Carried sums;
    llvm::BasicBlock *before = b_.GetInsertBlock();
    llvm::Function *function = before->getParent();
    auto *load = llvm::BasicBlock::Create(b_.getContext(), "load", function);
    auto *multiply = llvm::BasicBlock::Create(b_.getContext(), "multiply", function);
    b_.CreateCondBr(matrices.areNew, multiply, load);
    b_.SetInsertPoint(load);
    forEachVector(matrices.from, tile, [&](Value *pointer, std::int64_t lanes) {
      sums.push_back(loadVector(pointer, shape_.sum, lanes));
    });
    sums = joined(sums, tile);
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
  Value *loadVector(Value *pointer, ir::ElementKind kind, std::int64_t lanes) {
    llvm::Type *type = llvm::FixedVectorType::get(scratchElementType(b_.getContext(), kind),
                                                  static_cast<unsigned>(lanes));
    return resized(b_.CreateAlignedLoad(type, pointer, elementAlign()), lanes, plan_.lanes);
  }

  void addCorrections(const DotOperand &b, const MicroTile &tile, Carried &sums) {
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

  void storeSums(const DotOperand &sum, const MicroTile &tile, const Carried &sums) {
    const Carried rows = parted(sums, tile);
    size_t next = 0;
    forEachVector(sum, tile, [&](Value *pointer, std::int64_t lanes) {
      b_.CreateAlignedStore(resized(rows[next++], plan_.lanes, lanes), pointer, elementAlign());
    });
  }

  /// Vectors of sums, from those of each row: of two rows the first's lanes and then the second's.
  Carried joined(const Carried &rows, const MicroTile &tile) {
    if (plan_.rowsTogether == 1) return rows;
    Carried sums;
    for (std::int64_t i = 0; i < tile.rows; i += plan_.rowsTogether)
      for (std::int64_t v = 0; v < tile.vectors; ++v) {
        const auto first = static_cast<size_t>(i * tile.vectors + v);
        const auto second = i + 1 < tile.rows ? first + static_cast<size_t>(tile.vectors) : first;
        sums.push_back(
            b_.CreateShuffleVector(rows[first], rows[second], lanesFrom(0, plan_.rowsTogether)));
      }
    return sums;
  }

  /// And back.
  Carried parted(const Carried &sums, const MicroTile &tile) {
    if (plan_.rowsTogether == 1) return sums;
    Carried rows;
    for (std::int64_t i = 0; i < tile.rows; ++i)
      for (std::int64_t v = 0; v < tile.vectors; ++v) {
        Value *both = sums[static_cast<size_t>(i / plan_.rowsTogether * tile.vectors + v)];
        rows.push_back(b_.CreateShuffleVector(both, lanesFrom(i % plan_.rowsTogether, 1)));
      }
    return rows;
  }

  /// Those of so many rows of a vector of sums.
  llvm::SmallVector<int, 4> lanesFrom(std::int64_t row, std::int64_t rows) {
    llvm::SmallVector<int, 4> mask(static_cast<size_t>(rows * plan_.lanes));
    std::iota(mask.begin(), mask.end(), static_cast<int>(row * plan_.lanes));
    return mask;
  }

  /// The memory of each row's vectors of sums; the last of a row may be short.
  void forEachVector(const DotOperand &sum, const MicroTile &tile,
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
};

} // namespace

std::unique_ptr<DotProduct> productOnVectors(llvm::IRBuilder<> &builder, const DotShape &shape,
                                             const VectorUnit &unit, const DotSums &sums,
                                             const std::optional<DotPieces> &pieces) {
  return std::make_unique<VectorProduct>(builder, shape, unit, sums, pieces);
}

} // namespace imbrex::host
