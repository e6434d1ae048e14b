#include "app.hpp"
#include "kernels.h"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/device_launches.h"
#include "tests/package/aot/played_library.h"
#include "tests/support/ending_thread.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

/// Launches like an earlier one of the thread, of which what has been found out is kept.
namespace imbrex::aot_tests {
namespace {

/// What an earlier launch may have left on the stack is overwritten: none may lead there.
[[gnu::noinline]] void scribble() {
  std::array<volatile std::uint64_t, 1 << 14> over;
  for (volatile std::uint64_t &word : over) word = 0xdead;
}

} // namespace

TEST_CASE("a launch like an earlier one asks a driver for nothing but itself") {
  Fake fake(trace(aot_kernels::add{}));
  const auto a = on(kGpu, random<f32>(2048, 1)), c = on(kGpu, std::vector<f32>(2048));
  const array<f32, 1> from(a.data(), {2048}), to(c.data(), {2048});
  check(app::add(kGpu, 2, from, from, to));
  fake.driver.calls.clear();
  check(app::add(kGpu, 2, from, from, to));
  for (const char *asking : {"pointerFacts", "loadModule", "isCapturing"})
    CHECK(fake.calls(asking) == 0);
  CHECK(fake.calls("launch") == 1);
  check(app::add(kGpu, 1, from, from, to)); // another grid
  CHECK(fake.calls("pointerFacts") > 0);
  CHECK(fake.launches.back().grid[0] == 1);
}

TEST_CASE("a product like an earlier one has the boxes of its own") {
  const Fake fake(trace(aot_kernels::product{}, {.warps = 4}));
  constexpr std::int64_t kMost = 96;
  const auto x = on(kGpu, std::vector<f16>(kMost * kMost, f16(1.0)));
  const auto y = on(kGpu, std::vector<f16>(kMost * kMost, f16(2.0)));
  auto z = on(kGpu, std::vector<f32>(kMost * kMost));
  for (const std::int64_t k : {64, 64, 96, 96, 64}) {
    scribble();
    check(z.copy_from(std::vector<f32>(kMost * kMost)));
    check(app::product(kGpu, array<f16, 2>(x.data(), {64, k}), array<f16, 2>(y.data(), {k, 64}),
                       array<f32, 2>(z.data(), {64, 64})));
    CHECK(fake.played.problem() == "");
    CHECK(contentOf(z).front() == 2.0f * static_cast<f32>(k));
  }
}

TEST_CASE("rows that lie otherwise are no launch of before") {
  const Fake fake(trace(aot_kernels::add{}));
  constexpr std::int64_t kSize = 2048;
  const std::vector<f32> numbers = random<f32>(kSize, 3);
  const auto a = on(kGpu, numbers), c = on(kGpu, std::vector<f32>(kSize));
  for (const std::int64_t stride : {1, 2, 2, 1}) {
    CAPTURE(stride);
    const array<f32, 1> from(a.data(), {kSize / 2}, {stride}), to(c.data(), {kSize / 2});
    check(app::add(kGpu, 1, from, from, to));
    REQUIRE(fake.played.problem() == "");
    const std::vector<f32> sums = contentOf(c);
    for (std::size_t i = 0; i < kSize / 2; ++i)
      REQUIRE(sums[i] == 2 * numbers[i * static_cast<std::size_t>(stride)]);
  }
}

TEST_CASE("large arrays beside one of them are launched again") {
  Fake fake(trace(aot_kernels::add{}));
  fake.driver.device = [](const fake::SeenLaunch &) { return 0; }; // their sums are no matter
  // As far from each other as drivers put them.
  constexpr std::int64_t kApart = 2 << 20, kFloats = kApart / 4;
  constexpr int kLaunches = 8;
  const auto all = on(kGpu, std::vector<f32>((kLaunches + 1) * kFloats));
  const auto part = [&](int i) { return array<f32, 1>(all.data() + i * kFloats, {1024}); };
  const auto round = [&] {
    for (int i = 1; i <= kLaunches; ++i) check(app::add(kGpu, 1, part(0), part(i), part(i)));
  };
  round();
  fake.driver.calls.clear();
  round();
  CHECK(fake.calls("launch") == kLaunches);
  // Two may have one place, but not each with another.
  CHECK(fake.calls("pointerFacts") < 3 * kLaunches);
}

TEST_CASE("launches of few arguments in any order give what each alone does") {
  const Fake fake(trace(aot_kernels::scale{}));
  launchInAnyOrder(kGpu, 5, 60);
  CHECK(fake.played.problem() == "");
}

TEST_CASE("what follows from a number is looked at every time") {
  const Fake fake(trace(aot_kernels::tiles{}));
  auto x = on(kGpu, std::vector<f32>(96));
  const array<f32, 1> all(x.data(), {96});
  int before = 0;
  for (const int count : {1, 3, 3, 2}) {
    REQUIRE(x.copy_from(std::vector<f32>(96)).ok());
    fake.driver.calls.clear();
    check(app::tiles(kGpu, all, count));
    CHECK(fake.calls("pointerFacts") == (count == before ? 0 : 1));
    before = count;
    std::vector<f32> expected(96);
    std::fill_n(expected.begin(), 32 * count, static_cast<f32>(count));
    CHECK(contentOf(x) == expected);
  }
  CHECK(app::tiles(kGpu, all, 4).code() == IMBREX_UNMET);
  CHECK(fake.launches.size() == 4);
}

TEST_CASE("a thread launches even while its variables are destroyed") {
  const Fake fake(trace(aot_kernels::tiles{}));
  const auto x = on(kGpu, std::vector<f32>(96));
  const array<f32, 1> all(x.data(), {96});
  check(app::tiles(kGpu, all, 2)); // loads
  // Played, a launch would want what the emulator keeps of the thread.
  std::vector<unsigned> blocks;
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    return blocks.push_back(launch.grid[0]), 0;
  };
  testing::inEndingThread([&] { static_cast<void>(app::tiles(kGpu, all, 1)); },
                          [&] { static_cast<void>(app::tiles(kGpu, all, 3)); });
  CHECK(blocks == std::vector<unsigned>{1, 3});
}

} // namespace imbrex::aot_tests
