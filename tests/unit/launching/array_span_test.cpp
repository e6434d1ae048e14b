#include "backend/launching/array_span.h"

#include <doctest/doctest.h>

#include <vector>

using imbrex::launching::kMostElements;
using imbrex::launching::SpanProblem;

namespace {

imbrex::launching::ArraySpan spanOf(const std::vector<std::int64_t> &extents,
                                    const std::vector<std::int64_t> &strides) {
  return imbrex::launching::spanOf(extents, strides);
}

} // namespace

TEST_CASE("an array reaches from its first element to its last") {
  CHECK(spanOf({}, {}).elements == 1);
  CHECK(spanOf({3, 5}, {5, 1}).elements == 15);
  CHECK(spanOf({3, 5}, {100, 3}).elements == 213);
  CHECK(spanOf({7}, {0}).elements == 1);
  CHECK(spanOf({3, 5}, {5, 1}).bytes(4) == 8); // the last byte is half used
  CHECK(spanOf({3, 5}, {5, 1}).bytes(64) == 120);
}

TEST_CASE("one without elements reaches nowhere, however long its axes are") {
  CHECK(spanOf({0}, {1}).elements == 0);
  const auto empty = spanOf({std::int64_t{1} << 62, 0, std::int64_t{1} << 62}, {1, 1, 1});
  CHECK(empty.problem == SpanProblem::None);
  CHECK(empty.elements == 0);
}

TEST_CASE("what is negative is named, and what no offset reaches is refused") {
  CHECK(spanOf({2, -1}, {1, 1}).problem == SpanProblem::NegativeExtent);
  CHECK(spanOf({2, -1}, {1, 1}).axis == 1);
  CHECK(spanOf({2, 2}, {-3, 1}).problem == SpanProblem::NegativeStride);
  CHECK(spanOf({2, 2}, {-3, 1}).axis == 0);
  CHECK(spanOf({kMostElements}, {1}).problem == SpanProblem::None);
  CHECK(spanOf({kMostElements}, {1}).bytes(64) == 8 * kMostElements);
  CHECK(spanOf({kMostElements + 1}, {1}).problem == SpanProblem::TooManyElements);
  CHECK(spanOf({2}, {kMostElements}).problem == SpanProblem::TooManyElements);
  CHECK(spanOf({kMostElements + 1}, {0}).problem == SpanProblem::TooManyElements);
  CHECK(spanOf({std::int64_t{1} << 40, std::int64_t{1} << 40}, {1, 1}).problem ==
        SpanProblem::TooManyElements);
}

TEST_CASE("rows one behind the other are as far apart as they are long") {
  const auto packed = [](const std::vector<std::int64_t> &extents) {
    std::vector<std::int64_t> strides(extents.size(), -7);
    imbrex::launching::setPackedStrides(extents, strides);
    return strides;
  };
  using Strides = std::vector<std::int64_t>;
  CHECK(packed({}).empty());
  CHECK(packed({5}) == Strides{1});
  CHECK(packed({2, 3, 5}) == Strides{15, 5, 1});
  CHECK(packed({2, 0, 5}) == Strides{0, 5, 1});
  // Not to be had: of the axes before those.
  CHECK(packed({2, -3, 5}) == Strides{0, 5, 1});
  CHECK(packed({2, std::int64_t{1} << 40, std::int64_t{1} << 40}) ==
        Strides{0, std::int64_t{1} << 40, 1});
}
