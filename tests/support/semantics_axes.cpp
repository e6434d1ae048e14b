#include "tests/support/semantics.h"
#include "tests/support/semantics_tiles.h"

#include <cmath>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;
using ir::Shape;

Tile bools(const Shape &shape, const std::vector<double> &numbers) {
  return tile(ElementKind::Bool, shape, numbers);
}

/// Affine maps (a, b): x -> a x + b; composed, the left one first. Associative, not commutative.
constexpr const char *kCompose = R"((%a: i32, %b: i32, %c: i32, %d: i32) {
    %ac = mul %a, %c : i32
    %bc = mul %b, %c : i32
    %bcd = add %bc, %d : i32
    yield %ac, %bcd
  })";

// The digits of a, then those of b: associative, as a combine must be, and not commutative.
constexpr const char *kDigits = R"((%a: i32, %b: i32) {
    %ten = constant 10 : i32
    %hundred = constant 100 : i32
    %thousand = constant 1000 : i32
    %one_digit = lt %b, %ten : bool
    %two_digits = lt %b, %hundred : bool
    %more = select %two_digits, %hundred, %thousand : i32
    %power = select %one_digit, %ten, %more : i32
    %shifted = mul %a, %power : i32
    %sum = add %shifted, %b : i32
    yield %sum
  })";

void addReductions(std::vector<OpCase> &cases) {
  const Tile matrix = ints({2, 3}, {1, -2, 3, 4, 5, -6});
  cases.push_back(
      {"sum along the last axis", "reduce", "[axis = 1]", {matrix}, {ints({2}, {2, 3})}});
  cases.push_back({"sum along the first axis", "reduce", "", {matrix}, {ints({3}, {5, 3, -3})}});
  cases.push_back({"a sum of integers wraps",
                   "reduce",
                   "",
                   {tile(ElementKind::U8, {3}, {200, 100, 1})},
                   {scalar(ElementKind::U8, 45)}});
  cases.push_back(
      {"prod", "reduce", "[combine = prod, axis = 1]", {matrix}, {ints({2}, {-6, -120})}});
  cases.push_back({"min", "reduce", "[combine = min, axis = 1]", {matrix}, {ints({2}, {-2, -6})}});
  cases.push_back({"max", "reduce", "[combine = max, axis = 1]", {matrix}, {ints({2}, {3, 5})}});
  cases.push_back({"max of u32 is without a sign",
                   "reduce",
                   "[combine = max]",
                   {tile(ElementKind::U32, {2}, {1, 4294967295.0})},
                   {scalar(ElementKind::U32, 4294967295.0)}});
  cases.push_back(
      {"and", "reduce", "[combine = and]", {ints({3}, {7, 6, 14})}, {scalar(ElementKind::I32, 6)}});
  cases.push_back(
      {"or", "reduce", "[combine = or]", {bools({3}, {0, 1, 0})}, {scalar(ElementKind::Bool, 1)}});
  cases.push_back({"xor",
                   "reduce",
                   "[combine = xor]",
                   {ints({3}, {7, 6, 14})},
                   {scalar(ElementKind::I32, 15)}});
  cases.push_back({"min and max ignore NaN",
                   "reduce",
                   "[combine = max, axis = 1]",
                   {f32s({2, 3}, {1, kNan, 2, kNan, kNan, kNan})},
                   {f32s({2}, {2, kNan})}});
  cases.push_back({"min.nan gives NaN",
                   "reduce",
                   "[combine = min.nan, axis = 1]",
                   {f32s({2, 2}, {1, kNan, 2, 1})},
                   {f32s({2}, {kNan, 1})}});
  cases.push_back({"max.nan gives NaN",
                   "reduce",
                   "[combine = max.nan]",
                   {f32s({3}, {1, kNan, kInf})},
                   {scalar(ElementKind::F32, kNan)}});
  cases.push_back({"min puts -0 below +0",
                   "reduce",
                   "[combine = min]",
                   {f32s({3}, {0.0, -0.0, 0.0})},
                   {scalar(ElementKind::F32, -0.0)}});
  // 1e8 + 1 = 1e8 in f32: (1e8 + 1) + (-1e8 + 1) is 0 in pairs, and 1 from left to right.
  cases.push_back({"a deterministic sum goes in pairs",
                   "reduce",
                   "[deterministic = true]",
                   {f32s({4}, {1e8, 1, -1e8, 1})},
                   {scalar(ElementKind::F32, 0)}});
  cases.push_back({"a deterministic sum of f16 rounds at every step",
                   "reduce",
                   "[deterministic = true]",
                   {tile(ElementKind::F16, {3}, {40000, 40000, -65504})},
                   {scalar(ElementKind::F16, kInf)}});
  cases.push_back({"an odd last element passes to the next level",
                   "reduce",
                   "[deterministic = true]",
                   {f32s({5}, {1e8, 1, -1e8, 1, 3})},
                   {scalar(ElementKind::F32, 3)}});
}

