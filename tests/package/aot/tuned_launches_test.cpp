#include "app.hpp"
#include "kernels.h"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/played_library.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <utility>

/// Which configuration of a kernel a launch runs, by its tuning table (tuned.json).
namespace imbrex::aot_tests {

TEST_CASE("a launch runs the configuration that the first row names that fits it") {
  struct Choice {
    std::int64_t size;
    i32 n;
    bool isOdd;
    int here, there; ///< What it runs on the host, and on a GPU.
  };
  const std::vector<Choice> choices{
      {999, 0, false, 0, 0}, {1000, 0, false, 1, 1}, {1000, 7, true, 1, 1},  {64, 7, false, 4, 0},
      {64, 8, false, 0, 6},  {64, 7, true, 4, 2},    {64, -2, true, 3, 3},   {64, -5, true, 3, 3},
      {64, -6, true, 2, 2},  {64, -1, false, 0, 0},  {500, -3, false, 3, 3}, {502, -3, true, 2, 2},
      {63, -3, true, 2, 2},  {0, 7, true, 4, 2}};
  const auto isOnly = [](const std::vector<f32> &x, int number) {
    return std::ranges::all_of(x, [&](f32 one) { return one == static_cast<f32>(number); });
  };
  for (const Choice &one : choices) {
    CAPTURE(one.size);
    CAPTURE(one.n);
    std::vector<f32> x(static_cast<std::size_t>(one.size), -1.0f);
    check(app::chosen(stream_ref::host(), x, one.n, one.isOdd));
    CHECK(isOnly(x, one.here));
  }
  const auto onGpu = [&](int number, traced_kernel recorded) {
    const Fake fake(std::move(recorded));
    for (const Choice &one : choices) {
      if (one.there != number || one.size == 0) continue;
      CAPTURE(one.size);
      CAPTURE(one.n);
      const auto x = on(kGpu, std::vector<f32>(static_cast<std::size_t>(one.size), -1.0f));
      for (int repeated = 0; repeated < 2; ++repeated) {
        check(app::chosen(kGpu, array<f32, 1>(x.data(), {one.size}), one.n, one.isOdd));
        CHECK(fake.played.problem() == "");
        CHECK(isOnly(contentOf(x), number));
      }
    }
    CHECK(!fake.launches.empty());
  };
  onGpu(0, trace(aot_kernels::chosen<0, 32>{}));
  onGpu(1, trace(aot_kernels::chosen<1, 256>{}, {.warps = 2}));
  onGpu(2, trace(aot_kernels::chosen<2, 64>{}));
  onGpu(3, trace(aot_kernels::chosen<3, 64>{}));
  onGpu(6, trace(aot_kernels::chosen<6, 128>{}));
}

TEST_CASE("another number may be another configuration, of a launch made again too") {
  Fake fake(trace(aot_kernels::chosen<0, 32>{}));
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    return fake.launches.push_back(launch), 0;
  };
  const auto x = on(kGpu, std::vector<f32>(64));
  const array<f32, 1> all(x.data(), {64});
  for (const auto &[n, blocks] : {std::pair{0, 2}, {-3, 1}, {0, 2}, {-3, 1}, {1, 2}, {-2, 1}}) {
    check(app::chosen(kGpu, all, n, false));
    CHECK(fake.launches.back().grid[0] == blocks);
  }
  // Where nothing else follows from it, too. The GPU takes no code but the configuration's.
  const Fake other(trace(aot_kernels::marked<1000>{}));
  for (const int n : {101, 103, 7, 105, 9}) {
    CHECK(app::marked(kGpu, 1, x, n, 0, 0, 0).ok() == (n > 100));
    if (n > 100) CHECK(contentOf(x).front() == 1000.0f + static_cast<f32>(n));
  }
  for (const std::uint64_t large : {11, 13, 9, 15, 7})
    CHECK(app::marked(kGpu, 1, x, 5, large, 0, 0).ok() == (large > 10));
  // Numbers of which no row speaks change in a launch that is kept.
  check(app::marked(kGpu, 1, x, 101, 0, 0, 0.5f));
  other.driver.calls.clear();
  check(app::marked(kGpu, 1, x, 101, 0, 0, 0.25f));
  CHECK(other.calls("pointerFacts") == 0);
  CHECK(contentOf(x).front() == 1101.25f);
}

TEST_CASE("a number of which a configuration requires something is looked at every time") {
  const Fake fake(trace(aot_kernels::bounded<1>{})); // and takes no code but the configuration's
  const auto x = on(kGpu, std::vector<f32>(32));
  for (const int n : {5, 7, 9, 3, 11}) {
    CAPTURE(n);
    CHECK(app::bounded(kGpu, 1, x, n, 7).ok() == (n <= 8));
  }
  CHECK(contentOf(x)[6] == 8);
  CHECK(contentOf(x)[7] == 0);
}

TEST_CASE("a tuning table knows whole numbers of any kind") {
  struct Numbers {
    std::uint64_t large;
    std::int8_t small;
    bool isTuned;
  };
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  for (const auto &[large, small, isTuned] : {Numbers{9, 0, false},
                                              {10, 0, true},
                                              {kLargest, 0, true},
                                              {kLargest / 2, 0, true},
                                              {0, -1, true},
                                              {0, -3, true},
                                              {0, -4, false},
                                              {0, -128, false},
                                              {0, 127, false}}) {
    CAPTURE(large);
    CAPTURE(static_cast<int>(small));
    std::vector<f32> x(32);
    check(app::marked(stream_ref::host(), 1, x, 5, large, small, 0));
    CHECK(x[0] == (isTuned ? 1005 : 5));
  }
}

} // namespace imbrex::aot_tests
