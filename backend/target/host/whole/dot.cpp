#include "backend/target/host/whole/dot.h"

#include "backend/support/check.h"
#include "backend/target/host/nest/counted_loop.h"
#include "backend/target/host/whole/dot_bytes.h"
#include "backend/target/host/whole/dot_operands.h"

#include <algorithm>
#include <vector>

namespace imbrex::host {
namespace {

using ir::ElementKind;
using llvm::Value;

/// One pass of a micro-tile over k: products of these parts of a and b, all into the same sums.
using Sweep = std::vector<std::pair<DotPart, DotPart>>;

/// The parts that a precision multiplies. Where there are two sweeps, the first gathers the small
/// products; its NaNs (of infinities minus themselves) become 0 before the second.
std::vector<Sweep> sweepsOf(ir::Precision precision) {
  switch (precision) {
  case ir::Precision::Ieee: return {{{DotPart::Whole, DotPart::Whole}}};
  case ir::Precision::Tf32: return {{{DotPart::Tf32, DotPart::Tf32}}};
  case ir::Precision::Tf32x3:
    return {{{DotPart::Tf32Rest, DotPart::Tf32}, {DotPart::Tf32, DotPart::Tf32Rest}},
            {{DotPart::Tf32, DotPart::Tf32}}};
  case ir::Precision::Bf16x3:
    return {{{DotPart::Bf16Rest, DotPart::Bf16}, {DotPart::Bf16, DotPart::Bf16Rest}},
            {{DotPart::Bf16, DotPart::Bf16}}};
  }
  IMBREX_UNREACHABLE("a precision that is none");
}

std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// How a dot is cut for the registers, and where its copies lie in scratch.
struct DotPlan {
  std::vector<Sweep> sweeps;
  std::vector<DotPart> partsA, partsB; // copied to scratch, each part once
  bool wantsRows;                      // copied ones of a; else a is read where it is
  bool wantsPanels;                    // of b; else b is read where it is
  std::int64_t lanes;                  // of a vector of sums
  std::int64_t vectors;                // beside each other in a micro-tile
  std::int64_t rows;                   // of a micro-tile
  std::int64_t panelColumns() const { return lanes * vectors; }
  std::int64_t together; // steps of k in an element of a copy
  std::int64_t depth;    // of a copy, in its elements
  std::int64_t elementBytes;
  std::int64_t bytesA;          // of one part
  std::int64_t bytesB;          // of one part: all panels
  std::int64_t bytesCorrection; // of all columns' sums
  std::int64_t bytesRows() const { return std::ssize(partsA) * bytesA; }
  std::int64_t bytesPanels() const { return std::ssize(partsB) * bytesB + bytesCorrection; }
};

bool areBytes(const DotShape &shape) {
  return shape.sum == ElementKind::I32 && ir::info(shape.a).bits == 8 && shape.a == shape.b;
}

DotPlan planDot(const DotShape &shape, const VectorUnit &unit) {
  DotPlan plan;
  plan.sweeps = sweepsOf(shape.precision);
  for (const Sweep &sweep : plan.sweeps)
    for (const auto &[a, b] : sweep) {
      if (!llvm::is_contained(plan.partsA, a)) plan.partsA.push_back(a);
      if (!llvm::is_contained(plan.partsB, b)) plan.partsB.push_back(b);
    }
  plan.wantsRows = wantsRows(shape);
  const std::int32_t bits = ir::info(shape.sum).bits;
  plan.elementBytes = bits / 8;
  plan.together = areBytes(shape) ? ByteProducts::together(unit.byteProduct) : 1;
  plan.depth = roundUp(shape.k, plan.together) / plan.together;
  plan.lanes = unit.lanes(bits);
  plan.vectors = shape.n > plan.lanes ? 2 : 1;
  // Besides the sums, registers hold one row of b and one broadcast element of a; 12 rows of two
  // vectors already hide the latency of a multiply-add.
  constexpr std::int64_t kMostRows = 12;
  plan.rows = std::min({(unit.registers - plan.vectors - 1) / plan.vectors, kMostRows, shape.m});
  plan.wantsPanels = shape.isTransposedB || shape.b != shape.sum ||
                     shape.precision != ir::Precision::Ieee || plan.rows < shape.m;
  if (!plan.wantsPanels) {
    // The wider, the more of a row of b lies side by side.
    constexpr std::int64_t kMostVectors = 16;
    plan.vectors =
        std::clamp<std::int64_t>((unit.registers - 2) / (plan.rows + 1), 1,
                                 std::min(kMostVectors, roundUp(shape.n, plan.lanes) / plan.lanes));
  }
  plan.bytesA = roundUp(shape.m * plan.depth * plan.elementBytes, 64);
  const std::int64_t bytesRow = roundUp(shape.n, plan.lanes) * plan.elementBytes;
  plan.bytesB = roundUp(bytesRow * plan.depth, 64);
  const bool needsCorrection = areBytes(shape) && unit.byteProduct == ByteProduct::UnsignedSigned;
  plan.bytesCorrection = needsCorrection ? roundUp(bytesRow, 64) : 0;
  return plan;
}

/// What copies are of: what the sums are, or parts of a word.
ElementKind copiedFor(const DotShape &shape, std::int64_t together) {
  return together == 1 ? shape.sum : together == 2 ? ElementKind::I16 : shape.a;
}

class DotEmitter {
public:
  DotEmitter(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
             const std::optional<DotPieces> &pieces = std::nullopt)
      : b_(builder), shape_(shape), plan_(planDot(shape, unit)), bytes_(builder, shape.a, unit),
        pieces_(pieces), copied_(copiedFor(shape, plan_.together)),
        element_(scratchElementType(builder.getContext(), shape.sum)) {}