void addArguments(std::vector<OpCase> &cases) {
  const auto arg = [&](const char *name, const char *combine, const Tile &from, const Tile &value,
                       const Tile &index) {
    cases.push_back({name,
                     "reduce",
                     "[combine = " + std::string(combine) + ", axis = 1]",
                     {from},
                     {value, index}});
  };
  arg("argmax, a tie goes to the left", "argmax", ints({2, 4}, {1, 7, 7, 0, -1, -1, -2, -1}),
      ints({2}, {7, -1}), ints({2}, {1, 0}));
  arg("argmin, a tie goes to the left", "argmin", ints({2, 3}, {5, 3, 3, 1, 2, 1}),
      ints({2}, {3, 1}), ints({2}, {1, 0}));
  arg("argmax ignores NaN unless all are", "argmax",
      f32s({3, 3}, {kNan, -kInf, -kInf, kNan, kNan, kNan, 2, kNan, 3}), f32s({3}, {-kInf, kNan, 3}),
      ints({3}, {1, 0, 2}));
  arg("argmin ignores NaN unless all are", "argmin", f32s({2, 3}, {kNan, 5, 4, kNan, kNan, kNan}),
      f32s({2}, {4, kNan}), ints({2}, {2, 0}));
  arg("argmin puts -0 below +0", "argmin", f32s({2, 2}, {0.0, -0.0, -0.0, 0.0}),
      f32s({2}, {-0.0, -0.0}), ints({2}, {1, 0}));
  arg("argmax puts -0 below +0", "argmax", f32s({2, 2}, {-0.0, 0.0, 0.0, -0.0}),
      f32s({2}, {0.0, 0.0}), ints({2}, {1, 0}));
}

void addRegionReductions(std::vector<OpCase> &cases) {
  // ((1 2) (3 4)) 5, where (a b) is 10 a + b: 12, 34 -> 154 -> 1545.
  cases.push_back({"a region folds the tree in order",
                   "reduce",
                   "[combine = region]",
                   {ints({5}, {1, 2, 3, 4, 5})},
                   {scalar(ElementKind::I32, 12345)},
                   kDigits});
  // x -> 2x + 1, then 3x + 2, then x + 4, then -x: -(3(2x + 1) + 2 + 4) = -6x - 9.
  cases.push_back({"a region combines several operands at once",
                   "reduce",
                   "[combine = region, axis = 1]",
                   {ints({1, 4}, {2, 3, 1, -1}), ints({1, 4}, {1, 2, 4, 0})},
                   {ints({1}, {-6}), ints({1}, {-9})},
                   kCompose});
}

