#pragma once

#include "tests/codegen/kernel_table.h"
#include "tests/support/parsed_kernel.h"

#include <cstdint>
#include <string>

namespace imbrex::testing {

/// A product whose block's halves are asked to take turns, of a block that has all of c.
struct TurnCase {
  std::string element = "f16", sums = "f32", stored = "f32";
  bool isBTransposed = true; ///< c = a · bᵀ
  std::int64_t depth = 128;  ///< Of a and b, along k.
  std::int64_t m = 64, n = 64, k = 64;
  int slots = 2, parts = 2;
};

inline std::string extents(std::int64_t rows, std::int64_t columns) {
  return "[" + std::to_string(rows) + "x" + std::to_string(columns) + "]";
}

inline TableKernel turnKernel(const TurnCase &of) {
  const auto &[element, sums, stored, isTransposed, depth, m, n, k, slots, parts] = of;
  const std::string result = sums + extents(m, n), zero = sums == "i32" ? "0" : "0.0";
  const std::string b = element + (isTransposed ? extents(n, k) : extents(k, n));
  const std::string text =
      "kernel @turns(%a: view<const " + element + ", 2>, %b: view<const " + element +
      ", 2>, %c: view<" + stored + ", 2>) stage tiles [warps = 8] {\n" +
      "%0 = constant 0 : i64\n%1 = constant 1 : i64\n%e = view.extent %a [axis = 1] : i64\n" +
      "%u = constant " + std::to_string(k) + " : i64\n%t = cdiv %e, %u : i64\n" + "%z = constant " +
      zero + " : " + result + "\n" +
      "%s = for %0, %t, %1, %z [pipelined = " + std::to_string(slots) +
      ", turns = " + std::to_string(parts) + "] (%k: i64, %sum: " + result +
      ") {\n%x = view.load %a, %0, %k : " + element + extents(m, k) + "\n" +
      (isTransposed ? "%l = view.load %b, %0, %k : " + b +
                          "\n%y = permute %l [order = [1, 0]] : " + element + extents(k, n)
                    : "%y = view.load %b, %k, %0 : " + b) +
      "\n%d = dot %x, %y, %sum : " + result + "\nyield %d\n} : " + result + "\n" +
      (stored == sums
           ? "view.store %c, %s, %0, %0\n}\n"
           : "%r = cast %s : " + stored + extents(m, n) + "\nview.store %c, %r, %0, %0\n}\n");
  const auto array = [](std::int64_t rows, std::int64_t columns) {
    return std::to_string(rows) + "x" + std::to_string(columns);
  };
  return {.name = "turns",
          .kernel = parsedKernel(text),
          .grid = {.extents = {1, 1, 1}},
          .arguments = {"random:" + array(m, depth),
                        "random:" + (isTransposed ? array(n, depth) : array(depth, n)),
                        "zeros:" + array(m, n)}};
}

} // namespace imbrex::testing
