#pragma once

#include "tests/codegen/kernel_table.h"
#include "tests/codegen/matrix_text.h"
#include "tests/support/parsed_kernel.h"

#include <cstdint>
#include <string>

namespace imbrex::testing {

/// A product whose block's halves are asked to take turns, of a block that has all of c.
struct TurnCase {
  std::string element = "f16", sums = "f32", stored = "f32";
  bool isBTransposed = true;            ///< c = a · bᵀ
  std::int64_t depth = 128;             ///< Of a and b, along k.
  std::int64_t m = 64, n = 128, k = 64; ///< A piece of 32 x 32 for each of the eight warps.
  int slots = 2, parts = 2;
  std::string attributes = {}; ///< Of the product, " [promote_every = 64]".
};

inline TableKernel turnKernel(const TurnCase &of) {
  const auto &[element, sums, stored, isBTransposed, depth, m, n, k, slots, parts, attributes] = of;
  const MatrixText text(0);
  const std::string c = text.extents(m, n), result = sums + c;
  const std::string store =
      stored == sums ? "view.store %c, %s, %0, %0\n}\n"
                     : "%r = cast %s : " + stored + c + "\nview.store %c, %r, %0, %0\n}\n";
  return {.name = "turns",
          .kernel = parsedKernel(
              "kernel @turns(%a: view<const " + element + ", 2>, %b: view<const " + element +
              ", 2>, %c: view<" + stored + ", 2>) stage tiles [warps = 8] {\n" +
              "%0 = constant 0 : i64\n%1 = constant 1 : i64\n" +
              "%e = view.extent %a [axis = 1] : i64\n%u = constant " + std::to_string(k) +
              " : i64\n%t = cdiv %e, %u : i64\n%z = constant " + (sums == "i32" ? "0" : "0.0") +
              " : " + result + "\n%s = for %0, %t, %1, %z [pipelined = " + std::to_string(slots) +
              ", turns = " + std::to_string(parts) + "] (%k: i64, %sum: " + result + ") {\n" +
              text.loaded("a", element, false, {m, k}) +
              text.loaded("b", element, isBTransposed, {k, n}) + "%d = dot %ta, %tb, %sum" +
              attributes + " : " + result + "\nyield %d\n} : " + result + "\n" + store),
          .grid = {.extents = {1, 1, 1}},
          .arguments = {text.random(false, m, depth), text.random(isBTransposed, depth, n),
                        "zeros:" + text.array(m, n)}};
}

} // namespace imbrex::testing
