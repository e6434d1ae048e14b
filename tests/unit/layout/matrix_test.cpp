#include "backend/layout/matrix.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

namespace imbrex::layout {
namespace {

/// Every sum of some of these.
std::set<Bits> allSums(llvm::ArrayRef<Bits> vectors) {
  std::set<Bits> sums;
  for (Bits x = 0; x >> vectors.size() == 0; ++x) sums.insert(multiply(vectors, x));
  return sums;
}

/// Calls `check` with every matrix of so many rows and columns.
template <class Check>
void forAllMatrices(std::int32_t rows, std::int32_t columns, Check check) {
  const Bits mask = (Bits{1} << rows) - 1;
  for (Bits all = 0; all >> (rows * columns) == 0; ++all) {
    Vectors matrix;
    for (std::int32_t column = 0; column < columns; ++column)
      matrix.push_back(all >> (rows * column) & mask);
    check(matrix);
  }
}

Vectors randomVectors(std::mt19937_64 &rng, std::int32_t bits, std::size_t count) {
  Vectors vectors;
  while (vectors.size() < count) vectors.push_back(rng() >> (64 - bits));
  return vectors;
}

} // namespace

TEST_CASE("a span contains exactly the sums of its vectors, and says of which") {
  for (const auto &[rows, columns] : {std::pair{3, 4}, {4, 3}, {3, 3}, {2, 5}, {1, 2}})
    forAllMatrices(rows, columns, [&, rowCount = rows](const Vectors &matrix) {
      const Subspace span(matrix);
      const std::set<Bits> sums = allSums(matrix);
      REQUIRE(sums.size() == (std::size_t{1} << span.dimension()));
      REQUIRE(rank(matrix) == span.dimension());
      for (Bits y = 0; y >> rowCount == 0; ++y) {
        REQUIRE(span.contains(y) == sums.contains(y));
        const auto x = span.coordinates(y);
        REQUIRE(x.has_value() == sums.contains(y));
        if (!x) continue;
        REQUIRE(multiply(matrix, *x) == y);
        for (Bits less = 0; less < *x; ++less) REQUIRE(multiply(matrix, less) != y);
      }
    });
}

TEST_CASE("the kernel spans exactly what a matrix sends to zero") {
  forAllMatrices(3, 4, [](const Vectors &matrix) {
    const Vectors basis = kernel(matrix);
    REQUIRE(static_cast<std::int32_t>(basis.size()) + rank(matrix) == 4);
    const std::set<Bits> sums = allSums(basis);
    REQUIRE(sums.size() == (std::size_t{1} << basis.size()));
    for (Bits x = 0; x < 16; ++x) REQUIRE(sums.contains(x) == (multiply(matrix, x) == 0));
  });
}

TEST_CASE("the intersection of two spans has the vectors that both have") {
  forAllMatrices(3, 4, [](const Vectors &matrix) {
    const Vectors a(matrix.begin(), matrix.begin() + 2), b(matrix.begin() + 2, matrix.end());
    const std::set<Bits> sumsA = allSums(a), sumsB = allSums(b);
    const Vectors both = intersection(a, b);
    REQUIRE(rank(both) == static_cast<std::int32_t>(both.size()));
    const std::set<Bits> sums = allSums(both);
    for (Bits x = 0; x < 8; ++x)
      REQUIRE(sums.contains(x) == (sumsA.contains(x) && sumsB.contains(x)));
  });
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const Vectors a = randomVectors(rng, 12, rng() % 9), b = randomVectors(rng, 12, rng() % 9);
    const Vectors both = intersection(a, b);
    Vectors joint(a);
    joint.append(b);
    CHECK(static_cast<std::int32_t>(both.size()) == rank(a) + rank(b) - rank(joint));
    for (const Bits vector : both)
      CHECK((Subspace(a).contains(vector) && Subspace(b).contains(vector)));
  }
}

TEST_CASE("an extension completes a span and takes nothing that was there") {
  forAllMatrices(3, 4, [](const Vectors &matrix) {
    const Vectors a(matrix.begin(), matrix.begin() + 2), b(matrix.begin() + 2, matrix.end());
    Vectors all(a);
    all.append(extension(a, b));
    REQUIRE(rank(all) == rank(matrix));
    REQUIRE(static_cast<std::int32_t>(extension(a, b).size()) == rank(matrix) - rank(a));
  });
}

} // namespace imbrex::layout
