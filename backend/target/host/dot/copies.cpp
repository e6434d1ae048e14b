#include "backend/target/host/dot/layout.h"
#include "backend/target/host/nest/control_flow.h"

#include <algorithm>
#include <bit>

/// Copies of factors as a product takes them: rows of a, and panels of b.
namespace imbrex::host {
namespace {

using ir::ElementKind;
using llvm::Value;

class DotCopies : public DotLayout {
public:
  using DotLayout::DotLayout;

  void copyRows(const DotOperand &a, const DotOperand &rows) {
    forEachMatrix([&](Value *batch) {
      const DotOperand from = atBatch(a, batch, shape_.a), to = atBatch(rows, batch, plan_.copied);
      for (const DotPart part : plan_.partsA) copyA(from, part, to);
    });
  }

  void copyPanels(const DotOperand &b, const DotOperand &panels) {
    forEachMatrix([&](Value *batch) {
      const DotOperand from = atBatch(b, batch, shape_.b);
      Value *to = atBatch(panels, batch, plan_.word).data;
      if (shape_.isTransposedB)
        for (const DotPart part : plan_.partsB) copyTransposed(from, part, to);
      else if (plan_.together > 1)
        copyWords(from, to);
      else
        for (const DotPart part : plan_.partsB) copyB(from, part, to);
      if (plan_.bytesCorrection > 0) storeCorrections(to);
    });
  }

private:
  /// a, converted, row after row without gaps.
  void copyA(const DotOperand &a, DotPart part, const DotOperand &rows) {
    emitCountedLoop(b_, i64(shape_.m), 1, {}, [&](Value *row, auto) {
      Value *from = at(a.data, b_.CreateMul(row, a.rowStride), shape_.a);
      Value *to = at(partOfA(rows.data, part), b_.CreateMul(row, i64(plan_.depth)), plan_.word);
      copyRow(from, shape_.a, part, to, shape_.k);
      fillUp(to);
      return Carried{};
    });
  }

  /// The last words of a row that a does not fill.
  void fillUp(Value *row) {
    llvm::Type *element = scratchElementType(b_.getContext(), plan_.copied);
    inPowersOfTwo(shape_.k, plan_.depth * plan_.together,
                  [&](std::int64_t first, std::int64_t lanes) {
                    auto *type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
                    b_.CreateAlignedStore(llvm::Constant::getNullValue(type),
                                          at(row, i64(first), plan_.copied),
                                          llvm::Align(static_cast<std::uint64_t>(copiedBytes())));
                  });
  }

  /// b, converted, row after row, as it comes from memory. Rows of a panel follow each other
  /// without gaps, and a vector that b does not fill is filled up with zeros.
  void copyB(const DotOperand &b, DotPart part, Value *panels) {
    emitCountedLoop(b_, i64(shape_.k), 1, {}, [&](Value *k, auto) {
      Value *row = at(b.data, b_.CreateMul(k, b.rowStride), shape_.b);
      forEachPanel([&](Value *firstColumn, std::int64_t columns) {
        Value *to = rowOfPanel(panelOf(panels, part, firstColumn), k, columns);
        clearLastVector(to, columns);
        copyRow(at(row, firstColumn, shape_.b), shape_.b, part, to, columns);
      });
      return Carried{};
    });
  }

  /// Where columns do not fill it. What others have left there could be subnormal, and whoever
  /// multiplies that takes ten times as long.
  void clearLastVector(Value *row, std::int64_t columns) {
    const std::int64_t rest = columns % plan_.lanes;
    if (rest == 0) return;
    b_.CreateAlignedStore(llvm::Constant::getNullValue(vectorType()),
                          at(row, i64(columns - rest), plan_.word), elementAlign());
  }

