// Products that read their factors in memory, keep panels for blocks to come, and take several
// trips of a loop as one: against the interpreter, on whole numbers, for which both are exact.

#include "backend/interpret/interpret.h"
#include "backend/target/host/run/jit.h"
#include "llvm/Support/Regex.h"
#include "tests/support/page_end.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"
#include <imbrex/element_types.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>

namespace imbrex::host {
namespace {

using testing::PageEndVector;
using testing::parsedKernel;

/// A product in a loop over k.
struct LoopedProduct {
  std::int64_t batch = 0;   // matrices of a box; 0: of rank 2
  std::int64_t missing = 0; // of which the views have so many fewer
  /// Matrices of which blocks along z take one each: views are 1 x rows x heads x columns, boxes
  /// have one index of the first and the third. 0: none.
  std::int64_t heads = 0;
  std::int64_t rows = 24, columns = 32, depth = 16; // of a block's step
  std::int64_t m = 48, n = 64, k = 64;              // of the views
  std::int64_t moreK = 0, moreM = 0, moreN = 0;     // that b has of k, and c of the others
  std::int64_t padA = 0, padB = 0, padC = 0;        // elements between rows
  std::int64_t apart = 1, apartC = 1;               // from an element of a row to the next
  ir::Grid grid{.extents = {2, 2, 1}};
  std::string element = "f32", sum = "f32";
  std::string unit = "tiles"; // of boxes
  std::string unitOfB = {};   // if another one
  std::string padding = {};   // of boxes of a and b; `value` is another one for each row of blocks
  std::string index = "i64";  // of the loop
  std::int64_t low = 0, high = 4, step = 1;
  std::int64_t first = 1;                             // of each sum
  std::string before = {}, between = {}, behind = {}; // further ops of a trip
  std::string coordinate = "%t";
  std::string ofB = {}; // if another one
  std::string rowOf = "%m", columnOf = "%n";
  std::string yielded = "%d";
  bool isTransposed = false;    // b is multiplied as what its boxes are transposed
  bool transposesFirst = false; // before the axes of one index are taken away
  bool isWritable = false;      // a and b
};

std::string digits(std::int64_t value) { return std::to_string(value); }

std::string textOf(const LoopedProduct &c) {
  const std::string constant = c.isWritable ? "" : "const ";
  const std::string rank = c.heads > 0 ? "4" : c.batch > 0 ? "3" : "2";
  const auto tile = [&](std::int64_t rows, std::int64_t columns, const std::string &element) {
    return element + "[" + (c.batch > 0 ? digits(c.batch) + "x" : "") + digits(rows) + "x" +
           digits(columns) + "]";
  };
  const auto boxOf = [&](std::int64_t rows, std::int64_t columns, const std::string &element) {
    return c.heads == 0 ? tile(rows, columns, element)
                        : element + "[1x" + digits(rows) + "x1x" + digits(columns) + "]";
  };
  const auto box = [&](const std::string &row, const std::string &column) {
    if (c.heads > 0) return "%zero, " + row + ", %head, " + column;
    return (c.batch > 0 ? std::string("%zero, ") : "") + row + ", " + column;
  };
  const std::string sums = tile(c.rows, c.columns, c.sum);
  const std::string b = tile(c.depth, c.columns, c.element);
  const std::string along = c.ofB.empty() ? c.coordinate : c.ofB;
  const std::string padding = c.padding.empty() ? "" : ", padding = " + c.padding;
  const auto how = [&](const std::string &unit) {
    return (c.padding == "value" ? std::string(", %pad") : "") + " [unit = " + unit + padding +
           "] : ";
  };
  const std::string howB = how(c.unitOfB.empty() ? c.unit : c.unitOfB);
  const bool isOfHeads = c.heads > 0;
  const std::string reshapesB = isOfHeads ? "    %y = reshape %q : " + b + "\n" : "";
  const std::string order = c.batch > 0 ? "[0, 2, 1]" : "[1, 0]";
  std::string transposes = "    %y = permute %r [order = " + order + "] : " + b + "\n";
  if (isOfHeads && c.transposesFirst)
    transposes =
        "    %q = permute %r [order = [0, 3, 2, 1]] : " + boxOf(c.depth, c.columns, c.element) +
        "\n" + reshapesB;
  else if (isOfHeads)
    transposes = "    %q = reshape %r : " + tile(c.columns, c.depth, c.element) +
                 "\n    %y = permute %q [order = [1, 0]] : " + b + "\n";
  return "kernel @product(%a: view<" + constant + c.element + ", " + rank + ">, %b: view<" +
         constant + c.element + ", " + rank + ">, %c: view<" + c.sum + ", " + rank +
         ">) stage tiles {\n" + "  %m = program_id : i32\n  %n = program_id [axis = 1] : i32\n" + //
         "  %head = program_id [axis = 2] : i32\n" +                                              //
         "  %zero = constant 0 : i64\n  %pad = cast %m : " + c.element + "\n" +                   //
         "  %low = constant " + digits(c.low) + " : " + c.index + "\n" +                          //
         "  %high = constant " + digits(c.high) + " : " + c.index + "\n" +                        //
         "  %step = constant " + digits(c.step) + " : " + c.index + "\n" +                        //
         "  %first = constant " + digits(c.first) + " : " + sums + "\n" +
         "  %sums = for %low, %high, %step, %first (%t: " + c.index + ", %s: " + sums + ") {\n" +
         c.before + //
         (isOfHeads ? "    %p = view.load %a, " : "    %x = view.load %a, ") +
         box(c.rowOf, c.coordinate) + how(c.unit) + boxOf(c.rows, c.depth, c.element) + "\n" +
         (isOfHeads ? "    %x = reshape %p : " + tile(c.rows, c.depth, c.element) + "\n" : "") +
         (c.isTransposed ? "    %r = view.load %b, " + box(c.columnOf, along) + howB +
                               boxOf(c.columns, c.depth, c.element) + "\n" + transposes
                         : (isOfHeads ? "    %q = view.load %b, " : "    %y = view.load %b, ") +
                               box(along, c.columnOf) + howB +
                               boxOf(c.depth, c.columns, c.element) + "\n" + reshapesB) +
         c.between + "    %d = dot %x, %y, %s : " + sums + "\n" + c.behind + //
         "    yield " + c.yielded + "\n  } : " + sums + "\n" +               //
         (isOfHeads ? "  %o = reshape %sums : " + boxOf(c.rows, c.columns, c.sum) + "\n" : "") +
         (isOfHeads ? "  view.store %c, %o, " : "  view.store %c, %sums, ") + box("%m", "%n") +
         "\n}\n";
}

/// A matrix of a view: what lies between its rows is nobody's, what lies behind the last may not be
/// touched.
struct Matrix {
  std::int64_t batch, rows, columns;
  std::int64_t pad = 0, apart = 1;