  DotOperand rowsAt(Value *rows) {
    return {rows, i64(plan_.depth), i64(plan_.bytesRows() / plan_.elementBytes)};
  }
  DotOperand panelsAt(Value *panels) {
    return {panels, nullptr, i64(plan_.bytesPanels() / plan_.elementBytes)};
  }

  void copyRows(const DotOperand &a, const DotOperand &rows) {
    forEachMatrix([&](Value *batch) {
      const DotOperand from = atBatch(a, batch, shape_.a), to = atBatch(rows, batch, shape_.sum);
      for (const DotPart part : plan_.partsA) copyA(from, part, to);
    });
  }

  void copyPanels(const DotOperand &b, const DotOperand &panels) {
    forEachMatrix([&](Value *batch) {
      const DotOperand from = atBatch(b, batch, shape_.b);
      Value *to = atBatch(panels, batch, shape_.sum).data;
      if (shape_.isTransposedB)
        for (const DotPart part : plan_.partsB) copyTransposed(from, part, to);
      else if (plan_.together > 1)
        copyWords(from, to);
      else
        for (const DotPart part : plan_.partsB) copyB(from, part, to);
      if (plan_.bytesCorrection > 0) storeCorrections(to);
    });
  }

  void multiply(const DotOperand &a, const DotOperand &b, const DotSums &sums) {
    areNew_ = sums.areNew;
    forEachMatrix([&](Value *batch) {
      forEachPanel([&](Value *firstColumn, std::int64_t columns) {
        multiplyPanel(atBatch(a, batch, shape_.sum), atBatch(b, batch, shape_.sum),
                      atBatch(sums.at, batch, shape_.sum), firstColumn, columns);
      });
    });
  }

private:
  void forEachMatrix(llvm::function_ref<void(Value *batch)> each) {
    emitCountedLoop(b_, i64(shape_.batch), 1, {}, [&](Value *batch, auto) {
      each(batch);
      return Carried{};
    });
  }

  void forEachPanel(llvm::function_ref<void(Value *firstColumn, std::int64_t columns)> each) {
    const std::int64_t full = shape_.n / plan_.panelColumns();
    const std::int64_t rest = shape_.n % plan_.panelColumns();
    if (full > 0)
      emitCountedLoop(b_, i64(full), 1, {}, [&](Value *panel, auto) {
        each(b_.CreateMul(panel, i64(plan_.panelColumns())), plan_.panelColumns());
        return Carried{};
      });
    if (rest > 0) each(i64(full * plan_.panelColumns()), rest);
  }