  /// The same of as many rows of b at a time as have their steps in a word.
  void copyWords(const DotOperand &b, Value *panels) {
    const std::int64_t whole = shape_.k / plan_.together, rest = shape_.k % plan_.together;
    const std::int64_t begun = rest > 0 ? 1 : 0;
    const auto copyFrom = [&](std::int64_t first, std::int64_t words, std::int64_t steps) {
      if (words == 0) return;
      emitCountedLoop(b_, i64(words), 1, {}, [&](Value *word, auto) {
        copyWordsOf(b, panels, b_.CreateNUWAdd(word, i64(first)), steps);
        return Carried{};
      });
    };
    copyFrom(0, whole, plan_.together);
    copyFrom(whole, begun, rest);
    copyFrom(whole + begun, plan_.depth - whole - begun, 0);
  }

  void storeCorrections(Value *panels) {
    forEachPanel([&](Value *firstColumn, std::int64_t columns) {
      storeCorrection(panelOf(panels, DotPart::Whole, firstColumn),
                      correctionsOf(panels, firstColumn), widthOf(columns));
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
                     widthOf(columns), column);
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
      Value *from = at(at(b.data, row, shape_.b), k, shape_.b);
      vectors[static_cast<size_t>(i)] =
          b_.CreateBitCast(loadFilledUp(from, part, square.steps), vectorType());
    }
    transpose(vectors);
    for (std::int64_t word = 0; word < square.words; ++word) {
      Value *row = rowOfPanel(panel, b_.CreateAdd(square.firstWord, i64(word)), width);
      b_.CreateAlignedStore(vectors[static_cast<size_t>(word)], at(row, i64(column), plan_.word),
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

  /// The first elements of a row of k, and zeros up to a whole vector.
  Value *loadFilledUp(Value *from, DotPart part, std::int64_t count) {
    const std::int64_t all = plan_.lanes * plan_.together;
    Value *filled = nullptr;
    inPowersOfTwo(0, count, [&](std::int64_t first, std::int64_t lanes) {
      Value *piece = filledUp(
          loadDotElements(b_, shape_.b, plan_.copied, part, at(from, i64(first), shape_.b), lanes),
          all);
      filled = filled ? withPiece(filled, piece, first, lanes) : piece;
    });
    return filled;
  }

  /// With zeros.
  Value *filledUp(Value *vector, std::int64_t lanes) {
    const auto has = static_cast<int>(lanesOf(vector));
    if (has == lanes) return vector;
    llvm::SmallVector<int, 64> mask;
    for (int lane = 0; lane < lanes; ++lane) mask.push_back(std::min(lane, has));
    return b_.CreateShuffleVector(vector, llvm::Constant::getNullValue(vector->getType()), mask);
  }

  /// A vector, with the first elements of another from `first` on.
  Value *withPiece(Value *vector, Value *piece, std::int64_t first, std::int64_t count) {
    const auto lanes = static_cast<std::int64_t>(lanesOf(vector));
    llvm::SmallVector<int, 64> mask;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const bool isPiece = lane >= first && lane < first + count;
      mask.push_back(static_cast<int>(isPiece ? lanes + lane - first : lane));
    }
    return b_.CreateShuffleVector(vector, piece, mask);
  }

  static unsigned lanesOf(Value *vector) {
    return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  }

  void copyWordsOf(const DotOperand &b, Value *panels, Value *word, std::int64_t steps) {
    Value *first =
        at(b.data, b_.CreateMul(b_.CreateMul(word, i64(plan_.together)), b.rowStride), shape_.b);
    forEachPanel([&](Value *firstColumn, std::int64_t columns) {
      Value *to = rowOfPanel(panelOf(panels, DotPart::Whole, firstColumn), word, columns);
      inVectors(columns, copiedColumns(), [&](Value *column, std::int64_t lanes) {
        auto *type = llvm::FixedVectorType::get(scratchElementType(b_.getContext(), plan_.copied),
                                                static_cast<unsigned>(lanes));
        llvm::SmallVector<Value *, 4> rows;
        for (std::int64_t step = 0; step < plan_.together; ++step) {
          Value *row =
              at(at(first, b_.CreateMul(i64(step), b.rowStride), shape_.b), firstColumn, shape_.b);
          rows.push_back(step < steps ? loadDotElements(b_, shape_.b, plan_.copied, DotPart::Whole,
                                                        at(row, column, shape_.b), lanes)
                                      : llvm::Constant::getNullValue(type));
        }
        b_.CreateAlignedStore(words_.interleaved(rows), at(to, column, plan_.word), elementAlign());
      });
    });
  }

  /// Of b, that are copied at once: words of a vector, or of a matrix product's panel, whose
  /// vectors have few.
  std::int64_t copiedColumns() const {
    if (plan_.rowsTogether == 1) return plan_.lanes;
    return static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(plan_.panelColumns())));
  }

