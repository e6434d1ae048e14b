#include "tests/kernels/topk_rows.h"

#include <doctest/doctest.h>

#include <cstring>
#include <tuple>

using namespace imbrex;
using namespace imbrex::testing;
using kernels::block_select_topk;
using kernels::topk_method;

namespace {

constexpr float kInf = INFINITY, kNan = NAN;

/// One row on every method of the host function, and on the interpreter.
Places topkOf(std::vector<f32> row, std::int64_t k, bool largest = true) {
  const Rows<f32> rows = oneRow(std::move(row));
  std::vector<std::vector<Places>> answers;
  for (const device on : {device::host(), device::interpreter()})
    for (const topk_method method :
         {topk_method::by_size, topk_method::rounds, topk_method::sifting})
      answers.push_back(answersOf<f32, i32>(rows, k, [&](auto &scores, auto &, auto &indices) {
        block_select_topk(on, scores, k, indices, {.largest = largest, .method = method});
      }));
  for (const std::vector<Places> &answer : answers) CHECK(answer == answers[0]);
  REQUIRE(answers[0].size() == 1);
  return answers[0][0];
}

std::vector<f32> numbered(std::int64_t n, float (*score)(std::int64_t)) {
  std::vector<f32> row;
  for (std::int64_t i = 0; i < n; ++i) row.push_back(score(i));
  return row;
}

/// The kernels in a small form, in which short rows already overflow the workspace.
template <class T>
std::vector<Selection<T>> smallForms() {
  return {byRounds<T, i32, 64>(), bySifting<T, i32, 16, 64, 16>()};
}

} // namespace