  /// All rows of `columns` columns from `firstColumn` on.
  void multiplyPanel(const DotOperand &a, const DotOperand &b, const DotOperand &sum,
                     Value *firstColumn, std::int64_t columns) {
    const DotOperand sums{at(sum.data, firstColumn, shape_.sum), sum.rowStride, nullptr};
    const std::int64_t rest = shape_.m % plan_.rows;
    const auto microTile = [&](Value *firstRow, std::int64_t rows) {
      emitMicroTile(a, b, sums,
                    {.firstRow = firstRow,
                     .firstColumn = firstColumn,
                     .rows = rows,
                     .columns = columns,
                     .vectors = roundUp(columns, plan_.lanes) / plan_.lanes});
    };
    emitCountedLoop(b_, i64(shape_.m - rest), plan_.rows, {}, [&](Value *row, auto) {
      microTile(row, plan_.rows);
      return Carried{};
    });
    if (rest > 0) microTile(i64(shape_.m - rest), rest);
  }

  /// a, converted, row after row without gaps.
  void copyA(const DotOperand &a, DotPart part, const DotOperand &rows) {
    emitCountedLoop(b_, i64(shape_.m), 1, {}, [&](Value *row, auto) {
      Value *from = at(a.data, b_.CreateMul(row, a.rowStride), shape_.a);
      Value *to = at(partOfA(rows.data, part), b_.CreateMul(row, i64(plan_.depth)), shape_.sum);
      copyRow(from, shape_.a, part, to, shape_.k);
      for (std::int64_t k = shape_.k; k < plan_.depth * plan_.together; ++k) // of the last word
        b_.CreateStore(llvm::Constant::getNullValue(scratchElementType(b_.getContext(), copied_)),
                       at(to, i64(k), copied_));
      return Carried{};
    });
  }

  /// b, converted, row after row, as it comes from memory. Rows of a panel follow each other
  /// without gaps, and a vector that b does not fill is filled up with zeros.
  void copyB(const DotOperand &b, DotPart part, Value *panels) {
    emitCountedLoop(b_, i64(shape_.k), 1, {}, [&](Value *k, auto) {
      Value *row = at(b.data, b_.CreateMul(k, b.rowStride), shape_.b);
      forEachPanel([&](Value *firstColumn, std::int64_t columns) {
        Value *to = rowOfPanel(panelOf(panels, part, firstColumn), k, columns);
        copyRow(at(row, firstColumn, shape_.b), shape_.b, part, to, columns);
      });
      return Carried{};
    });
  }

  Value *rowOfPanel(Value *panel, Value *k, std::int64_t columns) {
    return at(panel, b_.CreateMul(k, i64(roundUp(columns, plan_.lanes))), shape_.sum);
  }

  /// The same of as many rows of b at a time as have their steps in a word.
  void copyWords(const DotOperand &b, Value *panels) {
    const std::int64_t whole = shape_.k / plan_.together, rest = shape_.k % plan_.together;
    if (whole > 0)
      emitCountedLoop(b_, i64(whole), 1, {}, [&](Value *word, auto) {
        copyWordsOf(b, panels, word, plan_.together);
        return Carried{};
      });
    if (rest > 0) copyWordsOf(b, panels, i64(whole), rest);
  }

  void storeCorrections(Value *panels) {
    forEachPanel([&](Value *firstColumn, std::int64_t columns) {
      storeCorrection(panelOf(panels, DotPart::Whole, firstColumn),
                      correctionsOf(panels, firstColumn), roundUp(columns, plan_.lanes));
    });
  }

