#include "backend/layout/matrix.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace imbrex::layout {

Bits multiply(llvm::ArrayRef<Bits> columns, Bits vector) {
  Bits sum = 0;
  for (const Bits column : columns) {
    if ((vector & 1) != 0) sum ^= column;
    vector >>= 1;
  }
  return sum;
}

Subspace::Vector Subspace::reduced(Vector row) const {
  for (const Row &other : rows_)
    if ((row.vector & other.leading) != 0)
      row = {row.vector ^ other.vector, row.sources ^ other.sources};
  return row;
}

bool Subspace::add(Bits vector) {
  const Vector row = reduced({vector, added_ < 64 ? Bits{1} << added_ : 0});
  ++added_;
  if (row.vector == 0) return false;
  const Bits leading = llvm::bit_floor(row.vector);
  for (Row &other : rows_)
    if ((other.vector & leading) != 0)
      other = {{other.vector ^ row.vector, other.sources ^ row.sources}, other.leading};
  rows_.push_back({row, leading});
  return true;
}

void Subspace::addAll(llvm::ArrayRef<Bits> vectors) {
  for (const Bits vector : vectors) add(vector);
}

std::optional<Bits> Subspace::coordinates(Bits vector) const {
  IMBREX_CHECK(added_ <= 64, "coordinates among {0} vectors", added_);
  const Vector row = reduced({vector, 0});
  if (row.vector != 0) return std::nullopt;
  return row.sources;
}

std::int32_t rank(llvm::ArrayRef<Bits> vectors) { return Subspace(vectors).dimension(); }

Vectors kernel(llvm::ArrayRef<Bits> columns) {
  Vectors basis;
  Subspace before;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (const auto sources = before.coordinates(columns[i]))
      basis.push_back(*sources | Bits{1} << i);
    before.add(columns[i]);
  }
  return basis;
}

Bits unionOf(llvm::ArrayRef<Bits> vectors) {
  Bits all = 0;
  for (const Bits vector : vectors) all |= vector;
  return all;
}

Vectors intersection(llvm::ArrayRef<Bits> a, llvm::ArrayRef<Bits> b) {
  // Independent generators of both: then each way to make 0 of all is one element of both.
  Vectors both = extension({}, a);
  const std::size_t countA = both.size();
  both.append(extension({}, b));
  const Bits partA = (Bits{1} << countA) - 1;
  Vectors basis;
  for (const Bits relation : kernel(both)) basis.push_back(multiply(both, relation & partA));
  return basis;
}

Vectors extension(llvm::ArrayRef<Bits> vectors, llvm::ArrayRef<Bits> candidates) {
  Subspace span(vectors);
  Vectors added;
  llvm::copy_if(candidates, std::back_inserter(added), [&](Bits v) { return span.add(v); });
  return added;
}

Vectors unitVectors(std::int32_t dimensions) {
  Vectors units;
  for (std::int32_t bit = 0; bit < dimensions; ++bit) units.push_back(Bits{1} << bit);
  return units;
}

} // namespace imbrex::layout