void addScans(std::vector<OpCase> &cases) {
  const Tile line = ints({4}, {1, 2, 3, 4});
  const auto scan = [&](const char *name, const char *attributes, const Tile &from,
                        const Tile &to) {
    cases.push_back({name, "scan", attributes, {from}, {to}});
  };
  scan("running sum", "", line, ints({4}, {1, 3, 6, 10}));
  scan("running sum from the end", "[reverse = true]", line, ints({4}, {10, 9, 7, 4}));
  scan("exclusive running sum", "[exclusive = true]", line, ints({4}, {0, 1, 3, 6}));
  scan("exclusive from the end", "[reverse = true, exclusive = true]", line,
       ints({4}, {9, 7, 4, 0}));
  scan("along the first axis", "", ints({2, 2}, {1, 2, 3, 4}), ints({2, 2}, {1, 2, 4, 6}));
  scan("along the last axis", "[axis = 1]", ints({2, 2}, {1, 2, 3, 4}), ints({2, 2}, {1, 3, 3, 7}));
  scan("exclusive product", "[combine = prod, exclusive = true]", line, ints({4}, {1, 1, 2, 6}));
  scan("exclusive min begins with the highest", "[combine = min, exclusive = true]",
       tile(ElementKind::I8, {3}, {5, -1, 2}), tile(ElementKind::I8, {3}, {127, 5, -1}));
  scan("exclusive max begins with the lowest", "[combine = max, exclusive = true]",
       f32s({3}, {kNan, 1, 2}), f32s({3}, {-kInf, kNan, 1}));
  scan("exclusive max.nan", "[combine = max.nan, exclusive = true]", f32s({3}, {1, kNan, 2}),
       f32s({3}, {-kInf, 1, kNan}));
  scan("exclusive min.nan", "[combine = min.nan, exclusive = true]", f32s({3}, {1, kNan, 2}),
       f32s({3}, {kInf, 1, kNan}));
  scan("exclusive min of u8", "[combine = min, exclusive = true]",
       tile(ElementKind::U8, {2}, {5, 1}), tile(ElementKind::U8, {2}, {255, 5}));
  scan("exclusive max of u8", "[combine = max, exclusive = true]",
       tile(ElementKind::U8, {2}, {5, 1}), tile(ElementKind::U8, {2}, {0, 5}));
  scan("exclusive max of i64", "[combine = max, exclusive = true]",
       tile(ElementKind::I64, {2}, {5, 1}), tile(ElementKind::I64, {2}, {-0x1p63, 5}));
  scan("exclusive and begins with all ones", "[combine = and, exclusive = true]",
       ints({3}, {6, 3, 1}), ints({3}, {-1, 6, 2}));
  scan("exclusive or", "[combine = or, exclusive = true]", bools({3}, {0, 1, 0}),
       bools({3}, {0, 0, 1}));
  scan("exclusive xor", "[combine = xor, exclusive = true]", ints({3}, {6, 3, 1}),
       ints({3}, {0, 6, 5}));
  scan("an exclusive sum keeps -0", "[exclusive = true]", f32s({2}, {-0.0, 1}),
       f32s({2}, {0.0, -0.0}));
  scan("running max ignores NaN", "[combine = max]", f32s({4}, {kNan, 1, kNan, 0}),
       f32s({4}, {kNan, 1, 1, 1}));
}

void addRegionScans(std::vector<OpCase> &cases) {
  const Tile line = ints({4}, {1, 2, 3, 4});
  cases.push_back({"a region scans from the left",
                   "scan",
                   "[combine = region]",
                   {line},
                   {ints({4}, {1, 12, 123, 1234})},
                   kDigits});
  cases.push_back({"in reverse the later element stands on the left",
                   "scan",
                   "[combine = region, reverse = true]",
                   {line},
                   {ints({4}, {4321, 432, 43, 4})},
                   kDigits});
  cases.push_back({"exclusive with a region begins with its first value",
                   "scan",
                   "[combine = region, exclusive = true]",
                   {line, scalar(ElementKind::I32, 9)},
                   {ints({4}, {9, 91, 912, 9123})},
                   kDigits});
  cases.push_back({"exclusive, reverse, with a region",
                   "scan",
                   "[combine = region, reverse = true, exclusive = true]",
                   {line, scalar(ElementKind::I32, 9)},
                   {ints({4}, {9432, 943, 94, 9})},
                   kDigits});
  cases.push_back({"a region scans several operands at once",
                   "scan",
                   "[combine = region]",
                   {ints({3}, {2, 3, 1}), ints({3}, {1, 2, 4})},
                   {ints({3}, {2, 6, 6}), ints({3}, {1, 5, 9})},
                   kCompose});
}