  /// The same of a b that is given as its transpose, in squares of a vector's columns and as many
  /// words of k.
  void copyTransposed(const DotOperand &b, DotPart part, Value *panels) {
    forEachPanel([&](Value *firstColumn, std::int64_t columns) {
      Value *panel = panelOf(panels, part, firstColumn);
      const auto square = [&](Value *word, std::int64_t words, std::int64_t steps) {
        for (std::int64_t column = 0; column < columns; column += plan_.lanes)
          copySquare(b, part, panel,
                     {.firstColumn = b_.CreateAdd(firstColumn, i64(column)),
                      .firstWord = word,
                      .columns = std::min(plan_.lanes, columns - column),
                      .words = words,
                      .steps = steps},
                     roundUp(columns, plan_.lanes), column);
      };
      const std::int64_t steps = plan_.lanes * plan_.together;
      const std::int64_t whole = shape_.k / steps * plan_.lanes;
      if (whole > 0)
        emitCountedLoop(b_, i64(whole), plan_.lanes, {}, [&](Value *word, auto) {
          square(word, plan_.lanes, steps);
          return Carried{};
        });
      if (whole < plan_.depth)
        square(i64(whole), plan_.depth - whole, shape_.k - whole * plan_.together);
    });
  }

  struct Square {
    Value *firstColumn, *firstWord;
    std::int64_t columns, words, steps;
  };

  /// To the columns of a panel so many wide from `column` on.
  void copySquare(const DotOperand &b, DotPart part, Value *panel, const Square &square,
                  std::int64_t width, std::int64_t column) {
    Value *k = b_.CreateMul(square.firstWord, i64(plan_.together));
    Carried vectors(static_cast<size_t>(plan_.lanes), llvm::Constant::getNullValue(vectorType()));
    for (std::int64_t i = 0; i < square.columns; ++i) {
      Value *row = b_.CreateMul(b_.CreateAdd(square.firstColumn, i64(i)), b.rowStride);
      Value *loaded = loadDotElements(b_, shape_.b, copied_, part,
                                      at(at(b.data, row, shape_.b), k, shape_.b), square.steps);
      vectors[static_cast<size_t>(i)] =
          b_.CreateBitCast(filledUp(loaded, plan_.lanes * plan_.together), vectorType());
    }
    transpose(vectors);
    for (std::int64_t word = 0; word < square.words; ++word) {
      Value *row = rowOfPanel(panel, b_.CreateAdd(square.firstWord, i64(word)), width);
      b_.CreateAlignedStore(vectors[static_cast<size_t>(word)], at(row, i64(column), shape_.sum),
                            elementAlign());
    }
  }

  /// Each step interleaves the first half of the vectors with the second.
  void transpose(Carried &vectors) {
    llvm::SmallVector<int, 16> low, high;
    const auto lanes = static_cast<int>(plan_.lanes);
    for (int lane = 0; lane < lanes / 2; ++lane) {
      low.append({lane, lane + lanes});
      high.append({lane + lanes / 2, lane + lanes / 2 + lanes});
    }
    for (std::int64_t step = 1; step < plan_.lanes; step *= 2) {
      const Carried before = vectors;
      for (size_t i = 0; i < before.size() / 2; ++i) {
        Value *first = before[i], *second = before[i + before.size() / 2];
        vectors[2 * i] = b_.CreateShuffleVector(first, second, low);
        vectors[2 * i + 1] = b_.CreateShuffleVector(first, second, high);
      }
    }
  }

  /// With zeros.
  Value *filledUp(Value *vector, std::int64_t lanes) {
    const auto has =
        static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
    if (has == lanes) return vector;
    llvm::SmallVector<int, 64> mask;
    for (int lane = 0; lane < lanes; ++lane) mask.push_back(std::min(lane, has));
    return b_.CreateShuffleVector(vector, llvm::Constant::getNullValue(vector->getType()), mask);
  }

  void copyWordsOf(const DotOperand &b, Value *panels, Value *word, std::int64_t steps) {
    Value *first =
        at(b.data, b_.CreateMul(b_.CreateMul(word, i64(plan_.together)), b.rowStride), shape_.b);
    forEachPanel([&](Value *firstColumn, std::int64_t columns) {
      Value *to = rowOfPanel(panelOf(panels, DotPart::Whole, firstColumn), word, columns);
      inVectors(columns, [&](Value *column, std::int64_t lanes) {
        llvm::SmallVector<Value *, 4> rows;
        for (std::int64_t step = 0; step < plan_.together; ++step) {
          Value *row =
              at(at(first, b_.CreateMul(i64(step), b.rowStride), shape_.b), firstColumn, shape_.b);
          rows.push_back(step < steps ? loadDotElements(b_, shape_.b, copied_, DotPart::Whole,
                                                        at(row, column, shape_.b), lanes)
                                      : llvm::Constant::getNullValue(rows[0]->getType()));
        }
        b_.CreateAlignedStore(bytes_.interleaved(rows), at(to, column, shape_.sum), elementAlign());
      });
    });
  }

