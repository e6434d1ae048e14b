// A product with bias, activation and residual in one kernel, of tiles that lie beyond the edges,
// on interpreter, host and the units of every kind of machine.

#include "tests/codegen/fused_product.hpp"
#include "tests/codegen/matrix_text.h"
#include "tests/codegen/table_launch.h"
#include "tests/codegen/table_row.h"

#include <doctest/doctest.h>

using namespace imbrex::testing;

namespace {

/// Two blocks along each axis, the last of them beyond the edges.
TableKernel fusedProduct(std::int64_t m, std::int64_t n, std::int64_t k) {
  const MatrixText text(0);
  return row("fused_product", fused_product<32, 32, 32>{}, {2, 2, 1},
             {text.random(false, m, k), text.random(false, k, n), "0.0625",
              "random:" + std::to_string(n), text.random(false, m, n), text.random(false, m, n)});
}

} // namespace

TEST_CASE("bias, activation and residual are the same to the bit everywhere, at ragged edges") {
  // Rows that lie on 16 bytes, and rows that do not.
  for (const std::int64_t n : {56, 43}) checkBitForBit(fusedProduct(50, n, 40));
}
