#include "tests/package/aot/attributed/kernels.h"
#include "tests/package/aot/played_library.h"
#if FAKE_IS_CUDA
#include "attributed_cuda.hpp"
#else
#include "attributed_hip.hpp"
#endif

#include <doctest/doctest.h>

#include <array>

/// Libraries whose launches ask for clusters, to run all blocks at once, or to start early.
namespace imbrex::aot_tests {
namespace {

constexpr std::int64_t kLength = 4 * 32;

/// Launches of a kernel of the library, with arrays on a GPU.
struct Shifting {
  Shifting()
      : input(random<f32>(static_cast<std::size_t>(kLength), 1)), x(on(kGpu, input)),
        y(on(kGpu, std::vector<f32>(static_cast<std::size_t>(kLength)))) {}

  template <class Kernel>
  status launch(Kernel kernel, f32 by, std::int64_t blocks = 4, const stream_ref &in = kGpu) const {
    return kernel(in, blocks, array<const f32, 1>(x.data(), {kLength}),
                  array<f32, 1>(y.data(), {kLength}), by);
  }
  bool isShifted(f32 by) const {
    const std::vector<f32> made = contentOf(y);
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i] != input[i] + by) return false;
    return true;
  }

  std::vector<f32> input;
  device_buffer<f32> x, y;
};

constexpr auto kGathered = [](const auto &...arguments) {
  return attributed::gathered(arguments...);
};
#if FAKE_IS_CUDA
constexpr auto kPaired = [](const auto &...arguments) { return attributed::paired(arguments...); };
constexpr auto kSixteen = [](const auto &...arguments) {
  return attributed::sixteen(arguments...);
};
constexpr auto kChained = [](const auto &...arguments) {
  return attributed::chained(arguments...);
};
#endif

/// All launches of a kernel ask for this, the first, those made again, and those that are captured.
template <class K, class Kernel>
void checkAsked(const K &functor, Kernel kernel, std::int64_t blocks = 4) {
  Fake fake(trace(functor));
  const Shifting shifting;
  const auto launch = [&](f32 by) {
    const status came = shifting.launch(kernel, by, blocks);
    CHECK(fake.played.problem() == "");
    check(came);
    CHECK(shifting.isShifted(by));
  };
  for (const f32 by : {1.0f, 1.0f, 2.0f}) launch(by);
  CHECK(fake.calls("pointerFacts") == 2); // of the first alone
  aot::stream queue;
  check(queue.make(kGpu));
  const stream_ref &in = queue;
  fake.driver.captured = in.handle;
  check(shifting.launch(kernel, 3, blocks, in));
  fake.driver.captured = nullptr;
  CHECK(shifting.isShifted(3));
  REQUIRE(fake.launches.size() == 4);
  for (const fake::SeenLaunch &seen : fake.launches) {
    CHECK_FALSE(seen.isPlain);
    CHECK(seen.isCooperative == K::cooperative);
    CHECK(seen.isProgrammatic == K::programmatic);
    CHECK(seen.cluster == std::array<unsigned, 3>{K::cluster.x, 1, 1});
  }
}

std::string refusal(const status &came) {
  CHECK_FALSE(came.ok());
  return std::string(came.message());
}

} // namespace

TEST_CASE("launches of a library ask for what their kernel does") {
  checkAsked(aot_kernels::gathered{}, kGathered);
#if FAKE_IS_CUDA
  checkAsked(aot_kernels::paired{}, kPaired);
  checkAsked(aot_kernels::sixteen{}, kSixteen, 16); // which has to be allowed
  checkAsked(aot_kernels::chained{}, kChained);
#endif
}

TEST_CASE("a library's grid that is not all there at once is the driver's error") {
  Fake fake(trace(aot_kernels::gathered{}));
  const Shifting shifting;
  fake.driver.mostAtOnce = 3;
  check(shifting.launch(kGathered, 1, 3));
  const std::string said = refusal(shifting.launch(kGathered, 1, 4));
  CHECK(said.find("refuses the launch of 'gathered' with 4 x 1 x 1 blocks") != std::string::npos);
  CHECK(said.find("error 720") != std::string::npos);
}

#if FAKE_IS_CUDA
TEST_CASE("a library's grid of no whole clusters is refused, but on the host") {
  const Fake fake(trace(aot_kernels::paired{}));
  const Shifting shifting;
  CHECK(refusal(shifting.launch(kPaired, 1, 3)) ==
        "the grid of 'paired' has 3 blocks along x, no multiple of the 2 of its clusters");
  CHECK(fake.launches.empty());
  check(shifting.launch(kPaired, 1, 0));
  std::vector<f32> y(shifting.input.size());
  check(attributed::paired(stream_ref::host(), 3, shifting.input, y, 1.0f));
  CHECK(y[95] == shifting.input[95] + 1);
}
#endif

TEST_CASE("a driver that is too old for a library's launches is told with what it lacks") {
  constexpr std::int32_t kNumber = 11; // opened here first
  const stream_ref old = FAKE_IS_CUDA ? stream_ref::cuda(kNumber) : stream_ref::hip(kNumber);
  fake::State &driver = testing::freshDriver(FAKE_BOXLESS);
  driver.isa = FAKE_ISA;
  driver.devices = kNumber + 1;
  setenv(FAKE_VARIABLE, FAKE_BOXLESS, 1);
  const auto x = on(old, std::vector<f32>(32)), y = on(old, std::vector<f32>(32));
  setenv(FAKE_VARIABLE, FAKE_DRIVER, 1);
  const auto both = [&](const device_buffer<f32> &of) { return array<f32, 1>(of.data(), {32}); };
  const std::string said = refusal(attributed::gathered(old, 1, both(x), both(y), 1.0f));
  CHECK(said.find(" is too old for the launches of 'gathered': it lacks ") != std::string::npos);
  CHECK(said.ends_with(FAKE_IS_CUDA ? "cuLaunchKernelEx" : "hipModuleLaunchCooperativeKernel"));
  CHECK(std::ranges::count(driver.calls, "loadModule") == 0);
}

} // namespace imbrex::aot_tests