  void storeCorrection(Value *panel, Value *corrections, std::int64_t width) {
    const std::int64_t vectors = width / plan_.lanes;
    const auto vectorAt = [&](Value *base, std::int64_t v) {
      return at(base, i64(v * plan_.lanes), shape_.sum);
    };
    Carried columns(static_cast<size_t>(vectors), llvm::Constant::getNullValue(vectorType()));
    columns = emitCountedLoop(
        b_, i64(plan_.depth), 1, columns, [&](Value *word, llvm::ArrayRef<Value *> carried) {
          Value *row = at(panel, b_.CreateMul(word, i64(width)), shape_.sum);
          Carried next;
          for (std::int64_t v = 0; v < vectors; ++v) {
            Value *own = b_.CreateAlignedLoad(vectorType(), vectorAt(row, v), elementAlign());
            next.push_back(bytes_.addColumn(carried[static_cast<size_t>(v)], own));
          }
          return next;
        });
    for (std::int64_t v = 0; v < vectors; ++v)
      b_.CreateAlignedStore(bytes_.correction(columns[static_cast<size_t>(v)]),
                            vectorAt(corrections, v), elementAlign());
  }

  /// `each(first, lanes)` for vectors of elements, the last of which may be short; the few of a
  /// panel's row one behind the other.
  void inVectors(std::int64_t count, llvm::function_ref<void(Value *, std::int64_t)> each) {
    constexpr std::int64_t kFew = 4;
    const std::int64_t whole = count - count % plan_.lanes;
    if (whole <= kFew * plan_.lanes)
      for (std::int64_t first = 0; first < whole; first += plan_.lanes)
        each(i64(first), plan_.lanes);
    else
      emitCountedLoop(b_, i64(whole), plan_.lanes, {}, [&](Value *first, auto) {
        each(first, plan_.lanes);
        return Carried{};
      });
    if (whole < count) each(i64(whole), count - whole);
  }

  void copyRow(Value *from, ElementKind kind, DotPart part, Value *to, std::int64_t count) {
    inVectors(count, [&](Value *first, std::int64_t lanes) {
      Value *loaded = loadDotElements(b_, kind, copied_, part, at(from, first, kind), lanes);
      if (plan_.together > 1) loaded = bytes_.ofA(loaded);
      b_.CreateAlignedStore(loaded, at(to, first, copied_),
                            llvm::Align(static_cast<std::uint64_t>(ir::info(copied_).bits / 8)));
    });
  }

  struct Tile {
    Value *firstRow, *firstColumn;
    std::int64_t rows, columns, vectors;
  };

  /// rows x columns sums in registers over all of k.
  void emitMicroTile(const DotOperand &a, const DotOperand &b, const DotOperand &sum,
                     const Tile &tile) {
    Carried sums = loadSums(sum, tile);
    if (plan_.sweeps.size() == 1) {
      storeSums(sum, tile, sweep(a, b, tile, plan_.sweeps[0], sums));
      return;
    }
    Carried small(sums.size(), llvm::Constant::getNullValue(sums[0]->getType()));
    small = sweep(a, b, tile, plan_.sweeps[0], small);
    for (size_t i = 0; i < sums.size(); ++i) {
      Value *isNumber = b_.CreateFCmpORD(small[i], small[i]);
      Value *zero = llvm::Constant::getNullValue(small[i]->getType());
      sums[i] = b_.CreateFAdd(sums[i], b_.CreateSelect(isNumber, small[i], zero));
    }
    storeSums(sum, tile, sweep(a, b, tile, plan_.sweeps[1], sums));
  }

