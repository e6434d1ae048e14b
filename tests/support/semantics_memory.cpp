#include "tests/support/semantics.h"
#include "tests/support/semantics_tiles.h"

#include <cmath>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;
using ir::Shape;

Tile bytes(const std::vector<std::uint64_t> &bits) {
  return {ElementKind::U8, {std::ssize(bits)}, bits};
}

std::string kernel(const std::string &parameters, const std::string &ops) {
  return "kernel @case(" + parameters + ") stage tiles {\n" + ops + "}\n";
}

void addPointers(std::vector<Case> &cases) {
  const std::string offsets = "  %i = arange : i32[4]\n"
                              "  %p = broadcast %x : ptr<const i32>[4]\n"
                              "  %from = ptr.add %p, %i : ptr<const i32>[4]\n"
                              "  %q = broadcast %y : ptr<i32>[4]\n"
                              "  %to = ptr.add %q, %i : ptr<i32>[4]\n"
                              "  %two = constant 2 : i32[4]\n"
                              "  %mask = lt %i, %two : bool[4]\n";
  const std::string parameters = "%x: ptr<const i32>, %y: ptr<i32>";
  cases.push_back({"load and store",
                   kernel(parameters, offsets + "  %v = load %from : i32[4]\n"
                                                "  store %to, %v\n"),
                   {{ints({5, 6, 7, 8})}, {ints({0, 0, 0, 0}), ints({5, 6, 7, 8})}}});
  cases.push_back({"where the mask is off a load gives zero and touches nothing",
                   kernel(parameters, offsets + "  %v = load %from, %mask : i32[4]\n"
                                                "  store %to, %v\n"),
                   {{ints({5, 6})}, {ints({1, 1, 1, 1}), ints({5, 6, 0, 0})}}});
  cases.push_back({"where the mask is off a load gives the other value",
                   kernel(parameters, offsets + "  %v = load %from, %mask, %two : i32[4]\n"
                                                "  store %to, %v\n"),
                   {{ints({5, 6})}, {ints({1, 1, 1, 1}), ints({5, 6, 2, 2})}}});
  cases.push_back({"where the mask is off a store touches nothing",
                   kernel(parameters, offsets + "  %v = load %from : i32[4]\n"
                                                "  store %to, %v, %mask\n"),
                   {{ints({5, 6, 7, 8})}, {ints({1, 1}), ints({5, 6})}}});
  cases.push_back({"several lanes store to one address",
                   kernel("%x: ptr<i32>, %y: view<i32, 1>", "  %zero = constant 0 : i32\n"
                                                            "  %p = broadcast %x : ptr<i32>[500]\n"
                                                            "  %seven = constant 7 : i32[500]\n"
                                                            "  store %p, %seven\n"
                                                            "  view.store %y, %seven, %zero\n"),
                   {{ints({0}), ints({7})},
                    {tile(ElementKind::I32, {500}, std::vector<double>(500)),
                     tile(ElementKind::I32, {500}, std::vector<double>(500, 7))}}});
  cases.push_back(
      {"an integer beyond f16 is infinite, also on the way to f32",
       kernel("%x: ptr<const i32>, %y: ptr<f32>", "  %n = load %x : i32\n"
                                                  "  %s = constant 24 : i32\n"
                                                  "  %i = shl %n, %s : i32\n"
                                                  "  %h = cast %i : f16\n"
                                                  "  %w = cast %h : f32\n"
                                                  "  store %y, %w\n"),
       {{ints({1})}, {tile(ElementKind::F32, {1}, {0}), tile(ElementKind::F32, {1}, {INFINITY})}}});
  cases.push_back(
      {"offsets of i8 have a sign, those of u8 have none",
       kernel("%x: ptr<const i32>, %y: ptr<i32>", "  %down = constant -1 : i8\n"
                                                  "  %far = constant 255 : u8\n"
                                                  "  %a = ptr.add %x, %far : ptr<const i32>\n"
                                                  "  %b = ptr.add %a, %down : ptr<const i32>\n"
                                                  "  %v = load %b : i32\n"
                                                  "  store %y, %v\n"),
       {{ints([] {
          std::vector<double> numbers(256);
          numbers[254] = 9;
          return numbers;
        }())},
        {ints({0}), ints({9})}}});
  cases.push_back({"select chooses between pointers to different buffers",
                   kernel("%x: ptr<const i32>, %y: ptr<const i32>, %z: ptr<i32>",
                          "  %t = constant true : bool\n"
                          "  %a = select %t, %x, %y : ptr<const i32>\n"
                          "  %v = load %a : i32\n"
                          "  store %z, %v\n"),
                   {{ints({3})}, {ints({4})}, {ints({0}), ints({3})}}});
  cases.push_back({"a bool in memory is a byte that is 0 or not, and is written as 0 or 1",
                   kernel("%x: ptr<const bool>, %y: ptr<bool>",
                          "  %i = arange : i32[3]\n"
                          "  %p = broadcast %x : ptr<const bool>[3]\n"
                          "  %from = ptr.add %p, %i : ptr<const bool>[3]\n"
                          "  %q = broadcast %y : ptr<bool>[3]\n"
                          "  %to = ptr.add %q, %i : ptr<bool>[3]\n"
                          "  %v = load %from : bool[3]\n"
                          "  store %to, %v\n"),
                   {{bytes({2, 0, 255})}, {bytes({7, 7, 7}), bytes({1, 0, 1})}}});
}

