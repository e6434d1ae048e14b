#include "backend/interpret/interpret.h"
#include "backend/ir/verify.h"
#include "backend/passes/dce.h"
#include "backend/passes/sort_by_parts.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

using namespace imbrex;
using namespace imbrex::ir;
using testing::parsedKernel;

namespace {

struct Sorted {
  std::int64_t rows, columns, kept;
  bool isDescending;

  std::string of(const std::string &element, std::int64_t n) const {
    return element + "[" + std::to_string(rows) + "x" + std::to_string(n) + "]";
  }
};

/// The first of each row and where they stood; `between` stands behind the load.
std::string sortText(const Sorted &sorted, const std::string &between = "") {
  const std::string all = sorted.of("f32", sorted.columns),
                    places = sorted.of("i32", sorted.columns);
  const std::string first = " [offsets = [0, 0], strides = [1, 1]] : ";
  const std::string columns = std::to_string(sorted.columns);
  return "kernel @k(%x: view<f32, 2>, %y: view<f32, 2>, %z: view<i32, 2>, %i: i32) stage tiles {\n"
         "%0 = constant 0 : i32\n%1 = view.load %x, %0, %i : " +
         all + "\n" + between + "%2 = arange : i32[" + columns + "]\n%3 = reshape %2 : i32[1x" +
         columns + "]\n%4 = broadcast %3 : " + places + "\n%5 = abs %1 : " + all +
         "\n%6, %7 = sort %5, %4 [axis = 1" + (sorted.isDescending ? ", descending = true" : "") +
         "] : " + all + ", " + places + "\n%8 = slice %6" + first + sorted.of("f32", sorted.kept) +
         "\n%9 = slice %7" + first + sorted.of("i32", sorted.kept) +
         "\nview.store %y, %8, %0, %0\nview.store %z, %9, %0, %0\n}\n";
}

struct SortRun {
  std::vector<std::uint32_t> x;
  std::vector<std::uint32_t> y = {};
  std::vector<std::int32_t> z = {};
  friend bool operator==(const SortRun &, const SortRun &) = default;
};

template <class T>
Argument rowsOf(std::vector<T> &numbers, std::int64_t rows) {
  const auto columns = static_cast<std::int64_t>(numbers.size()) / rows;
  return {.data = reinterpret_cast<std::byte *>(numbers.data()),
          .bytes = static_cast<std::int64_t>(numbers.size() * sizeof(T)),
          .extents = {rows, columns},
          .strides = {columns, 1}};
}

/// Few different numbers, so that equal ones meet; NaNs of several kinds.
SortRun sortInputs(const Sorted &sorted) {
  std::mt19937 random(3);
  SortRun run;
  for (std::int64_t i = 0; i < sorted.rows * (2 * sorted.columns + 5); ++i) {
    const auto pick = static_cast<std::uint32_t>(random());
    const auto number = static_cast<float>(pick % 1000) / 8;
    run.x.push_back(pick % 97 == 0 ? 0x7fc00000 + (pick >> 20)
                                   : std::bit_cast<std::uint32_t>(number));
  }
  run.y.resize(static_cast<std::size_t>(sorted.rows * sorted.kept));
  run.z.resize(run.y.size());
  return run;
}

SortRun afterSort(const Kernel &kernel, const Sorted &sorted, std::uint64_t index) {
  SortRun made = sortInputs(sorted);
  Diagnostics diagnostics;
  const std::vector<Argument> arguments{rowsOf(made.x, sorted.rows), rowsOf(made.y, sorted.rows),
                                        rowsOf(made.z, sorted.rows), Argument{.scalar = index}};
  REQUIRE_MESSAGE(interpret::run(kernel, {}, arguments, diagnostics), diagnostics.render());
  return made;
}

Kernel sortedByParts(const std::string &text) {
  Kernel kernel = parsedKernel(text);
  Diagnostics diagnostics;
  passes::sortByParts(kernel, {diagnostics, machine::hostMachine()});
  REQUIRE_MESSAGE(verify(kernel, diagnostics), diagnostics.render());
  passes::dropDeadCode(kernel, {diagnostics, machine::hostMachine()});
  return kernel;
}

std::int64_t sortCount(const Kernel &kernel, OpKind kind) {
  std::int64_t found = 0;
  walk(kernel.body(), [&](const Op &op) { found += op.kind == kind ? 1 : 0; });
  return found;
}

std::int64_t longestSort(const Kernel &kernel) {
  std::int64_t longest = 0;
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind == OpKind::Sort)
      longest = std::max(longest, kernel.type(op.result()).shape().elements());
  });
  return longest;
}

} // namespace

TEST_CASE("the first of a long sort are the same, to the place, part by part") {
  for (const Sorted sorted :
       {Sorted{1, 50000, 50, true}, Sorted{1, 50000, 50, false}, Sorted{1, 16385, 1, true},
        Sorted{2, 9001, 33, true}, Sorted{3, 5000, 700, false}, Sorted{1, 20000, 2048, true}}) {
    const std::string text = sortText(sorted);
    CAPTURE(text);
    const Kernel whole = parsedKernel(text), parts = sortedByParts(text);
    CAPTURE(print(parts));
    CHECK(sortCount(parts, OpKind::For) == 1);
    CHECK(longestSort(parts) <= 8192);
    for (const std::uint64_t index : {0, 1, 2}) // which reaches beyond the view
      CHECK((afterSort(parts, sorted, index) == afterSort(whole, sorted, index)));
  }
}

TEST_CASE("where it cannot be loaded anew, parts are sorted one afterSort the other") {
  const Sorted sorted{1, 20000, 50, true};
  const std::string text =
      sortText(sorted, "%w = constant 1.5 : f32[1x64]\nview.store %x, %w, %0, %0\n");
  const Kernel whole = parsedKernel(text), parts = sortedByParts(text);
  CAPTURE(print(parts));
  CHECK(sortCount(parts, OpKind::For) == 0);
  CHECK(sortCount(parts, OpKind::Sort) == 5);
  CHECK(longestSort(parts) <= 4096);
  CHECK((afterSort(parts, sorted, 0) == afterSort(whole, sorted, 0)));
}

TEST_CASE("a sort of few stays, and so does one whose end is asked for") {
  const auto stays = [](const std::string &text) {
    return sortCount(sortedByParts(text), OpKind::Sort) == 1;
  };
  CHECK(stays(sortText({1, 4096, 50, true})));
  CHECK(stays(sortText({1, 6000, 4000, true})));
  CHECK_FALSE(stays(sortText({1, 4160, 50, true})));
  std::string text = sortText({1, 50000, 50, true});
  text.replace(text.find("offsets = [0, 0]"), 16, "offsets = [0, 1]");
  CHECK(stays(text));
}
