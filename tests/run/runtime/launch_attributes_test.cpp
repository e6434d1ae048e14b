#include "dsl/traced_kernel.h"
#include "runtime/aot/driver/kept_launch.h"
#include "runtime/gpu/supported_gpu.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/played_gpu.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

/// What launches ask for beside their grid, from the driver's layer down to the driver.
namespace imbrex {
namespace {

using driver::LaunchAttributes;
using testing::kFake;

bool isCuda() { return std::string_view(kFake.device) == "cuda"; }
constexpr int kInvalidValue = 1, kTooLarge = 720;

struct Nothing {
  void operator()(ptr<f32> x) const { store(x, 1.0f); }
};

/// A kernel that is loaded, of one pointer, and what is launched of it.
class Loaded {
public:
  explicit Loaded(const driver::KernelNeeds &needs = {}, const char *path = kFake.driver)
      : driver_(testing::freshDriver(path)), gpu_(open(path)), kernel_(load(needs)) {
    driver_.device = [this](const fake::SeenLaunch &launch) { return seen_ = launch, 0; };
    driver_.calls.clear();
  }

  /// The driver's error.
  int start(std::array<std::int32_t, 3> grid, const LaunchAttributes &attributes,
            void *stream = nullptr) {
    return gpu_->driver().start(kernel_->module(), launch(grid, attributes, stream));
  }
  driver::Launch launch(std::array<std::int32_t, 3> grid, const LaunchAttributes &attributes,
                        void *stream = nullptr) {
    return {.grid = grid,
            .threads = 128,
            .arguments = std::as_bytes(std::span(&argument_, 1)),
            .each = each_,
            .attributes = attributes,
            .stream = stream};
  }
  std::int64_t calls(const char *member) const { return std::ranges::count(driver_.calls, member); }
  fake::State &driver() { return driver_; }
  const gpu::SupportedGpu &gpu() const { return *gpu_; }
  const gpu::LoadedKernel &kernel() const { return *kernel_; }
  const fake::SeenLaunch &seen() const { return seen_; }

private:
  static std::unique_ptr<gpu::SupportedGpu> open(const char *path) {
    testing::freshDriver(path).isa = kFake.isa;
    auto opened = testing::openGpu({path}, 0);
    REQUIRE(opened);
    return std::move(*opened);
  }
  std::unique_ptr<gpu::LoadedKernel> load(const driver::KernelNeeds &needs) const {
    const traced_kernel traced = trace(Nothing{});
    const std::string code = isCuda() ? testing::assemblyOf(irOf(traced), "sm_80")
                                      : testing::imageOf(irOf(traced), "gfx942");
    auto loaded = gpu_->load(code, "Nothing", needs);
    REQUIRE(loaded);
    return std::move(*loaded);
  }