// ---- Views

void addBoxes(std::vector<Case> &cases) {
  const auto copy = [](const std::string &attributes, const std::string &coordinates,
                       const std::string &padding = "") {
    return kernel("%x: view<const f32, 1>, %y: view<f32, 1>",
                  "  %at = constant " + coordinates + " : i32\n  %nine = constant 9 : f32\n" +
                      "  %zero = constant 0 : i32\n" + "  %v = view.load %x, %at" + padding + " " +
                      attributes + " : f32[4]\n  view.store %y, %v, %zero\n");
  };
  const Tile three = f32s({1, 2, 3}), blank = f32s({7, 7, 7, 7});
  cases.push_back(
      {"outside the extents a box is zero", copy("", "0"), {{three}, {blank, f32s({1, 2, 3, 0})}}});
  cases.push_back(
      {"padding with NaN", copy("[padding = nan]", "0"), {{three}, {blank, f32s({1, 2, 3, NAN})}}});
  cases.push_back({"padding with a value",
                   copy("[padding = value]", "0", ", %nine"),
                   {{three}, {blank, f32s({1, 2, 3, 9})}}});
  cases.push_back({"coordinates in elements may be negative",
                   copy("[unit = elements]", "-2"),
                   {{three}, {blank, f32s({0, 0, 1, 2})}}});
  cases.push_back({"coordinates in tiles count boxes",
                   copy("", "1"),
                   {{f32s({1, 2, 3, 4, 5, 6})}, {blank, f32s({5, 6, 0, 0})}}});
  cases.push_back({"a box far outside is all padding",
                   copy("", "2147483647"),
                   {{three}, {blank, f32s({0, 0, 0, 0})}}});
  cases.push_back({"a coordinate of u64 beyond i64 is outside, not negative",
                   kernel("%x: view<const f32, 1>, %y: view<f32, 1>",
                          "  %at = constant 18446744073709551615 : u64\n"
                          "  %zero = constant 0 : i32\n"
                          "  %v = view.load %x, %at [unit = elements] : f32[4]\n"
                          "  view.store %y, %v, %zero\n"),
                   {{three}, {blank, f32s({0, 0, 0, 0})}}});
  cases.push_back({"a box of 2^62 tiles away does not wrap around",
                   kernel("%x: view<const f32, 1>, %y: view<f32, 1>",
                          "  %at = constant 4611686018427387904 : i64\n"
                          "  %zero = constant 0 : i32\n"
                          "  %v = view.load %x, %at : f32[4]\n"
                          "  view.store %y, %v, %zero\n"),
                   {{three}, {blank, f32s({0, 0, 0, 0})}}});
  cases.push_back(
      {"a box of 2^47 large tiles away does not wrap around",
       kernel("%x: view<const i8, 1>, %y: view<i8, 1>", "  %at = constant 140737488355328 : i64\n"
                                                        "  %zero = constant 0 : i32\n"
                                                        "  %v = view.load %x, %at : i8[131072]\n"
                                                        "  view.store %y, %v, %zero\n"),
       {{tile(ElementKind::I8, {2}, {1, 2})},
        {tile(ElementKind::I8, {2}, {7, 7}), tile(ElementKind::I8, {2}, {0, 0})}}});
  cases.push_back({"a store outside the extents does nothing",
                   kernel("%x: view<const f32, 1>, %y: view<f32, 1>",
                          "  %zero = constant 0 : i32\n  %at = constant -1 : i64\n"
                          "  %v = view.load %x, %zero : f32[4]\n"
                          "  view.store %y, %v, %at [unit = elements]\n"),
                   {{f32s({1, 2, 3, 4})}, {f32s({7, 7}), f32s({2, 3})}}});
}

