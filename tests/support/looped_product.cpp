#include "tests/support/looped_product.h"

#include "backend/interpret/interpret.h"
#include "tests/support/page_end.h"
#include "tests/support/parsed_kernel.h"
#include "tests/support/vector_arguments.h"
#include <imbrex/element_types.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

namespace imbrex::testing {
namespace {

std::string digits(std::int64_t value) { return std::to_string(value); }

/// What products of such elements are added up in.
std::string sumOf(const std::string &element) {
  if (element == "i8" || element == "u8") return "i32";
  return element == "bf16" || element == "f16" ? "f32" : element;
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

/// Of one launch after the other.
template <class T, class Sum>
std::string differenceOf(const LoopedProduct &c, const PrepareKernel &prepare) {
  const ir::Kernel kernel = parsedKernel(textOf(c));
  Diagnostics diagnostics;
  const LaunchOf launch = prepare(kernel, diagnostics);
  if (!launch) return diagnostics.render();
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
  for (const char *which : {"first", "second"}) {
    PageEndVector<T> a = numbersIn<T>(ofA, rng), b = numbersIn<T>(ofB, rng);
    endWithInfinity(b, c, ofB);
    PageEndVector<Sum> sums(static_cast<size_t>(ofC.elements()), -1);
    PageEndVector<T> expectedA = a, expectedB = b;
    PageEndVector<Sum> expected = sums;
    const bool ran =
        launch(c.grid, {argument(a, ofA), argument(b, ofB), argument(sums, ofC)}, diagnostics) &&
        interpret::run(
            kernel, c.grid,
            {argument(expectedA, ofA), argument(expectedB, ofB), argument(expected, ofC)},
            diagnostics);
    if (!ran) return diagnostics.render();
    if (!std::ranges::equal(sums, expected, isSame<Sum>)) return which + std::string(": sums");
    if (!areAlike(a, expectedA)) return which + std::string(": a");
  }
  return "";
}

template <class T>
T oneOf(std::mt19937 &rng, std::initializer_list<T> choices) {
  return std::data(choices)[rng() % choices.size()];
}

} // namespace

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
  const std::string sum = sumOf(c.element);
  const std::string sums = tile(c.rows, c.columns, sum);
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
         constant + c.element + ", " + rank + ">, %c: view<" + sum + ", " + rank +
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
         (isOfHeads ? "  %o = reshape %sums : " + boxOf(c.rows, c.columns, sum) + "\n" : "") +
         (isOfHeads ? "  view.store %c, %o, " : "  view.store %c, %sums, ") + box("%m", "%n") +
         "\n}\n";
}

std::string difference(const LoopedProduct &c, const PrepareKernel &prepare) {
  if (c.element == "f64") return differenceOf<double, double>(c, prepare);
  if (c.element == "i8") return differenceOf<std::int8_t, std::int32_t>(c, prepare);
  if (c.element == "u8") return differenceOf<std::uint8_t, std::int32_t>(c, prepare);
  if (c.element == "i32") return differenceOf<std::int32_t, std::int32_t>(c, prepare);
  if (c.element == "bf16") return differenceOf<bf16, float>(c, prepare);
  return differenceOf<float, float>(c, prepare);
}

LoopedProduct randomLoopedProduct(std::uint32_t seed) {
  std::mt19937 rng(seed);
  LoopedProduct c;
  c.element = oneOf<std::string>(rng, {"f32", "f32", "f32", "f64", "i32", "i8", "bf16"});
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

} // namespace imbrex::testing
