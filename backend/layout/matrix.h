#pragma once

#include "backend/layout/linear_layout.h"

#include <optional>

/// Linear algebra over F2 on plain lists of vectors. A matrix is the list of its columns; the sum
/// of two vectors is their exclusive or.
namespace imbrex::layout {

using Vectors = llvm::SmallVector<Bits, 16>;

/// matrix · vector.
Bits multiply(llvm::ArrayRef<Bits> columns, Bits vector);

/// A subspace that grows vector by vector, by Gaussian elimination. It remembers of which of the
/// vectors each of its elements is the sum.
class Subspace {
public:
  Subspace() = default;
  explicit Subspace(llvm::ArrayRef<Bits> vectors) { addAll(vectors); }

  /// Whether the vector was outside, and so the dimension grew.
  bool add(Bits vector);
  void addAll(llvm::ArrayRef<Bits> vectors);

  std::int32_t dimension() const { return static_cast<std::int32_t>(rows_.size()); }
  bool contains(Bits vector) const { return reduced({vector, 0}).vector == 0; }
  /// Which of the added vectors sum up to this one, bit i for the i-th; nothing if none do. Vectors
  /// that were inside when they were added are never used: of all answers this is the least number.
  std::optional<Bits> coordinates(Bits vector) const;

private:
  /// A vector and the added vectors whose sum it is.
  struct Vector {
    Bits vector, sources;
  };
  struct Row : Vector {
    Bits leading; ///< The highest bit, which no other row has.
  };
  Vector reduced(Vector row) const;

  llvm::SmallVector<Row, 8> rows_;
  std::int32_t added_ = 0;
};

std::int32_t rank(llvm::ArrayRef<Bits> vectors);

/// The bits that are set in any of the vectors, and so the only ones in what they span.
Bits unionOf(llvm::ArrayRef<Bits> vectors);

/// A basis of the x with matrix · x = 0. Each vector's highest bit is a column that depends on the
/// columns before it, and stands in no other vector.
Vectors kernel(llvm::ArrayRef<Bits> columns);

/// A basis of what both lists span.
Vectors intersection(llvm::ArrayRef<Bits> a, llvm::ArrayRef<Bits> b);

/// Those of `candidates`, in order, that enlarge the span of `vectors` and of those before them.
Vectors extension(llvm::ArrayRef<Bits> vectors, llvm::ArrayRef<Bits> candidates);

/// The unit vectors of so many dimensions, lowest first.
Vectors unitVectors(std::int32_t dimensions);

} // namespace imbrex::layout
