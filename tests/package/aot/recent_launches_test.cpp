#include "app.hpp"
#include "kernels.h"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/device_launches.h"
#include "tests/package/aot/played_library.h"
#include "tests/support/ending_thread.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>
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

TEST_CASE("whatever a kernel takes, a launch like an earlier one is known by it") {
  Fake fake(trace(aot_kernels::add{}));
  fake.driver.device = [](const fake::SeenLaunch &) { return 0; }; // results are no matter
  const auto in = on(kGpu, random<f32>(2048, 1));
  auto out = on(kGpu, std::vector<f32>(2048));
  const auto packed = on(kGpu, std::vector<std::uint8_t>(256));
  auto wide = on(kGpu, std::vector<f64>(11));
  const auto groups = on(kGpu, std::vector<const f32 *>{in.data(), nullptr});
  const auto places = on(kGpu, std::vector<f32 *>{out.data(), nullptr});
  std::int64_t size = 2048;
  const auto tensorOf = [&](const f32 *data) {
    constexpr std::int32_t kCudaTensor = 2, kRocmTensor = 10; // dlpack.h, DLDeviceType
    constexpr std::uint8_t kFloatTensor = 2;                  // dlpack.h, kDLFloat
    return aot::dltensor(imbrex_dltensor{.data = const_cast<f32 *>(data),
                                         .device_type = FAKE_IS_CUDA ? kCudaTensor : kRocmTensor,
                                         .device_id = 0,
                                         .ndim = 1,
                                         .code = kFloatTensor,
                                         .bits = 32,
                                         .lanes = 1,
                                         .shape = &size,
                                         .strides = nullptr,
                                         .byte_offset = 0});
  };
  const aot::dltensor from = tensorOf(in.data()), to = tensorOf(out.data());
  const std::function<status()> each[] = {
      [&] { return app::scale(kGpu, 1, in, out, 100, 0.5f, f16(1.0), true, -16); },
      [&] {
        return app::numbers(kGpu, 1, true, 1, 2, 3, 4, 5, 6, 7, bf16(8.0), f8e4m3fn(9.0), 10.0,
                            wide);
      },
      [&] {
        return app::halve(kGpu, 1, array<const f4e2m1, 2>(packed.data(), {8, 64}),
                          array<f32, 2>(out.data(), {8, 64}));
      },
      [&] {
        return app::groups(kGpu, aot::table<const f32>(groups.data(), 1),
                           aot::table<f32>(places.data(), 1), 50);
      },
      [&] { return app::add(kGpu, 2, from, from, to); },
  };
  for (const auto &launch : each) {
    CAPTURE(&launch - each);
    check(launch());
    fake.driver.calls.clear();
    for (int i = 0; i < 2; ++i) check(launch()); // found, and then expected
    CHECK(fake.calls("launch") == 2);
    CHECK(fake.calls("pointerFacts") == 0);
  }
  // An array of our own is the same as a tensor.
  fake.driver.calls.clear();
  check(app::add(kGpu, 2, array<f32, 1>(in.data(), {2048}), array<f32, 1>(in.data(), {2048}),
                 array<f32, 1>(out.data(), {2048})));
  CHECK(fake.calls("pointerFacts") == 0);
}

TEST_CASE("a launch of another grid is another launch, along each axis") {
  const Fake fake(trace(aot_kernels::add{}));
  std::vector<std::array<unsigned, 3>> grids;
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    return grids.push_back(launch.grid), 0;
  };
  const auto a = on(kGpu, std::vector<f32>(1024)), c = on(kGpu, std::vector<f32>(1024));
  const array<f32, 1> from(a.data(), {1024}), to(c.data(), {1024});
  constexpr auto kAsked = std::to_array<std::array<unsigned, 3>>(
      {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {2, 3, 1}, {2, 3, 5}, {2, 3, 5}, {2, 3, 1}, {1, 1, 1}});
  for (const auto &[x, y, z] : kAsked) check(app::add(kGpu, {x, y, z}, from, from, to));
  CHECK(grids == std::vector<std::array<unsigned, 3>>(kAsked.begin(), kAsked.end()));
}