  Carried sweep(const DotOperand &a, const DotOperand &b, const Tile &tile, const Sweep &products,
                const Carried &initial) {
    if (!pieces_) return sweepPiece(a, b, tile, products, initial);
    return emitCountedLoop(
        b_, pieces_->count, 1, initial, [&](Value *piece, llvm::ArrayRef<Value *> carried) {
          DotOperand partOfA = a, partOfB = b;
          partOfA.data =
              b_.CreateGEP(b_.getInt8Ty(), a.data, b_.CreateMul(piece, pieces_->strideA));
          partOfB.data = b_.CreateGEP(b_.getInt8Ty(), b.data,
                                      b_.CreateMul(piece, i64(shape_.batch * plan_.bytesPanels())));
          return sweepPiece(partOfA, partOfB, tile, products, carried);
        });
  }

  Carried sweepPiece(const DotOperand &a, const DotOperand &b, const Tile &tile,
                     const Sweep &products, llvm::ArrayRef<Value *> initial) {
    constexpr std::int64_t kUnroll = 4;
    const std::int64_t depth = plan_.depth, rest = depth % kUnroll;
    Carried sums(initial);
    if (plan_.bytesCorrection > 0) addCorrections(b, tile, sums);
    const auto step = [&](Value *k) {
      for (const auto &[partA, partB] : products)
        multiplyAdd(partOfA(a.data, partA), a.rowStride, rowOfB(b, partB, tile, k), tile, k, sums);
    };
    if (depth >= kUnroll)
      sums = emitCountedLoop(b_, i64(depth - rest), kUnroll, sums,
                             [&](Value *k, llvm::ArrayRef<Value *> carried) {
                               sums.assign(carried.begin(), carried.end());
                               for (std::int64_t u = 0; u < kUnroll; ++u)
                                 step(b_.CreateNUWAdd(k, i64(u)));
                               return sums;
                             });
    for (std::int64_t k = depth - rest; k < depth; ++k) step(i64(k));
    return sums;
  }

  Value *rowOfB(const DotOperand &b, DotPart part, const Tile &tile, Value *k) {
    if (!plan_.wantsPanels)
      return at(at(b.data, tile.firstColumn, shape_.sum), b_.CreateMul(k, b.rowStride), shape_.sum);
    return rowOfPanel(panelOf(b.data, part, tile.firstColumn), k, tile.columns);
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
      Value *left = broadcast(a, strideA, b_.CreateNUWAdd(tile.firstRow, i64(i)), k);
      for (std::int64_t v = 0; v < tile.vectors; ++v) {
        Value *&sum = sums[static_cast<size_t>(i * tile.vectors + v)];
        sum = fusedMultiplyAdd(left, right[static_cast<size_t>(v)], sum);
      }
    }
  }

  Value *broadcast(Value *a, Value *stride, Value *row, Value *k) {
    Value *pointer = at(at(a, b_.CreateMul(row, stride), shape_.sum), k, shape_.sum);
    Value *scalar = b_.CreateAlignedLoad(element_, pointer, elementAlign());
    return b_.CreateVectorSplat(static_cast<unsigned>(plan_.lanes), scalar);
  }

  Value *fusedMultiplyAdd(Value *x, Value *y, Value *z) {
    if (plan_.together > 1) return bytes_.multiplyAdd(x, y, z);
    if (ir::isInteger(shape_.sum)) return b_.CreateAdd(b_.CreateMul(x, y), z);
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {z->getType()}, {x, y, z});
  }