  fake::State &driver_;
  std::unique_ptr<gpu::SupportedGpu> gpu_;
  std::unique_ptr<gpu::LoadedKernel> kernel_;
  std::uint64_t argument_ = 0x1234;
  std::array<void *, 1> each_{&argument_};
  fake::SeenLaunch seen_;
};

} // namespace

TEST_CASE("a launch without attributes is the driver's plain one") {
  Loaded loaded;
  CHECK(loaded.start({4, 1, 1}, {}) == 0);
  CHECK(loaded.seen().isPlain);
  CHECK(loaded.calls("launch") == 1);
  CHECK(loaded.calls("launchWith") + loaded.calls("launchCooperative") == 0);
}

TEST_CASE("a cooperative launch is refused where its blocks are not all there at once") {
  Loaded loaded;
  const LaunchAttributes cooperative{.isCooperative = true};
  loaded.driver().mostAtOnce = 12;
  CHECK(loaded.start({4, 3, 1}, cooperative) == 0);
  CHECK(loaded.seen().isCooperative);
  CHECK_FALSE(loaded.seen().isPlain);
  CHECK(loaded.seen().grid == std::array<unsigned, 3>{4, 3, 1});
  CHECK(loaded.seen().threads == 128);
  CHECK(*static_cast<std::uint64_t *>(loaded.seen().each[0]) == 0x1234);
  CHECK(loaded.start({13, 1, 1}, cooperative) == kTooLarge);
  CHECK(loaded.start({13, 1, 1}, {}) == 0);
}

TEST_CASE("clusters and programmatic launches are CUDA's alone") {
  Loaded loaded;
  const LaunchAttributes cluster{.cluster = {2, 1, 3}}, programmatic{.isProgrammatic = true};
  if (!isCuda()) {
    CHECK(loaded.start({4, 1, 3}, cluster) == driver::kNotSupported);
    CHECK(loaded.start({4, 1, 1}, programmatic) == driver::kNotSupported);
    return;
  }
  CHECK(loaded.start({4, 1, 3}, cluster) == 0);
  CHECK(loaded.seen().cluster == std::array<unsigned, 3>{2, 1, 3});
  CHECK_FALSE((loaded.seen().isCooperative || loaded.seen().isProgrammatic));
  CHECK(loaded.start({3, 1, 3}, cluster) == kInvalidValue);
  CHECK(loaded.start({4, 1, 1}, cluster) == kInvalidValue);
  CHECK(loaded.start({4, 1, 1}, programmatic) == 0);
  CHECK(loaded.seen().isProgrammatic);
  CHECK_FALSE(loaded.seen().isCooperative);
  CHECK(loaded.seen().cluster == std::array<unsigned, 3>{1, 1, 1});
  const LaunchAttributes all{.cluster = {1, 4, 1}, .isCooperative = true, .isProgrammatic = true};
  CHECK(loaded.start({1, 8, 1}, all) == 0);
  CHECK(loaded.seen().cluster == std::array<unsigned, 3>{1, 4, 1});
  CHECK((loaded.seen().isCooperative && loaded.seen().isProgrammatic));
}

TEST_CASE("clusters that not every GPU has are allowed when the code is loaded") {
  if (!isCuda()) return;
  const LaunchAttributes sixteen{.cluster = {16, 1, 1}};
  Loaded unasked;
  CHECK(unasked.start({16, 1, 1}, sixteen) == kInvalidValue);
  Loaded asked({.clusterBlocks = 16});
  CHECK(asked.start({16, 1, 1}, sixteen) == 0);
  Loaded portable({.clusterBlocks = 8});
  CHECK(portable.start({16, 1, 1}, sixteen) == kInvalidValue);

  asked.driver().failing = "setKernelFact";
  asked.driver().error = 1;
  const auto refused = asked.gpu().load(testing::assemblyOf(irOf(trace(Nothing{})), "sm_80"),
                                        "Nothing", {.clusterBlocks = 16});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "cuda:0 (Fake, sm_90) refuses to let 'Nothing' have clusters of "
                                   "16 blocks: FAKE_INVALID_VALUE, invalid argument");
}

TEST_CASE("a driver that is too old for attributes is asked for none, and says what it lacks") {
  Loaded loaded({}, FAKE_BOXLESS);
  const LaunchAttributes cooperative{.isCooperative = true};
  CHECK(std::string_view(loaded.gpu().driver().lacksFor(cooperative)) ==
        (isCuda() ? "cuLaunchKernelEx" : "hipModuleLaunchCooperativeKernel"));
  CHECK(loaded.gpu().driver().lacksFor({}) == nullptr);
  CHECK(loaded.start({4, 1, 1}, cooperative) == driver::kNotSupported);
  CHECK(loaded.start({4, 1, 1}, {}) == 0);
  CHECK(Loaded().gpu().driver().lacksFor(cooperative) == nullptr);
}

TEST_CASE("a launch that is kept is made again with its attributes") {
  Loaded loaded;
  driver::KeptLaunch kept, plain;
  kept.keep(loaded.launch({6, 1, 1}, {.isCooperative = true}), loaded.gpu().driver());
  plain.keep(loaded.launch({7, 1, 1}, {}), loaded.gpu().driver());
  for (int i = 0; i < 2; ++i) {
    CHECK(loaded.gpu().startAgain(loaded.kernel(), kept, nullptr));
    CHECK(loaded.seen().isCooperative);
    CHECK(loaded.seen().grid[0] == 6);
    CHECK(*static_cast<std::uint64_t *>(loaded.seen().each[0]) == 0x1234);
    CHECK(loaded.gpu().startAgain(loaded.kernel(), plain, nullptr));
    CHECK(loaded.seen().isPlain);
  }
  kept.keep(loaded.launch({5, 1, 1}, {}), loaded.gpu().driver());
  CHECK(loaded.gpu().startAgain(loaded.kernel(), kept, nullptr));
  CHECK(loaded.seen().isPlain);
  loaded.driver().failing = isCuda() ? "launchWith" : "launchCooperative";
  loaded.driver().error = 1;
  kept.keep(loaded.launch({6, 1, 1}, {.isCooperative = true}), loaded.gpu().driver());
  const auto refused = loaded.gpu().startAgain(loaded.kernel(), kept, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("FAKE_INVALID_VALUE") != std::string::npos);
}

TEST_CASE("a launch with attributes is timed as such") {
  Loaded loaded;
  const auto milliseconds =
      loaded.gpu().time(loaded.kernel(), loaded.launch({4, 1, 1}, {.isCooperative = true}), 3);
  REQUIRE(milliseconds);
  CHECK(*milliseconds == 1);
  CHECK(loaded.seen().isCooperative);
  CHECK(loaded.calls("launch") == 0);
}

} // namespace imbrex