TEST_CASE("the concrete rows of the contract") {
  CHECK(topkOf({3, 1, 3, 2}, 3) == Places{0, 2, 3});
  CHECK(topkOf({kNan, -kInf, 5, kInf}, 4) == Places{3, 2, -1, -1});
  CHECK(topkOf({-0.0F, 0.0F}, 2) == Places{0, 1});
  CHECK(topkOf({0.0F, -0.0F}, 2, false) == Places{0, 1});
  CHECK(topkOf({1}, 3) == Places{0, -1, -1});
  CHECK(topkOf({kInf, 2, -kInf, 2}, 4, false) == Places{2, 1, 3, -1});
  CHECK(topkOf({8, 7, 6, 5, 4, 3, 2, 1}, 16) ==
        Places{0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("nothing to select, and nothing to select it for") {
  CHECK(topkOf({}, 2) == Places{-1, -1});
  CHECK(topkOf({1, 2}, 0) == Places{});
  CHECK(topkOf({-kInf, -kInf, -kInf}, 2) == Places{-1, -1});
  CHECK(topkOf({kNan, kNan, kNan}, 2) == Places{-1, -1});
  CHECK(topkOf({kInf, kNan}, 2, false) == Places{-1, -1});
  buffer<f32> scores(0, 8);
  buffer<i32> indices(0, 4);
  block_select_topk(device::host(), scores, 4, indices);
}

TEST_CASE("infinity comes first, and of several the first in the row") {
  CHECK(topkOf({1, kInf, 2, kInf}, 3) == Places{1, 3, 2});
  CHECK(topkOf({1e30F, kInf, kInf, 1e30F}, 2) == Places{1, 2}); // however high a block is forced
}

TEST_CASE("all equal gives the first k") {
  const std::int64_t k = 40;
  Places first(k);
  std::iota(first.begin(), first.end(), 0);
  for (const std::int64_t n : {64, 4096})
    CHECK(topkOf(std::vector<f32>(static_cast<std::size_t>(n), 2.5F), k) == first);
}

TEST_CASE("of those tied at the border the first is taken") {
  for (const std::int64_t n : {64, 256, 3000}) {
    std::vector<f32> row(static_cast<std::size_t>(n), 50);
    for (int j = 0; j < 15; ++j) row[static_cast<std::size_t>(j)] = static_cast<float>(1014 - j);
    Places first(16);
    std::iota(first.begin(), first.end(), 0);
    CHECK(topkOf(row, 16) == first);
  }
}

TEST_CASE("a forced block is selected, as many as there is room for") {
  std::vector<f32> row =
      numbered(4096, [](std::int64_t i) { return std::sin(static_cast<float>(i)); });
  row[4095] = 1e30F;
  CHECK(topkOf(row, 16)[0] == 4095);
  std::ranges::fill(row, kInf);
  row[4095] = 1e30F;
  CHECK(topkOf(row, 16)[15] == 15);
}

TEST_CASE("the table of shapes is answered as by the reference") {
  struct Shape {
    std::int64_t rows, columns, k;
  };
  for (const Shape &shape :
       {Shape{4, 64, 16}, Shape{4, 256, 16}, Shape{4, 4096, 16}, Shape{4, 8, 16}, Shape{2, 1, 16},
        Shape{3, 1000, 1}, Shape{2, 5000, 100}, Shape{1, 20000, 2048}}) {
    CAPTURE(shape.columns);
    CAPTURE(shape.k);
    RowMaker<f32> maker(7);
    Rows<f32> rows{.scores = {}, .rows = shape.rows, .columns = shape.columns};
    for (std::int64_t i = 0; i < shape.rows; ++i)
      std::ranges::copy(maker.make("random", shape.columns, shape.k, true),
                        std::back_inserter(rows.scores));
    for (const topk_method method : {topk_method::by_size, topk_method::sifting}) {
      const auto got = answersOf<f32, i64>(rows, shape.k, [&](auto &scores, auto &, auto &indices) {
        block_select_topk(device::host(), scores, shape.k, indices, {.method = method});
      });
      CHECK(got == referenceOf(rows, shape.k, true));
    }
  }
}

TEST_CASE("on either side of each choice between forms the answer is the reference's") {
  RowMaker<f32> maker(13);
  const Rows<f32> rows = oneRow(maker.make("few values", 3000, 64, true));
  for (const std::int64_t k : {2, 3, 8, 9, 64, 65, 512, 513, 2048}) {
    CAPTURE(k);
    const auto got = answersOf<f32, i32>(rows, k, [&](auto &scores, auto &, auto &indices) {
      block_select_topk(device::host(), scores, k, indices);
    });
    CHECK(got == referenceOf(rows, k, true));
  }
}

TEST_CASE_TEMPLATE("every type of number, in both directions, by both methods", T, f16, bf16, f32,
                   f64, i8, i16, i32, i64, u8, u16, u32, u64) {
  for (const Selection<T> &select : smallForms<T>())
    for (const bool largest : {true, false})
      for (const std::string_view kind : kRowKinds)
        for (const std::int64_t n : {5, 200}) {
          CAPTURE(kind);
          CAPTURE(largest);
          CAPTURE(n);
          RowMaker<T> maker(static_cast<std::uint64_t>(n));
          const Rows<T> rows = oneRow(maker.make(kind, n, 12, largest));
          const auto wanted = referenceOf(rows, 12, largest);
          CHECK(select(device::host(), rows, 12, largest) == wanted);
          if (n == 5) CHECK(select(device::interpreter(), rows, 12, largest) == wanted);
        }
}

TEST_CASE("the widths of a block do not show") {
  const std::vector<Selection<f32>> forms{
      byRounds<f32, i32, 32>(), byRounds<f32, i32, 512>(), bySifting<f32, i32, 16, 32, 32>(),
      bySifting<f32, i32, 16, 256, 32>(), bySifting<f32, i32, 64, 512, 256>()};
  for (const std::string_view kind : {"all equal", "boundary tie", "random", "NaN"})
    for (const std::int64_t n : {8, 1024}) {
      CAPTURE(kind);
      CAPTURE(n);
      RowMaker<f32> maker(3);
      const Rows<f32> rows = oneRow(maker.make(kind, n, 16, true));
      for (const Selection<f32> &select : forms)
        CHECK(select(device::host(), rows, 16, true) == referenceOf(rows, 16, true));
    }
}

TEST_CASE("a row may count less than its memory") {
  RowMaker<f32> maker(11);
  Rows<f32> rows{.scores = maker.make("random", 5 * 300, 8, true), .rows = 5, .columns = 300};
  rows.counts = {300, 0, 1, 170, 1000}; // the last says more than there is
  for (const topk_method method : {topk_method::rounds, topk_method::sifting}) {
    const auto got = answersOf<f32, i32>(rows, 8, [&](auto &scores, auto &counts, auto &indices) {
      block_select_topk(device::host(), scores, 8, indices,
                        {.counts = std::as_const(counts).view({5}), .method = method});
    });
    CHECK(got == referenceOf(rows, 8, true));
  }
}

TEST_CASE("what lies behind a row's count is not read") {
  buffer<f32> scores(2, 100); // the interpreter tells of what nobody has set
  jit([](view<f32, 2> x) { x[box<2, 40>(0, 0)] = full<f32, 2, 40>(1); })(
      stream_ref(device::interpreter()), grid(1), scores);
  buffer<i32> indices(2, 4), counts(2);
  counts.fill(40);
  const auto select = [&](const kernels::topk_options &options) {
    block_select_topk(device::interpreter(), std::as_const(scores), 4, indices, options);
  };
  for (const topk_method method : {topk_method::rounds, topk_method::sifting}) {
    select({.counts = std::as_const(counts).view({2}), .method = method});
    CHECK(indices(1, 3) == 3);
    CHECK_THROWS_AS(select({.method = method}), error);
  }
}

namespace {

struct by_magnitude {
  template <class Tile>
  auto operator()(const Tile &scores) const {
    return abs(scores);
  }
};

} // namespace

TEST_CASE("a score may count as something else") {
  buffer<f32> scores(1, 6);
  buffer<i32> indices(1, 3);
  scores.copy_from(std::array{1.0F, -5.0F, 4.0F, kNan, -kInf, 0.5F});
  block_select_topk<by_magnitude>(device::host(), scores, 3, indices);
  CHECK(std::ranges::equal(indices.span(), std::array{4, 1, 2}));
}

TEST_CASE("what cannot be is refused with the caller's line") {
  buffer<f32> scores(4, 64);
  scores.fill(0);
  buffer<i32> indices(4, 8);
  const auto refusal = [&](auto &&call) {
    try {
      call();
    } catch (const error &why) {
      CHECK(why.where().file.ends_with("topk_test.cpp"));
      return std::string(why.what());
    }
    return std::string("accepted");
  };
  const auto says = [](const std::string &text, std::string_view part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refusal([&] { block_select_topk(device::host(), scores, -1, indices); }),
             "k is a count"));
  CHECK(says(refusal([&] { block_select_topk(device::host(), scores, 9, indices); }),
             "a row has k indices"));
  buffer<i32> many(4, 4096);
  CHECK(says(refusal([&] { block_select_topk(device::host(), scores, 4096, many); }),
             "at most what the kernel is made for"));
  buffer<i32> fewer(3, 8);
  CHECK(says(refusal([&] { block_select_topk(device::host(), scores, 8, fewer); }),
             "each row of scores has one of indices"));
  buffer<i32> counts(3);
  counts.fill(1);
  CHECK(says(refusal([&] {
               block_select_topk(device::host(), scores, 8, indices,
                                 {.counts = std::as_const(counts).view({3})});
             }),
             "each row of scores has a count"));
}

TEST_CASE("a count below 0 stops the launch") {
  buffer<f32> scores(1, 64);
  scores.fill(0);
  buffer<i32> indices(1, 8), counts(1);
  counts.fill(-1);
  try {
    block_select_topk(device::host(), scores, 8, indices,
                      {.counts = std::as_const(counts).view({1})});
    FAIL("accepted");
  } catch (const error &why) {
    CHECK(std::string(why.what()).find("a row has at least 0 scores") != std::string::npos);
  }
}

TEST_CASE("an index out of range breaks a promise, a wrong one of equals only the reference sees") {
  const std::vector<f32> row{3, 1, 3, 2};
  const std::span<const f32> scores(row);
  CHECK(!brokenPromise(scores, true, {0, 2}));
  CHECK(brokenPromise(scores, true, {0, 4}) == "an index is out of range");
  CHECK(brokenPromise(scores, true, {0, 0}) == "an index is there twice");
  CHECK(brokenPromise(scores, true, {0, 3}) == "a better score is not selected");
  CHECK(brokenPromise(scores, true, {0, -1}) == "an index is out of range");
  const Places swapped{2, 0};
  CHECK(!brokenPromise(scores, true, swapped));
  CHECK(swapped != referenceTopk(scores, 2, true));
}