void addStrides(std::vector<Case> &cases) {
  const std::string copy = kernel("%x: view<const i32, 2>, %y: view<i32, 2>",
                                  "  %zero = constant 0 : i32\n  %one = constant 1 : i32\n"
                                  "  %v = view.load %x, %zero, %one : i32[2x2]\n"
                                  "  view.store %y, %v, %zero, %zero\n");
  const Tile rows = tile(ElementKind::I32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tile blank = tile(ElementKind::I32, {2, 2}, {7, 7, 7, 7});
  cases.push_back({"a box of a matrix, clipped",
                   copy,
                   {{rows}, {blank, tile(ElementKind::I32, {2, 2}, {3, 0, 6, 0})}}});
  cases.push_back({"a column-major view",
                   copy,
                   {{rows, {}, {1, 2}}, {blank, tile(ElementKind::I32, {2, 2}, {5, 0, 6, 0})}}});
  cases.push_back({"a stride of 0 repeats a row",
                   copy,
                   {{rows, {}, {0, 1}}, {blank, tile(ElementKind::I32, {2, 2}, {3, 0, 3, 0})}}});
  cases.push_back({"extents, strides and the first element of a view",
                   kernel("%x: view<const i32, 2>, %y: ptr<i64>, %z: ptr<i32>",
                          "  %rows = view.extent %x : i64\n"
                          "  %columns = view.extent %x [axis = 1] : i64\n"
                          "  %stride = view.stride %x : i64\n"
                          "  %a = mul %rows, %columns : i64\n"
                          "  %ten = constant 10 : i64\n"
                          "  %b = mul %stride, %ten : i64\n"
                          "  %c = add %a, %b : i64\n"
                          "  store %y, %c\n"
                          "  %p = view.data %x : ptr<const i32>\n"
                          "  %v = load %p : i32\n"
                          "  store %z, %v\n"),
                   {{rows},
                    {tile(ElementKind::I64, {1}, {0}), tile(ElementKind::I64, {1}, {36})},
                    {ints({0}), ints({1})}}});
}

/// Each row of the matrix is what a pointer of the table leads to.
void addTables(std::vector<Case> &cases) {
  const Tile rows = tile(ElementKind::I32, {3, 2}, {1, 2, 3, 4, 5, 6});
  const auto offsets = "  %i = arange : i32[2]\n";
  const auto at = [](const std::string &table, const std::string &index, const std::string &to) {
    const std::string type = table == "%y" ? "ptr<i32>" : "ptr<const i32>";
    return "  %first" + to + " = table.pointer " + table + ", " + index + " : " + type + "\n" +
           "  %all" + to + " = broadcast %first" + to + " : " + type + "[2]\n" + "  %" + to +
           " = ptr.add %all" + to + ", %i : " + type + "[2]\n";
  };
  cases.push_back(
      {"a table gives its pointers by their numbers, to read and to write through",
       kernel("%x: table<const i32>, %y: table<i32>",
              offsets + std::string("  %two = constant 2 : i32\n") + "  %one = constant 1 : u8\n" +
                  at("%x", "%two", "from") + at("%y", "%one", "to") +
                  "  %v = load %from : i32[2]\n  store %to, %v\n"),
       {{rows}, {rows, tile(ElementKind::I32, {3, 2}, {1, 2, 5, 6, 5, 6})}}});
  cases.push_back({"the number of a pointer may be known to the run alone",
                   kernel("%x: table<const i32>, %y: table<i32>",
                          offsets + std::string("  %b = program_id : i32\n") +
                              "  %n = num_programs : i32\n  %one = constant 1 : i32\n" +
                              "  %last = sub %n, %one : i32\n  %other = sub %last, %b : i32\n" +
                              at("%x", "%other", "from") + at("%y", "%b", "to") +
                              "  %v = load %from : i32[2]\n  store %to, %v\n"),
                   {{rows}, {rows, tile(ElementKind::I32, {3, 2}, {5, 6, 3, 4, 1, 2})}},
                   {.extents = {3, 1, 1}}});
  for (const auto *number : {"-1 : i8", "3 : i32", "255 : u8", "-9223372036854775808 : i64",
                             "18446744073709551615 : u64"})
    cases.push_back(
        {"outside of a table the pointer is null, and can be asked for: " + std::string(number),
         kernel("%x: table<const i32>, %y: ptr<i32>",
                offsets + std::string("  %far = constant ") + number + "\n" +
                    at("%x", "%far", "from") +
                    "  %q = broadcast %y : ptr<i32>[2]\n"
                    "  %to = ptr.add %q, %i : ptr<i32>[2]\n"
                    "  %never = constant false : bool[2]\n"
                    "  %v = load %from, %never, %i : i32[2]\n  store %to, %v\n"),
         {{rows}, {ints({7, 7}), ints({0, 1})}}});
  cases.push_back({"a table knows how many pointers it has",
                   kernel("%x: table<const i32>, %y: ptr<i64>",
                          "  %n = view.extent %x : i64\n  store %y, %n\n"),
                   {{rows}, {tile(ElementKind::I64, {1}, {0}), tile(ElementKind::I64, {1}, {3})}}});
  cases.push_back(
      {"a read behind a write through another pointer of the table sees it",
       kernel("%y: table<i32>, %p: ptr<i32>",
              offsets + std::string("  %zero = constant 0 : i32\n") + "  %n = load %p : i32\n" +
                  at("%y", "%zero", "a") + at("%y", "%n", "b") +
                  "  %five = constant 5 : i32[2]\n  store %a, %five\n"
                  "  %v = load %b : i32[2]\n"
                  "  %sum = reduce %v : i32\n  store %p, %sum\n"),
       {{rows, tile(ElementKind::I32, {3, 2}, {5, 5, 3, 4, 5, 6})}, {ints({0}), ints({10})}}});
}

void addNibbles(std::vector<Case> &cases) {
  const Tile five = {ElementKind::F4E2M1, {5}, {1, 2, 3, 4, 5}};
  cases.push_back({"a view of f4e2m1 reads nibbles from odd places",
                   kernel("%x: view<const f4e2m1, 1>, %y: view<f32, 1>",
                          "  %zero = constant 0 : i32\n  %one = constant 1 : i32\n"
                          "  %v = view.load %x, %one [unit = elements] : f4e2m1[5]\n"
                          "  %w = cast %v : f32[5]\n  view.store %y, %w, %zero\n"),
                   {{five}, {f32s({7, 7, 7, 7, 7}), f32s({1, 1.5, 2, 3, 0})}}});
  cases.push_back({"and writes nibbles without touching their neighbours",
                   kernel("%x: view<const f4e2m1, 1>, %y: view<f4e2m1, 1>",
                          "  %zero = constant 0 : i32\n  %one = constant 1 : i32\n"
                          "  %v = view.load %x, %zero : f4e2m1[3]\n"
                          "  view.store %y, %v, %one [unit = elements]\n"),
                   {{five},
                    {{ElementKind::F4E2M1, {5}, {15, 14, 13, 12, 11}},
                     Tile{ElementKind::F4E2M1, {5}, {15, 1, 2, 3, 11}}}}});
}

// ---- Atomics

Case atomic(const std::string &kind, ElementKind element, const std::vector<double> &before,
            const std::vector<double> &values, const std::vector<double> &after) {
  const std::string name(ir::info(element).name);
  const auto count = std::to_string(values.size());
  const Shape shape = {std::ssize(values)};
  return {
      "atomic " + kind + " of " + name,
      kernel("%x: view<const " + name + ", 1>, %y: ptr<" + name + ">, %z: view<" + name + ", 1>",
             "  %zero = constant 0 : i32\n  %i = arange : i32[" + count + "]\n" +
                 "  %p = broadcast %y : ptr<" + name + ">[" + count + "]\n" +
                 "  %to = ptr.add %p, %i : ptr<" + name + ">[" + count + "]\n" +
                 "  %v = view.load %x, %zero : " + name + "[" + count + "]\n" +
                 "  %old = atomic_rmw %to, %v [kind = " + kind + "] : " + name + "[" + count +
                 "]\n  view.store %z, %old, %zero\n"),
      {{tile(element, shape, values)},
       {tile(element, shape, before), tile(element, shape, after)},
       {tile(element, shape, std::vector<double>(before.size())), tile(element, shape, before)}}};
}

void addAtomics(std::vector<Case> &cases) {
  for (const ElementKind element : {ElementKind::I32, ElementKind::I64}) {
    cases.push_back(atomic("add", element, {1, 2, 3}, {10, -20, 30}, {11, -18, 33}));
    cases.push_back(atomic("min", element, {1, -2, 3}, {0, 5, 3}, {0, -2, 3}));
    cases.push_back(atomic("max", element, {1, -2, 3}, {0, 5, 3}, {1, 5, 3}));
    cases.push_back(atomic("and", element, {7, 12}, {5, 10}, {5, 8}));
    cases.push_back(atomic("or", element, {1, 12}, {4, 10}, {5, 14}));
    cases.push_back(atomic("xor", element, {7, 12}, {5, 10}, {2, 6}));
    cases.push_back(atomic("exchange", element, {7, 12}, {5, 10}, {5, 10}));
  }
  cases.push_back(atomic("max", ElementKind::U32, {1, 4294967295.0}, {4294967295.0, 2},
                         {4294967295.0, 4294967295.0}));
  cases.push_back(atomic("min", ElementKind::U64, {1, 0x1p63}, {0x1p63, 2}, {1, 2}));
  for (const ElementKind element :
       {ElementKind::F16, ElementKind::BF16, ElementKind::F32, ElementKind::F64})
    cases.push_back(atomic("add", element, {1, -2, 0.5}, {0.25, 2, -1}, {1.25, 0, -0.5}));
  for (const ElementKind element : {ElementKind::F32, ElementKind::F64}) {
    cases.push_back(
        atomic("min", element, {1, -2, 0.0, NAN}, {-1, NAN, -0.0, 3}, {-1, -2, -0.0, 3}));
    cases.push_back(atomic("max", element, {1, -2, -0.0, 3}, {-1, NAN, 0.0, NAN}, {1, -2, 0.0, 3}));
    cases.push_back(atomic("exchange", element, {1, -2}, {3, 4}, {3, 4}));
  }
  cases.push_back({"atomics from all lanes and all blocks meet",
                   kernel("%y: ptr<i32>", "  %p = broadcast %y : ptr<i32>[8]\n"
                                          "  %v = arange : i32[8]\n"
                                          "  %old = atomic_rmw %p, %v : i32[8]\n"),
                   {{ints({1}), ints({1 + 28 * 6})}},
                   {{3, 2, 1}}});
  cases.push_back({"where the mask is off an atomic touches nothing and gives zero",
                   kernel("%y: ptr<i32>, %z: view<i32, 1>",
                          "  %p = broadcast %y : ptr<i32>[2]\n  %i = arange : i32[2]\n"
                          "  %to = ptr.add %p, %i : ptr<i32>[2]\n  %v = constant 5 : i32[2]\n"
                          "  %one = constant 1 : i32[2]\n  %mask = lt %i, %one : bool[2]\n"
                          "  %zero = constant 0 : i32\n"
                          "  %old = atomic_rmw %to, %v, %mask : i32[2]\n"
                          "  view.store %z, %old, %zero\n"),
                   {{ints({3}), ints({8})}, {ints({7, 7}), ints({3, 0})}}});
  cases.push_back({"compare and exchange compares bits",
                   kernel("%x: view<const f32, 1>, %y: ptr<f32>, %z: view<f32, 1>",
                          "  %zero = constant 0 : i32\n  %i = arange : i32[3]\n"
                          "  %p = broadcast %y : ptr<f32>[3]\n"
                          "  %to = ptr.add %p, %i : ptr<f32>[3]\n"
                          "  %expected = view.load %x, %zero : f32[3]\n"
                          "  %nine = constant 9 : f32[3]\n"
                          "  %old = atomic_cas %to, %expected, %nine : f32[3]\n"
                          "  view.store %z, %old, %zero\n"),
                   {{f32s({1, 2, 0.0})},
                    {f32s({1, 3, -0.0}), f32s({9, 3, -0.0})},
                    {f32s({7, 7, 7}), f32s({1, 3, -0.0})}}});
}

} // namespace

std::vector<Case> memoryCases() {
  std::vector<Case> cases;
  addPointers(cases);
  addBoxes(cases);
  addStrides(cases);
  addTables(cases);
  addNibbles(cases);
  addAtomics(cases);
  return cases;
}

} // namespace imbrex::semantics