void addSorts(std::vector<OpCase> &cases) {
  const Tile keys = f32s({7}, {kNan, 1, 0.0, -0.0, kInf, -kInf, 1});
  const Tile places = ints({7}, {0, 1, 2, 3, 4, 5, 6});
  cases.push_back(
      {"sort is total, NaN last, and stable",
       "sort",
       "",
       {keys, places},
       {f32s({7}, {-kInf, -0.0, 0.0, 1, 1, kInf, kNan}), ints({7}, {5, 3, 2, 1, 6, 4, 0})}});
  cases.push_back(
      {"descending, NaN last all the same, and stable",
       "sort",
       "[descending = true]",
       {keys, places},
       {f32s({7}, {kInf, 1, 1, 0.0, -0.0, -kInf, kNan}), ints({7}, {4, 1, 6, 2, 3, 5, 0})}});
  cases.push_back({"several NaNs keep their order",
                   "sort",
                   "",
                   {f32s({4}, {kNan, 2, kNan, 1}), ints({4}, {0, 1, 2, 3})},
                   {f32s({4}, {1, 2, kNan, kNan}), ints({4}, {3, 1, 0, 2})}});
  cases.push_back({"signed",
                   "sort",
                   "",
                   {tile(ElementKind::I8, {4}, {3, -128, 127, -1})},
                   {tile(ElementKind::I8, {4}, {-128, -1, 3, 127})}});
  cases.push_back({"unsigned",
                   "sort",
                   "[descending = true]",
                   {tile(ElementKind::U8, {4}, {3, 128, 255, 0})},
                   {tile(ElementKind::U8, {4}, {255, 128, 3, 0})}});
  cases.push_back({"bools",
                   "sort",
                   "",
                   {bools({4}, {1, 0, 1, 0}), ints({4}, {0, 1, 2, 3})},
                   {bools({4}, {0, 0, 1, 1}), ints({4}, {1, 3, 0, 2})}});
  cases.push_back({"each line on its own, first axis",
                   "sort",
                   "",
                   {ints({3, 2}, {3, 1, 2, 9, 1, 5})},
                   {ints({3, 2}, {1, 1, 2, 5, 3, 9})}});
  cases.push_back({"each line on its own, last axis",
                   "sort",
                   "[axis = 1]",
                   {ints({2, 3}, {3, 1, 2, 9, 1, 5})},
                   {ints({2, 3}, {1, 2, 3, 1, 5, 9})}});
  cases.push_back(
      {"f16 keys carry i64",
       "sort",
       "",
       {tile(ElementKind::F16, {3}, {2, -1, 0}), tile(ElementKind::I64, {3}, {7, 8, 9})},
       {tile(ElementKind::F16, {3}, {-1, 0, 2}), tile(ElementKind::I64, {3}, {8, 9, 7})}});
}

void addLookups(std::vector<OpCase> &cases) {
  cases.push_back({"a histogram drops what is out of range",
                   "histogram",
                   "",
                   {ints({7}, {0, 2, 2, -1, 3, 100, 1})},
                   {ints({3}, {1, 1, 2})}});
  cases.push_back({"a histogram counts where the mask is on",
                   "histogram",
                   "",
                   {tile(ElementKind::U8, {4}, {1, 1, 255, 0}), bools({4}, {1, 0, 1, 1})},
                   {ints({2}, {1, 1})}});
  cases.push_back({"i8 bins beyond 127 stay empty",
                   "histogram",
                   "",
                   {tile(ElementKind::I8, {3}, {-128, 127, -1})},
                   {ints({256}, [] {
                     std::vector<double> counts(256);
                     counts[127] = 1;
                     return counts;
                   }())}});
  cases.push_back({"gather along the last axis, 0 where out of range",
                   "gather",
                   "[axis = 1]",
                   {ints({2, 3}, {1, 2, 3, 4, 5, 6}), ints({2, 4}, {2, 0, -1, 3, 1, 1, 2, 100})},
                   {ints({2, 4}, {3, 1, 0, 0, 5, 5, 6, 0})}});
  cases.push_back(
      {"gather along the first axis",
       "gather",
       "",
       {f32s({3, 2}, {1, 2, 3, 4, 5, 6}), tile(ElementKind::U8, {2, 2}, {2, 0, 255, 1})},
       {f32s({2, 2}, {5, 2, 0, 4})}});
}

/// The values are known without memory and the mask is not, so that a target may hold them
/// differently.
Case histogramOfConstants() {
  return {"a histogram counts a constant where a mask from memory is on",
          "kernel @case(%in: view<const bool, 1>, %out: view<i32, 1>) stage tiles {\n"
          "  %zero = constant 0 : i32\n"
          "  %one = constant 1 : i32[100]\n"
          "  %mask = view.load %in, %zero : bool[100]\n"
          "  %counts = histogram %one, %mask : i32[3]\n"
          "  view.store %out, %counts, %zero\n}\n",
          {{bools({100}, std::vector<double>(100, 1))},
           {ints({3}, {0, 0, 0}), ints({3}, {0, 100, 0})}}};
}

} // namespace

std::vector<Case> axisCases() {
  std::vector<OpCase> ops;
  addReductions(ops);
  addArguments(ops);
  addRegionReductions(ops);
  addScans(ops);
  addRegionScans(ops);
  addSorts(ops);
  addLookups(ops);
  std::vector<Case> cases = toCases(ops);
  cases.push_back(histogramOfConstants());
  return cases;
}

} // namespace imbrex::semantics