  Carried loadSums(const DotOperand &sum, const Tile &tile) {
    Carried sums;
    llvm::BasicBlock *before = b_.GetInsertBlock();
    llvm::Function *function = before->getParent();
    auto *load = llvm::BasicBlock::Create(b_.getContext(), "load", function);
    auto *multiply = llvm::BasicBlock::Create(b_.getContext(), "multiply", function);
    b_.CreateCondBr(areNew_ ? areNew_ : b_.getFalse(), multiply, load);
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
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      Value *row = b_.CreateMul(b_.CreateNUWAdd(tile.firstRow, i64(i)), sum.rowStride);
      for (std::int64_t v = 0; v < tile.vectors; ++v) {
        const std::int64_t first = v * plan_.lanes;
        visit(at(at(sum.data, row, shape_.sum), i64(first), shape_.sum),
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

  DotOperand atBatch(const DotOperand &operand, Value *batch, ElementKind kind) {
    return {at(operand.data, b_.CreateMul(batch, operand.batchStride), kind), operand.rowStride,
            nullptr};
  }
  Value *at(Value *base, Value *elements, ElementKind kind) {
    return b_.CreateGEP(scratchElementType(b_.getContext(), kind), base, elements);
  }
  Value *bytesInto(Value *memory, std::int64_t bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), memory, i64(bytes));
  }
  Value *partOfA(Value *rows, DotPart part) {
    const auto found = std::ranges::find(plan_.partsA, part);
    return bytesInto(rows, (found - plan_.partsA.begin()) * plan_.bytesA);
  }
  /// Each panel is as wide as its columns, but the last may be short.
  Value *panelOf(Value *panels, DotPart part, Value *firstColumn) {
    const auto found = std::ranges::find(plan_.partsB, part);
    return at(bytesInto(panels, (found - plan_.partsB.begin()) * plan_.bytesB),
              b_.CreateMul(firstColumn, i64(plan_.depth)), shape_.sum);
  }
  /// What sums of these columns begin with.
  Value *correctionsOf(Value *panels, Value *firstColumn) {
    return at(bytesInto(panels, std::ssize(plan_.partsB) * plan_.bytesB), firstColumn, shape_.sum);
  }
  llvm::Type *vectorType() {
    return llvm::FixedVectorType::get(element_, static_cast<unsigned>(plan_.lanes));
  }
  llvm::Align elementAlign() const {
    return llvm::Align(static_cast<std::uint64_t>(plan_.elementBytes));
  }
  llvm::ConstantInt *i64(std::int64_t value) {
    return b_.getInt64(static_cast<std::uint64_t>(value));
  }

  llvm::IRBuilder<> &b_;
  const DotShape &shape_;
  const DotPlan plan_;
  ByteProducts bytes_; // where several steps are together
  std::optional<DotPieces> pieces_;
  Value *areNew_ = nullptr;
  ElementKind copied_;
  llvm::Type *element_;
};

} // namespace

bool wantsRows(const DotShape &shape) {
  return shape.a != shape.sum || shape.precision != ir::Precision::Ieee;
}

bool wantsPanels(const DotShape &shape, const VectorUnit &unit) {
  return planDot(shape, unit).wantsPanels;
}

std::int64_t dotPanelBytes(const DotShape &shape, const VectorUnit &unit) {
  return shape.batch * planDot(shape, unit).bytesPanels();
}

std::int64_t dotRowBytes(const DotShape &shape, const VectorUnit &unit) {
  return shape.batch * planDot(shape, unit).bytesRows();
}

DotOperand dotPanelsAt(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                       Value *panels) {
  return DotEmitter(builder, shape, unit).panelsAt(panels);
}

DotOperand dotRowsAt(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                     Value *rows) {
  return DotEmitter(builder, shape, unit).rowsAt(rows);
}

DotOperand emitDotPanels(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                         const DotOperand &b, Value *panels) {
  DotEmitter emitter(builder, shape, unit);
  emitter.copyPanels(b, emitter.panelsAt(panels));
  return emitter.panelsAt(panels);
}

DotOperand emitDotRows(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                       const DotOperand &a, Value *rows) {
  DotEmitter emitter(builder, shape, unit);
  emitter.copyRows(a, emitter.rowsAt(rows));
  return emitter.rowsAt(rows);
}

bool canHavePieces(const DotShape &shape, const VectorUnit &unit) {
  const DotPlan plan = planDot(shape, unit);
  return plan.wantsPanels && plan.sweeps.size() == 1;
}

void emitDot(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
             const DotOperand &a, const DotOperand &b, const DotSums &sums,
             const std::optional<DotPieces> &pieces) {
  DotEmitter(builder, shape, unit, pieces).multiply(a, b, sums);
}

} // namespace imbrex::host
