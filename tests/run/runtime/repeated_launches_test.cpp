#include "tests/run/runtime/opened_fake.h"
#include "tests/support/ending_thread.h"
#include "tests/support/thrown_code.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

/// A launch that is like an earlier one of its thread is not looked at again, and has to run all
/// the same as if it were: whatever differs from the earlier one's arguments has its effect.
namespace imbrex {
namespace {

using testing::contentOf;
using testing::OpenedFake;
using testing::thrownCode;

constexpr int kTile = 1024;

/// The first `count` elements. Which of them are accessed at once depends on what divides that.
struct Shifted {
  static constexpr names parameters{"x", "y", "count", "by", "negate"};
  void operator()(ptr<const f32> x, ptr<f32> y, scalar<i32> count, scalar<f32> by,
                  scalar<bool> negate) const {
    const auto at = program_id(0) * kTile + arange<0, kTile>();
    const auto value = load(x + at, at < count, 0.0f) + by;
    store(y + at, where(negate, -value, value), at < count);
  }
};

struct Required {
  static constexpr names parameters{"x", "count"};
  void operator()(view<f32, 1> x, scalar<i32> count) const {
    require(count <= 8, "no more than eight");
    x[box<32>(program_id(0))] = broadcast<32>(cast<f32>(count));
  }
};

struct Counted {
  static constexpr names parameters{"x", "tiles"};
  void operator()(view<f32, 1> x, scalar<i32> /*tiles*/) const {
    x[box<32>(program_id(0))] = full<f32, 32>(1);
  }
  auto blocks(view<f32, 1> /*x*/, scalar<i32> tiles) const { return tiles; }
};

struct Twelve {
  static constexpr names parameters{"x", "number"};
  void operator()(view<f32, 1> x, scalar<i32> number) const {
    x[box<1>(program_id(0))] = cast<f32>(number);
  }
  auto blocks(view<f32, 1> /*x*/, scalar<i32> /*number*/) const { return 12; }
};

std::vector<float> upTo(std::size_t count, float first) {
  std::vector<float> made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

struct Numbers {
  int count;
  float by;
  bool negate;
};

float shifted(float x, const Numbers &numbers) {
  return numbers.negate ? -(x + numbers.by) : x + numbers.by;
}

constexpr std::size_t kSize = 96, kElements = 3 * kTile;

} // namespace

TEST_CASE("launches of few arguments in any order give what each alone does") {
  OpenedFake fake(trace(Shifted{}));
  const std::array kernels{jit(Shifted{}), jit(Shifted{})};
  const std::array<stream, 2> queues{stream(fake.on), stream(fake.on)};
  const std::array<device_buffer<f32>, 2> from{
      device_buffer<f32>(queues[0], upTo(kElements, 1)),
      device_buffer<f32>(queues[0], upTo(kElements, 5000))};
  std::array<device_buffer<f32>, 2> to{device_buffer<f32>(queues[0], {kElements}),
                                       device_buffer<f32>(queues[0], {kElements})};
  std::mt19937 random(7);
  const auto choice = [&](int count) {
    return static_cast<std::size_t>(std::uniform_int_distribution<int>(0, count - 1)(random));
  };
  for (int i = 0; i < 60; ++i) {
    const std::size_t x = choice(2), y = choice(2), blocks = 2 + choice(2);
    constexpr std::array<int, 5> kCounts{1024, 1040, 2048, 1041, 1500};
    const Numbers numbers{kCounts[choice(5)], choice(2) == 0 ? 0.5f : 3.0f, choice(2) == 0};
    CAPTURE(i);
    to[y].copy_from(std::vector<float>(kElements, -1));
    const stream &queue = queues[choice(2)];
    const auto launch = [&](auto &in, auto &out) {
      kernels[choice(2)](queue, grid(blocks), in, out, numbers.count, numbers.by, numbers.negate);
    };
    const float *const bareFrom = std::as_const(from[x]).data();
    float *const bareTo = to[y].data();
    switch (choice(4)) {
    case 0: fake.played.expectBare({}), launch(from[x], to[y]); break;
    case 1: fake.played.expectBare({0}), launch(bareFrom, to[y]); break;
    case 2: fake.played.expectBare({1}), launch(from[x], bareTo); break;
    default: fake.played.expectBare({0, 1}), launch(bareFrom, bareTo);
    }
    REQUIRE(fake.played.problem() == "");
    REQUIRE(fake.streams.back() == queue.native());
    const std::vector<float> given = contentOf(from[x]), made = contentOf(to[y]);
    for (std::size_t k = 0; k < kElements; ++k) {
      const bool isSet = k < kTile * blocks && std::cmp_less(k, numbers.count);
      REQUIRE(made[k] == (isSet ? shifted(given[k], numbers) : -1));
    }
  }
}

TEST_CASE("what a launch requires of its numbers is looked at every time") {
  const OpenedFake fake(trace(Required{}));
  const auto kernel = jit(Required{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, {32});
  for (const int count : {5, 8, 8, 7}) {
    kernel(grid(1), x, count);
    CHECK(contentOf(x) == std::vector<float>(32, static_cast<float>(count)));
  }
  CHECK(thrownCode([&] { kernel(grid(1), x, 9); }) == "RequirementUnmet");
  CHECK(contentOf(x) == std::vector<float>(32, 7.0f));
}

TEST_CASE("a grid that follows from a number does so every time, unless the launch brings one") {
  const OpenedFake fake(trace(Counted{}));
  const auto kernel = jit(Counted{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, {kSize});
  const auto isSet = [&](std::int64_t tiles) {
    std::vector<float> expected(kSize, 0);
    std::fill_n(expected.begin(), 32 * tiles, 1.0f);
    const bool isRight = contentOf(x) == expected;
    x.copy_from(std::vector<float>(kSize, 0));
    return isRight;
  };
  x.copy_from(std::vector<float>(kSize, 0));
  for (const int tiles : {1, 3, 3, 2}) {
    kernel(x, tiles);
    CHECK(isSet(tiles));
  }
  kernel(grid(1), x, 2);
  CHECK(isSet(1));
  kernel(x, 2);
  CHECK(isSet(2));
  kernel(grid(0, 0, 0), x, 2);
  CHECK(isSet(0));
}

TEST_CASE("a launch made again is of the memory that its buffers have now") {
  const OpenedFake fake(trace(Shifted{}));
  const auto kernel = jit(Shifted{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, upTo(kTile, 1)), other(fake.on, upTo(kTile, 5000));
  device_buffer<f32> y(fake.on, {kTile});
  const auto firstOfResult = [&] {
    kernel(grid(1), x, y, kTile, 0.5f, false);
    return contentOf(y)[0];
  };
  CHECK(firstOfResult() == 1.5f);
  std::swap(x, other);
  CHECK(firstOfResult() == 5000.5f);
  std::swap(x, other);
  CHECK(firstOfResult() == 1.5f);
  for (const float first : {100.0f, 200.0f}) { // where the one before may have been
    x = device_buffer<f32>(fake.on, upTo(kTile, first));
    CHECK(firstOfResult() == first + 0.5f);
  }
  device_buffer<f32> moved = std::move(y);
  y = device_buffer<f32>(fake.on, {kTile});
  CHECK(firstOfResult() == 200.5f);
  kernel(grid(1), x, moved, kTile, 7.0f, false);
  CHECK(contentOf(moved)[0] == 207.0f);
  CHECK(contentOf(y)[0] == 200.5f);
}

TEST_CASE("what may not be launched is refused behind a launch that it looks like") {
  const OpenedFake fake(trace(Twelve{}));
  const stream queue(fake.on),
      elsewhere(device::by_name(std::string(testing::kFake.device) + ":1"));
  const auto kernel = jit(Twelve{});
  device_buffer<f32> x(queue, {kSize});
  device_buffer<f32> square(queue, {8, 12}), there(elsewhere, {kSize}), none;
  const auto codeBehindOne = [&](const stream &in, auto &array, auto number) {
    kernel(queue, grid(1), x, 5);
    return thrownCode([&] { kernel(in, grid(1), array, number); });
  };
  CHECK(codeBehindOne(queue, square, 5) == "WrongViewRank");
  CHECK(codeBehindOne(queue, none, 5) == "BufferWithoutMemory");
  CHECK(codeBehindOne(queue, there, 5) == "WrongDeviceMemory");
  CHECK(codeBehindOne(elsewhere, x, 5) == "WrongDeviceMemory");
  CHECK(codeBehindOne(queue, x, (std::int64_t{1} << 32) + 5) == "ScalarTooLarge");
  device_buffer<f32> moved = std::move(x);
  // NOLINTNEXTLINE(bugprone-use-after-move): what is left is what is tested
  CHECK(thrownCode([&] { kernel(queue, grid(1), x, 5); }) == "BufferWithoutMemory");
  kernel(queue, grid(1), moved, 6);
  CHECK(contentOf(moved)[0] == 6.0f);
}

TEST_CASE("a launch that names no stream is made again on the device that is current then") {
  const OpenedFake fake(trace(Required{}));
  const auto kernel = jit(Required{});
  device_buffer<f32> x(fake.on, {32});
  const device before = device::current();
  device::set_current(fake.on);
  for (const int count : {5, 5, 6}) {
    kernel(grid(1), x, count);
    CHECK(contentOf(x)[0] == static_cast<float>(count));
  }
  device::set_current(device::by_name(std::string(testing::kFake.device) + ":1"));
  CHECK(thrownCode([&] { kernel(grid(1), x, 6); }) == "WrongDeviceMemory");
  device::set_current(before);
}

TEST_CASE("the driver's refusal of a launch made again is its error, and it is made once") {
  const OpenedFake fake(trace(Shifted{}));
  const auto kernel = jit(Shifted{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, upTo(kTile, 1)), y(fake.on, {kTile});
  kernel(grid(1), x, y, kTile, 0.5f, false);
  fake.driver.error = 1;
  for (const float by : {0.5f, 2.0f}) { // the very same, and with another number
    fake.driver.failing = "launch";
    fake.driver.calls.clear();
    const auto made = kernel.try_launch(grid(1), x, y, kTile, by, false);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().code() == "LaunchRefused");
    CHECK(fake.calls("launch") == 1);
  }
  kernel(grid(1), x, y, kTile, 2.0f, false);
  CHECK(contentOf(y)[0] == 3.0f);
}

TEST_CASE("a hook sees launches that are made again") {
  const OpenedFake fake(trace(Shifted{}));
  const auto kernel = jit(Shifted{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, upTo(kTile, 1)), y(fake.on, {kTile});
  kernel(grid(1), x, y, kTile, 0.5f, false);
  int seen = 0;
  set_launch_hook([&](const seen_launch &launch) { seen += launch.moment == launch_moment::done; });
  for (int i = 0; i < 3; ++i) kernel(grid(1), x, y, kTile, 0.5f, false);
  set_launch_hook({});
  CHECK(seen == 3);
}

TEST_CASE("of memory that nobody vouches for it is asked every time whose it is") {
  OpenedFake fake(trace(Required{}));
  const auto kernel = jit(Required{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, {32});
  kernel(grid(1), x, 5);
  for (int i = 0; i < 2; ++i) {
    fake.driver.calls.clear();
    kernel(grid(1), std::span<f32>(x.data(), 32), 5);
    CHECK(fake.calls("pointerFacts") > 0);
  }
}

TEST_CASE("of a bare pointer it is asked once whose memory it leads to") {
  OpenedFake fake(trace(Shifted{}));
  const auto kernel = jit(Shifted{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, upTo(kTile, 1)), y(fake.on, {kTile});
  const float *const from = x.data();
  float *const to = y.data();
  fake.played.expectBare({0, 1});
  for (const auto &[by, asks] : {std::pair(0.5f, 2), {0.5f, 0}, {2.0f, 0}}) {
    fake.driver.calls.clear();
    kernel(grid(1), from, to, kTile, by, false);
    CHECK(fake.calls("pointerFacts") == asks);
    CHECK(contentOf(y)[0] == 1 + by);
  }
  constexpr std::uint64_t kNoAddress = std::uint64_t{1} << 63;
  CHECK((x.number() & kNoAddress) != 0);
  CHECK((reinterpret_cast<std::uintptr_t>(from) & kNoAddress) == 0);
}

TEST_CASE("a bare pointer that may not be passed is refused behind one that may") {
  OpenedFake fake(trace(Shifted{}));
  fake.played.expectBare({0, 1});
  const stream elsewhere(device::by_name(std::string(testing::kFake.device) + ":1"));
  const auto kernel = jit(Shifted{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, upTo(kTile, 1)), y(fake.on, {kTile}), there(elsewhere, {kTile});
  const std::vector<float> host = upTo(kTile, 7000);
  const float *const none = nullptr;
  const auto codeBehindOne = [&](const auto &from) {
    kernel(grid(1), std::as_const(x).data(), y.data(), kTile, 0.5f, false);
    return thrownCode([&] { kernel(grid(1), from, y.data(), kTile, 0.5f, false); });
  };
  CHECK(codeBehindOne(none) == "NullPointer");
  CHECK(codeBehindOne(host.data()) == "UnsizedArgument");
  CHECK(codeBehindOne(std::as_const(there).data()) == "WrongDeviceMemory");
  CHECK(codeBehindOne(device_buffer<f32>()) == "BufferWithoutMemory");
  // Into memory that another argument brings, which is copied each time.
  for (int i = 0; i < 2; ++i) {
    std::vector<float> both = upTo(kTile, 7000);
    const float *const bare = both.data();
    kernel(grid(1), bare, both, kTile, 0.5f, false);
    CHECK(both[0] == 7000.5f);
    kernel(grid(1), host, y.data(), kTile, 0.5f, false);
    CHECK(contentOf(y)[0] == 7000.5f);
  }
}

TEST_CASE("an array of the host's is copied where a bare pointer has led to the GPU's memory") {
  OpenedFake fake(trace(Shifted{}));
  const auto kernel = jit(Shifted{}, {.on = fake.on});
  device_buffer<f32> y(fake.on, {kTile});
  alignas(64) float array[kTile]{7000};
  const auto address = reinterpret_cast<std::uintptr_t>(array);
  fake.driver.memory[address] = sizeof array;
  fake.driver.owners[address] = 0;
  fake.played.expectBare({0});
  const float *const bare = array;
  for (int i = 0; i < 2; ++i) kernel(grid(1), bare, y, kTile, 0.5f, false);
  fake.driver.memory.erase(address);
  fake.driver.owners.erase(address);
  fake.played.expectBare({});
  y.copy_from(std::vector<float>(kTile, -1));
  kernel(grid(1), array, y, kTile, 0.5f, false);
  CHECK(contentOf(y)[0] == 7000.5f);
}

TEST_CASE("of more launchers than a thread keeps launches of, each launches its own kernel") {
  const OpenedFake fake(trace(Required{}));
  std::vector<std::string> launched;
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    return launched.push_back(launch.kernel), 0;
  };
  device_buffer<f32> y(fake.on, {32});
  for (int i = 0; i < 150; ++i) {
    const bool isFirst = i % 3 == 0;
    if (isFirst)
      jit(Required{}, {.on = fake.on})(grid(1), y, 3);
    else
      jit(Counted{}, {.on = fake.on})(grid(1), y, 3);
    REQUIRE(launched.back() == (isFirst ? "Required" : "Counted"));
  }
}

TEST_CASE("a thread launches even while its variables are destroyed") {
  const OpenedFake fake(trace(Counted{}));
  const auto kernel = jit(Counted{}, {.on = fake.on});
  const auto other = jit(Twelve{}, {.on = fake.on});
  device_buffer<f32> x(fake.on, {kSize});
  // Played, a launch would want what the emulator keeps of the thread.
  std::vector<unsigned> blocks;
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    return blocks.push_back(launch.grid[0]), 0;
  };
  testing::inEndingThread([&] { kernel(x, 1); },
                          [&] {
                            kernel(x, 3);
                            other(x, 1); // compiles, and so did this thread before
                            other(x, 2);
                          });
  CHECK(blocks == std::vector<unsigned>{1, 3, 12, 12});
}

} // namespace imbrex