  void storeCorrection(Value *panel, Value *corrections, std::int64_t width) {
    const std::int64_t vectors = width / plan_.lanes;
    const auto vectorAt = [&](Value *base, std::int64_t v) {
      return at(base, i64(v * plan_.lanes), plan_.word);
    };
    Carried columns(static_cast<size_t>(vectors), llvm::Constant::getNullValue(vectorType()));
    columns = emitCountedLoop(
        b_, i64(plan_.depth), 1, columns, [&](Value *word, llvm::ArrayRef<Value *> carried) {
          Value *row = rowOfPanel(panel, word, width);
          Carried next;
          for (std::int64_t v = 0; v < vectors; ++v) {
            Value *own = b_.CreateAlignedLoad(vectorType(), vectorAt(row, v), elementAlign());
            next.push_back(words_.addColumn(carried[static_cast<size_t>(v)], own));
          }
          return next;
        });
    for (std::int64_t v = 0; v < vectors; ++v)
      b_.CreateAlignedStore(words_.correction(columns[static_cast<size_t>(v)]),
                            vectorAt(corrections, v), elementAlign());
  }

  /// `each(first, lanes)` for elements that are no whole vector: LLVM 22 has no code for nine of
  /// bf16 where AVX-512 BF16 is ("Do not know how to soft promote this operator's operand").
  void inPowersOfTwo(std::int64_t first, std::int64_t count,
                     llvm::function_ref<void(std::int64_t, std::int64_t)> each) {
    while (first < count) {
      const auto lanes =
          static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - first)));
      each(first, lanes);
      first += lanes;
    }
  }

  /// `each(first, lanes)` for vectors of so many elements, a few in a trip, and for what is left.
  void inVectors(std::int64_t count, std::int64_t lanes,
                 llvm::function_ref<void(Value *, std::int64_t)> each) {
    constexpr std::int64_t kFew = 4;
    const std::int64_t perTrip = kFew * lanes, whole = count - count % lanes;
    const std::int64_t inTrips = whole > perTrip ? whole - whole % perTrip : 0;
    if (inTrips > 0)
      emitCountedLoop(b_, i64(inTrips), perTrip, {}, [&](Value *first, auto) {
        for (std::int64_t at = 0; at < perTrip; at += lanes)
          each(b_.CreateNUWAdd(first, i64(at)), lanes);
        return Carried{};
      });
    for (std::int64_t first = inTrips; first < whole; first += lanes) each(i64(first), lanes);
    inPowersOfTwo(whole, count,
                  [&](std::int64_t first, std::int64_t rest) { each(i64(first), rest); });
  }

  void copyRow(Value *from, ElementKind kind, DotPart part, Value *to, std::int64_t count) {
    inVectors(count, plan_.lanes * plan_.together, [&](Value *first, std::int64_t lanes) {
      Value *loaded = loadDotElements(b_, kind, plan_.copied, part, at(from, first, kind), lanes);
      if (plan_.together > 1) loaded = words_.ofA(loaded);
      b_.CreateAlignedStore(loaded, at(to, first, plan_.copied),
                            llvm::Align(static_cast<std::uint64_t>(copiedBytes())));
    });
  }
};

} // namespace

DotOperand emitDotPanels(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                         const DotOperand &b, Value *panels) {
  DotCopies copies(builder, shape, unit);
  copies.copyPanels(b, copies.panelsAt(panels));
  return copies.panelsAt(panels);
}

DotOperand emitDotRows(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                       const DotOperand &a, Value *rows) {
  DotCopies copies(builder, shape, unit);
  copies.copyRows(a, copies.rowsAt(rows));
  return copies.rowsAt(rows);
}

} // namespace imbrex::host