TEST_CASE("what a launch lacks is named, also where one was made before") {
  const Fake fake(trace(aot_kernels::add{}));
  const auto a = on(kGpu, std::vector<f32>(1024)), c = on(kGpu, std::vector<f32>(1024));
  const imbrex_array from = array<const f32, 1>(a.data(), {1024}),
                     to = array<f32, 1>(c.data(), {1024});
  const imbrex_grid grid{1, 1, 1};
  for (int i = 0; i < 2; ++i) {
    REQUIRE(app_add(&kGpu, &grid, &from, &from, &to) == IMBREX_OK);
    const auto lacks = [](int status, const std::string &text) {
      CHECK(status == IMBREX_BAD_ARGUMENT);
      CHECK(std::string(imbrex_error_text()) == text);
    };
    lacks(app_add(&kGpu, &grid, nullptr, &from, &to),
          "the argument 'a' of 'add', view<const f32, 1>, is missing");
    lacks(app_add(&kGpu, &grid, &from, &from, nullptr),
          "the argument 'c' of 'add', view<f32, 1>, is missing");
    lacks(app_add(&kGpu, nullptr, &from, &from, &to), "the launch of 'add' has no grid");
    lacks(app_add(nullptr, &grid, &from, &from, &to), "there is no stream");
  }
}

TEST_CASE("a launch of before is none on another device") {
  const Fake fake(trace(aot_kernels::add{}));
  const auto a = on(kGpu, std::vector<f32>(1024)), c = on(kGpu, std::vector<f32>(1024));
  const array<f32, 1> from(a.data(), {1024}), to(c.data(), {1024});
  for (int i = 0; i < 3; ++i) {
    check(app::add(kGpu, 1, from, from, to));
    const auto other = FAKE_IS_CUDA ? stream_ref::cuda(1) : stream_ref::hip(1);
    CHECK(app::add(other, 1, from, from, to).code() == IMBREX_BAD_ARGUMENT);
    const imbrex_stream none{.device = 7, .number = 0, .handle = nullptr};
    const imbrex_grid one{1, 1, 1};
    CHECK(app_add(&none, &one, &from, &from, &to) == IMBREX_BAD_ARGUMENT);
  }
  CHECK(fake.launches.size() == 3);
}

TEST_CASE("a bool of C's that is true in another way is true when a launch is made again") {
  const Fake fake(trace(aot_kernels::scale{}));
  const auto x = on(kGpu, std::vector<f32>(256, 3));
  const auto y = on(kGpu, std::vector<f32>(256));
  const memory<const f32> from(x.data(), 256);
  const memory<f32> to(y.data(), 256);
  const imbrex_grid one{1, 1, 1};
  for (const std::uint8_t negate : std::to_array<std::uint8_t>({0, 2, 1, 0, 0, 128})) {
    REQUIRE(app_scale(&kGpu, &one, &from, &to, 256, 2, 0, negate, 0) == IMBREX_OK);
    CHECK(contentOf(y) == std::vector<f32>(256, negate != 0 ? -6.0f : 6.0f));
  }
  // 0, 2, 1, 0, 0, 128: the code gets a one for each that is true.
  for (const std::size_t i : {1U, 5U})
    CHECK(fake.launches[i].arguments == fake.launches[2].arguments);
}

TEST_CASE("a launch that is refused when it is made again says so") {
  Fake fake(trace(aot_kernels::add{}));
  const auto a = on(kGpu, std::vector<f32>(1024)), c = on(kGpu, std::vector<f32>(1024));
  const array<f32, 1> from(a.data(), {1024}), to(c.data(), {1024});
  check(app::add(kGpu, 1, from, from, to));
  fake.driver.failing = "launch";
  fake.driver.error = 1;
  const status refused = app::add(kGpu, 1, from, from, to);
  CHECK(refused.code() == IMBREX_REFUSED);
  CHECK(std::string(refused.message()).find("refuses the launch of 'add' with 1 x 1 x 1 blocks") !=
        std::string::npos);
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