  std::int64_t stride() const { return (columns + pad) * apart; }
  std::int64_t elements() const {
    return (std::max<std::int64_t>(1, batch) * rows - 1) * stride() + (columns - 1) * apart + 1;
  }
  bool has(std::int64_t element) const {
    const std::int64_t inRow = element % stride();
    return inRow % apart == 0 && inRow / apart < columns;
  }
};

/// Products of NaNs are NaNs, with zeros too.
template <class T>
PageEndVector<T> numbersIn(const Matrix &matrix, std::mt19937 &rng) {
  PageEndVector<T> data(static_cast<size_t>(matrix.elements()));
  std::ranges::copy(wholeNumbers<T>(rng, std::ssize(data)), data.begin());
  if (std::is_integral_v<T>) return data;
  for (std::int64_t i = 0; i < std::ssize(data); ++i)
    if (!matrix.has(i)) data[static_cast<size_t>(i)] = T(std::numeric_limits<float>::quiet_NaN());
  return data;
}

ir::Argument matrixOf(auto &data, const Matrix &matrix, bool isOfHeads) {
  const auto [batch, rows, columns] = std::tuple(matrix.batch, matrix.rows, matrix.columns);
  ir::Argument argument = viewOf(data, std::vector{rows, columns});
  if (batch > 0) argument = viewOf(data, std::vector{batch, rows, columns});
  if (isOfHeads) {
    argument = viewOf(data, std::vector<std::int64_t>{1, rows, batch, columns});
    argument.strides[1] = matrix.stride();
    argument.strides[2] = rows * matrix.stride();
    argument.strides[3] = matrix.apart;
    return argument;
  }
  const size_t axis = batch > 0 ? 1 : 0;
  argument.strides[0] = rows * matrix.stride();
  argument.strides[axis] = matrix.stride();
  argument.strides[axis + 1] = matrix.apart;
  return argument;
}

/// Of zeros that a is padded with products with one column are NaNs.
template <class T>
void endWithInfinity(PageEndVector<T> &b, const LoopedProduct &c, const Matrix &ofB) {
  if (c.n == 1 || std::is_integral_v<T>) return;
  const std::int64_t last = c.k + c.moreK - 1;
  const std::int64_t at = last * (c.isTransposed ? ofB.apart : ofB.stride());
  b[static_cast<size_t>(at)] = T(std::numeric_limits<float>::infinity());
}

template <class T>
bool isSame(T x, T y) {
  return x == y || (x != x && y != y);
}

template <class T>
bool areAlike(const PageEndVector<T> &x, const PageEndVector<T> &y) {
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// Launched twice, the second time with other numbers: nothing is left of the first.
template <class T, class Sum>
void compare(const LoopedProduct &c) {
  const std::string text = textOf(c);
  CAPTURE(text);
  const ir::Kernel kernel = parsedKernel(text);
  Diagnostics diagnostics;
  const std::unique_ptr<HostProgram> program = HostProgram::compile(kernel, diagnostics);
  REQUIRE(program);
  std::mt19937 rng(1);
  const bool isOfHeads = c.heads > 0;
  const std::int64_t batch = isOfHeads ? c.heads : c.batch - c.missing;
  const auto argument = [&](auto &data, const Matrix &matrix) {
    return matrixOf(data, matrix, isOfHeads);
  };
  const Matrix ofA{batch, c.m, c.k, c.padA, c.apart};
  Matrix ofB{batch, c.k + c.moreK, c.n, c.padB, c.apart};
  if (c.isTransposed) std::swap(ofB.rows, ofB.columns);
  const Matrix ofC{batch, c.m + c.moreM, c.n + c.moreN, c.padC, c.apartC};
  for (int launchNumber = 0; launchNumber < 2; ++launchNumber) {
    PageEndVector<T> a = numbersIn<T>(ofA, rng), b = numbersIn<T>(ofB, rng);
    endWithInfinity(b, c, ofB);
    PageEndVector<Sum> sums(static_cast<size_t>(ofC.elements()), -1);
    PageEndVector<T> expectedA = a, expectedB = b;
    PageEndVector<Sum> expected = sums;
    REQUIRE_MESSAGE(program->run(c.grid, {argument(a, ofA), argument(b, ofB), argument(sums, ofC)},
                                 diagnostics),
                    diagnostics.render());
    REQUIRE_MESSAGE(interpret::run(kernel, c.grid,
                                   {argument(expectedA, ofA), argument(expectedB, ofB),
                                    argument(expected, ofC)},
                                   diagnostics),
                    diagnostics.render());
    CHECK(std::ranges::equal(sums, expected, isSame<Sum>));
    CHECK(areAlike(a, expectedA));
  }
}

void compare(const LoopedProduct &c) {
  if (c.element == "f64") return compare<double, double>(c);
  if (c.element == "i8") return compare<std::int8_t, std::int32_t>(c);
  if (c.element == "i32") return compare<std::int32_t, std::int32_t>(c);
  if (c.element == "bf16") return compare<bf16, float>(c);
  compare<float, float>(c);
}

template <class T>
T oneOf(std::mt19937 &rng, std::initializer_list<T> choices) {
  return std::data(choices)[rng() % choices.size()];
}

LoopedProduct drawn(std::uint32_t seed) {
  std::mt19937 rng(seed);
  LoopedProduct c;
  c.element = oneOf<std::string>(rng, {"f32", "f32", "f32", "f64", "i32", "i8", "bf16"});
  c.sum = c.element == "i8" ? "i32" : c.element == "bf16" ? "f32" : c.element;
  c.rows = oneOf<std::int64_t>(rng, {1, 4, 8, 16, 32});
  c.columns = oneOf<std::int64_t>(rng, {1, 8, 16, 64});
  c.depth = oneOf<std::int64_t>(rng, {1, 4, 8, 32, 256});
  const auto about = [&](std::int64_t box, std::int64_t boxes) {
    return std::max<std::int64_t>(1,
                                  box * boxes + oneOf<std::int64_t>(rng, {0, 0, -1, 1, -box / 2}));
  };
  const auto trips = static_cast<std::int64_t>(rng() % (c.depth >= 32 ? 12 : 40));
  c.m = about(c.rows, 2);
  c.n = about(c.columns, 2);
  c.k = about(c.depth, std::max<std::int64_t>(trips, 1));
  c.padA = oneOf<std::int64_t>(rng, {0, 0, 5});
  c.padB = oneOf<std::int64_t>(rng, {0, 0, 3});
  c.apart = oneOf<std::int64_t>(rng, {1, 1, 1, 1, 2});
  // More than are shared out one by one, in some.
  const bool areMany = c.rows * c.depth * trips < 1000;
  c.grid = {.extents = {static_cast<std::int32_t>(1 + rng() % (areMany ? 60 : 4)),
                        static_cast<std::int32_t>(1 + rng() % 3), 1}};
  c.low = oneOf<std::int64_t>(rng, {0, 0, 0, 1, -2});
  c.high = trips + oneOf<std::int64_t>(rng, {0, 0, 1, -1});
  c.step = oneOf<std::int64_t>(rng, {1, 1, 1, 2});
  c.index = oneOf<std::string>(rng, {"i64", "i32", "i8"});
  c.first = oneOf<std::int64_t>(rng, {0, 0, 1});
  c.isTransposed = rng() % 3 == 0;
  if (rng() % 4 == 0) {
    c.unit = "elements";
    c.step *= c.depth;
    c.low *= c.depth;
    c.high *= c.depth;
    c.index = "i32";
  }
  if (rng() % 4 == 0) {
    c.before = "    %back = sub %high, %t : " + c.index + "\n";
    c.coordinate = "%back";
  }
  if (rng() % 8 == 0) (rng() % 2 == 0 ? c.rowOf : c.columnOf) = c.coordinate;
  if (rng() % 4 == 0) std::swap(c.rowOf, c.columnOf);
  c.batch = oneOf<std::int64_t>(rng, {0, 0, 1, 3});
  if (rng() % 4 == 0) c.ofB = "%zero";
  c.padding = oneOf<std::string>(rng, {"", "", "", "value"});
  const auto moreThan = [&](std::int64_t of) {
    const std::int64_t more = oneOf<std::int64_t>(rng, {0, 0, 0, 3, -1, -5});
    return std::max(more, 1 - of);
  };
  c.moreK = moreThan(c.k);
  c.moreM = moreThan(c.m);
  c.moreN = moreThan(c.n);
  c.padC = oneOf<std::int64_t>(rng, {0, 0, 7});
  c.apartC = oneOf<std::int64_t>(rng, {1, 1, 1, 3});
  if (seed % 3 == 1) {
    c.batch = 0;
    c.heads = oneOf<std::int64_t>(rng, {1, 2});
    c.grid.extents[2] = static_cast<std::int32_t>(c.heads + oneOf<std::int64_t>(rng, {0, 0, 1}));
    c.transposesFirst = rng() % 2 == 0;
  }
  return c;
}

TEST_CASE("products in loops add up what is in the boxes, wherever these are") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    compare(drawn(seed));
  }
}

TEST_CASE("boxes of b that have one row of a matrix among others") {
  for (const char *row : {"%m", "%t"})
    compare({.heads = 2,
             .rows = 32,
             .columns = 64,
             .depth = 1,
             .m = 64,
             .n = 128,
             .k = 22,
             .grid = {.extents = {2, 2, 2}},
             .index = "i32",
             .high = 22,
             .first = 0,
             .rowOf = row});
}

TEST_CASE("more trips than panels are kept for") {
  for (const std::int64_t trips : {15, 16, 17, 19, 20, 23}) {
    CAPTURE(trips);
    compare({.rows = 1,
             .columns = 256,
             .depth = 128,
             .m = 3,
             .n = 256,
             .k = trips * 128 - 5,
             .grid = {.extents = {3, 1, 1}},
             .high = trips});
  }
}

TEST_CASE(
    "sums of few rows are kept from slice to slice, and stored by the last of the last trip") {
  for (const std::int64_t rows : {1, 3, 6})
    for (const std::int64_t depth : {8, 16, 24})
      for (const std::int64_t first : {0, 1}) {
        CAPTURE(rows);
        CAPTURE(depth);
        CAPTURE(first);
        compare({.rows = rows,
                 .columns = 120,
                 .depth = depth,
                 .m = 2 * rows,
                 .n = 240 - first,
                 .k = 3 * depth - first,
                 .high = 3,
                 .first = first});
      }
}

TEST_CASE("the panels of a run of trips have half of the second-level cache") {
  const ir::Kernel kernel =
      parsedKernel(textOf({.rows = 32, .columns = 64, .depth = 128, .k = 4096, .high = 32}));
  const auto hasRunOf = [&](int trips, std::int64_t cacheBytes) {
    const std::string code =
        codeOf(kernel, {.bits = 256, .registers = 16, .secondLevelBytes = cacheBytes});
    return llvm::Regex("urem i64 %[^,]*, " + std::to_string(trips) + "$", llvm::Regex::Newline)
        .match(code);
  };
  constexpr std::int64_t kPanels = 32 << 10; // of 64 columns, 128 deep
  for (const int trips : {2, 3, 16}) {
    CAPTURE(trips);
    CHECK(hasRunOf(trips, 2 * kPanels * trips));
    CHECK_FALSE(hasRunOf(trips, 2 * kPanels * trips - 1));
  }
  CHECK(hasRunOf(16, 64 << 20)); // the depth that a run of so few columns has at most
}

TEST_CASE("b is read in place where its rows are near") {
  // Two panels of 64 columns with AVX-512; the third box of 32 ends with the view.
  const LoopedProduct most{
      .rows = 16, .columns = 128, .depth = 32, .m = 30, .n = 256, .k = 96, .high = 3, .first = 0};
  const auto with = [&](auto change) {
    LoopedProduct c = most;
    change(c);
    compare(c);
  };
  with([](LoopedProduct &) {});
  with([](LoopedProduct &c) { c.first = 1; });
  with([](LoopedProduct &c) { c.high = 5; });
  with([](LoopedProduct &c) { c.low = -2; });
  with([](LoopedProduct &c) { c.n = 200; }); // and columns of the second box with the view
  for (const std::int64_t more : {-70, -40, -2, 2, 40}) {
    CAPTURE(more);
    with([&](LoopedProduct &c) { c.moreK = more; });
    with([&](LoopedProduct &c) { c.moreK = more, c.low = -1, c.high = 4; });
  }
  for (const std::int64_t pad : {0, 1, 16, 200}) { // of which the last are far from each other
    CAPTURE(pad);
    with([&](LoopedProduct &c) { c.n = 240, c.padB = pad; });
  }
  for (const char *padding : {"value", "nan"}) {
    with([&](LoopedProduct &c) { c.padding = padding, c.high = 4; });
    with([&](LoopedProduct &c) { c.padding = padding, c.low = -1; });
  }
  with([](LoopedProduct &c) { c.m = 140, c.grid.extents = {9, 2, 1}; }); // by panels again
  with([](LoopedProduct &c) { c.step = 2, c.high = 4; });
  with([](LoopedProduct &c) { c.ofB = "%zero"; });
  with([](LoopedProduct &c) { c.columnOf = "%t"; });
  with([](LoopedProduct &c) { c.unitOfB = "elements", c.moreK = 40; });
  with([](LoopedProduct &c) { c.unit = "elements", c.high = 96, c.step = 32; });
  with([](LoopedProduct &c) { c.batch = 3, c.missing = 1; });
  with([](LoopedProduct &c) { c.batch = 2, c.n = 128; });
  with([](LoopedProduct &c) { c.heads = 2, c.n = 128, c.grid.extents[2] = 3; });
  with([](LoopedProduct &c) {
    c.isWritable = true, c.grid.extents = {1, 1, 1};
    c.behind = "    %two = constant 2 : f32[32x128]\n    view.store %b, %two, %t, %n\n";
  });
  with([](LoopedProduct &c) { c.element = c.sum = "f64"; });
  with([](LoopedProduct &c) { c.element = c.sum = "i32"; });
}

TEST_CASE("blocks that need other panels do not take the last one's") {
  // So many blocks that a thread has several in one go.
  compare({.rows = 16,
           .columns = 8,
           .depth = 4,
           .m = 900,
           .n = 20,
           .k = 8,
           .grid = {.extents = {57, 3, 1}},
           .high = 2});
  compare({.rows = 16,
           .columns = 8,
           .depth = 4,
           .m = 48,
           .n = 450,
           .k = 8,
           .grid = {.extents = {3, 57, 1}},
           .high = 2});
  compare({.rows = 16,
           .columns = 8,
           .depth = 4,
           .m = 900,
           .n = 24,
           .k = 8,
           .grid = {.extents = {60, 3, 1}},
           .high = 2,
           .rowOf = "%n",
           .columnOf = "%m"});
}

TEST_CASE("rows of a that move from trip to trip") {
  compare({.rows = 16, .m = 150, .k = 160, .high = 9, .rowOf = "%t"});
  compare({.rows = 16, .n = 300, .k = 160, .high = 9, .columnOf = "%t"});
}

TEST_CASE("boxes of a that begin before its rows") {
  compare({.low = -3, .ofB = "%zero"});
  compare({.padding = "value", .low = -3, .ofB = "%zero"});
}

TEST_CASE("boxes of a that end with their view") {
  // The third box of 32 ends there, and so does the second one of rows.
  const LoopedProduct most{.rows = 16,
                           .columns = 64,
                           .depth = 32,
                           .m = 27,
                           .n = 100,
                           .k = 83,
                           .padA = 5,
                           .padC = 3,
                           .high = 3,
                           .first = 0};
  const auto with = [&](auto change) {
    for (const bool isTransposed : {false, true})
      for (const char *element : {"f32", "bf16"}) {
        LoopedProduct c = most;
        c.isTransposed = isTransposed;
        c.element = element;
        change(c);
        compare(c);
      }
  };
  with([](LoopedProduct &) {});
  with([](LoopedProduct &c) { c.high = 5; });
  with([](LoopedProduct &c) { c.low = -1; });
  for (const std::int64_t more : {-40, -2, 2, 40}) {
    CAPTURE(more);
    with([&](LoopedProduct &c) { c.moreK = more; });
    with([&](LoopedProduct &c) { c.moreM = std::max<std::int64_t>(more, -20); });
    with([&](LoopedProduct &c) { c.moreN = more; });
  }
  with([](LoopedProduct &c) { c.padding = "value"; });
  with([](LoopedProduct &c) { c.padding = "nan"; });
  with([](LoopedProduct &c) { c.unit = "elements", c.high = 96, c.step = 32; });
  with([](LoopedProduct &c) { c.unitOfB = "elements", c.moreK = -53; });
  with([](LoopedProduct &c) { c.ofB = "%zero", c.moreK = -53; });
  with([](LoopedProduct &c) { c.batch = 3, c.missing = 1; });
  with([](LoopedProduct &c) { c.heads = 2, c.grid.extents[2] = 3; });
  with([](LoopedProduct &c) { c.first = 1; });
}

TEST_CASE("boxes that end with their view wherever in a tile of AMX") {
  if (!machine().vectors.hasAmxBf16)
    MESSAGE("SKIP: this processor has no AMX for us; products are on vectors");
  struct Ending {
    const char *element;
    std::int64_t k;
    bool isTransposed;
  };
  for (const auto &[element, k, isTransposed] :
       {Ending{"bf16", 31, false}, Ending{"i8", 65, true}, Ending{"bf16", 97, true},
        Ending{"i8", 161, false}, Ending{"bf16", 190, false}, Ending{"i8", 192, true}})
    compare({.rows = 40,
             .columns = 48,
             .depth = 64,
             .m = 77,
             .n = 90,
             .k = k,
             .padA = 5,
             .padC = 3,
             .element = element,
             .sum = element == std::string("i8") ? "i32" : "f32",
             .high = 3,
             .first = 0,
             .isTransposed = isTransposed});
}

TEST_CASE("sums of no product are what they begin with") {
  for (const std::int64_t first : {0, 1})
    for (const std::int64_t high : {0, 1}) compare({.high = high, .first = first});
}

TEST_CASE("a number of a trip that wraps does not adjoin the one before") {
  compare({.depth = 4,
           .k = 1024,
           .low = 2,
           .high = 200,
           .before = "    %w = cast %t : i8\n",
           .coordinate = "%w"});
}

TEST_CASE("factors that the kernel itself writes are read anew") {
  const std::string twos = "    %two = constant 2 : f32";
  const std::string ofA = twos + "[24x16]\n    view.store %a, %two, %m, %t\n";
  const std::string ofB = twos + "[16x32]\n    view.store %b, %two, %t, %n\n";
  for (const std::int32_t axis : {0, 1}) { // each block has its own rows of a, or columns of b
    const std::string &written = axis == 0 ? ofA : ofB;
    ir::Grid grid{.extents = {1, 1, 1}};
    grid.extents[static_cast<size_t>(axis)] = 2;
    compare({.grid = grid, .behind = written, .isWritable = true});
    compare({.grid = grid, .before = written, .isWritable = true});
  }
  const ir::Grid one{.extents = {1, 1, 1}};
  compare({.grid = one, .between = ofA, .isWritable = true});
  compare({.grid = one, .between = ofB, .isWritable = true});
  // The same boxes of b in later trips, with what earlier ones have left.
  compare({.k = 512,
           .grid = {.extents = {1, 1, 1}},
           .high = 100,
           .before = "    %most = constant 31 : i64\n    %w = and %t, %most : i64\n",
           .behind = twos + "[16x32]\n    view.store %b, %two, %w, %n\n",
           .coordinate = "%w",
           .isWritable = true});
}

TEST_CASE("a sum that is used besides is complete in each trip") {
  compare({.grid = {.extents = {1, 1, 1}}, .before = "    view.store %c, %s, %t, %n\n"});
  compare({.behind = "    %e = sub %first, %d : f32[24x32]\n", .yielded = "%e"});
}

TEST_CASE("blocks that end early leave nothing to those behind") {
  compare({.rows = 16,
           .m = 960,
           .n = 32,
           .grid = {.extents = {60, 1, 1}},
           .before = "    %last = constant 2 : i64\n    %late = ge %t, %last : bool\n"
                     "    %odd = constant 1 : i32\n    %o = and %m, %odd : i32\n"
                     "    %is = cast %o : bool\n    %both = and %late, %is : bool\n"
                     "    exit_if %both\n"});
}

TEST_CASE("a transpose is read where its box is, and anew where that is written") {
  compare({.isTransposed = true});
  compare({.m = 900, .grid = {.extents = {37, 2, 1}}, .isTransposed = true});
  compare({.grid = {.extents = {1, 2, 1}},
           .behind = "    %two = constant 2 : f32[32x16]\n    view.store %b, %two, %n, %t\n",
           .isTransposed = true,
           .isWritable = true});
  compare({.grid = {.extents = {1, 1, 1}},
           .between = "    %two = constant 2 : f32[32x16]\n    view.store %b, %two, %n, %t\n",
           .isTransposed = true,
           .isWritable = true});
}

TEST_CASE("boxes of several matrices are several trips deep") {
  compare({.batch = 2});
  compare({.batch = 2, .isTransposed = true});
}

} // namespace
} // namespace imbrex::host
