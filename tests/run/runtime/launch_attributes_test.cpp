#include "dsl/traced_kernel.h"
#include "runtime/aot/driver/kept_launch.h"
#include "runtime/gpu/supported_gpu.h"
#include "runtime/gpu_executable.h"
#include "tests/run/runtime/kept_folder.h"
#include "tests/run/runtime/numbers_view.h"
#include "tests/run/runtime/opened_fake.h"
#include "tests/support/assembler.h"
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
constexpr int kInvalidValue = 1, kTooLarge = 720; // cuda.h: CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE

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
  kept.keep(loaded.launch({6, 1, 1}, {.isCooperative = true}), loaded.gpu().driver(),
            loaded.kernel().module());
  plain.keep(loaded.launch({7, 1, 1}, {}), loaded.gpu().driver(), loaded.kernel().module());
  for (int i = 0; i < 2; ++i) {
    CHECK(kept.start(nullptr) == 0);
    CHECK(loaded.seen().isCooperative);
    CHECK(loaded.seen().grid[0] == 6);
    CHECK(*static_cast<std::uint64_t *>(loaded.seen().each[0]) == 0x1234);
    CHECK(plain.start(nullptr) == 0);
    CHECK(loaded.seen().isPlain);
  }
  kept.keep(loaded.launch({5, 1, 1}, {}), loaded.gpu().driver(), loaded.kernel().module());
  CHECK(kept.start(nullptr) == 0);
  CHECK(loaded.seen().isPlain);
  loaded.driver().failing = isCuda() ? "launchWith" : "launchCooperative";
  loaded.driver().error = 1;
  kept.keep(loaded.launch({6, 1, 1}, {.isCooperative = true}), loaded.gpu().driver(),
            loaded.kernel().module());
  const auto refused = loaded.gpu().started(loaded.kernel(), kept.launch(), kept.start(nullptr));
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

namespace {

/// The numbers and as much again.
struct Doubled {
  static constexpr names parameters{"x", "y", "n"};
  void operator()(view<const f32, 1> x, view<f32, 1> y, scalar<f32> n) const {
    const auto here = box<16>(program_id(0));
    y[here] = x[here] + x[here] + n;
  }
};

std::vector<float> doubled(float n) {
  std::vector<float> made = testing::upTo64();
  for (float &x : made) x = x + x + n;
  return made;
}

/// What launches may ask for here.
std::vector<jit_options> asked() {
  std::vector<jit_options> all(1);
  all[0].cooperative = true;
  if (!isCuda()) return all;
  all.resize(4);
  all[1].cluster = {2};
  all[2].programmatic = true;
  all[3] = {.cluster = {4}, .cooperative = true, .programmatic = true};
  return all;
}

bool isAsAsked(const fake::SeenLaunch &seen, const jit_options &asked) {
  const auto &[x, y, z] = asked.cluster;
  return !seen.isPlain && seen.isCooperative == asked.cooperative &&
         seen.isProgrammatic == asked.programmatic &&
         seen.cluster == std::array<unsigned, 3>{static_cast<unsigned>(x), static_cast<unsigned>(y),
                                                 static_cast<unsigned>(z)};
}

/// With the launches as the driver saw them.
struct SeenFake : testing::OpenedFake {
  explicit SeenFake(const jit_options &options)
      : OpenedFake(trace(Doubled{}, detail::trace_options_of(options))) {
    const auto play = driver.device;
    driver.device = [this, play](const fake::SeenLaunch &launch) {
      launches.push_back(launch);
      return play(launch);
    };
  }
  std::vector<fake::SeenLaunch> launches;
};

} // namespace

TEST_CASE("a kernel's launches ask for what its author does, also those made again and captured") {
  for (jit_options options : asked()) {
    SeenFake fake(options);
    options.on = fake.on;
    const auto kernel = jit(Doubled{}, options);
    const stream queue(fake.on);
    const device_buffer<f32> x(queue, testing::upTo64());
    device_buffer<f32> y(queue, {64});
    const auto launch = [&](float n) {
      kernel(queue, grid(4), x, y, n);
      CHECK(fake.played.problem() == "");
    };
    for (const float n : {1.0f, 1.0f, 2.0f}) {
      launch(n);
      CHECK(testing::contentOf(y) == doubled(n));
    }
    const std::int64_t asksBefore = fake.calls("pointerFacts");
    fake.driver.captured = queue.native();
    launch(3);
    fake.driver.captured = nullptr;
    CHECK(testing::contentOf(y) == doubled(3));
    CHECK(fake.calls("pointerFacts") == asksBefore); // not looked at again
    REQUIRE(fake.launches.size() == 4);
    for (const fake::SeenLaunch &seen : fake.launches) CHECK(isAsAsked(seen, options));
    // Arrays of the host's are copied, and the launch is waited for.
    std::vector<float> there(64);
    kernel(grid(4), testing::upTo64(), there, 4.0f);
    CHECK(there == doubled(4));
    CHECK(isAsAsked(fake.launches.back(), options));
  }
}

TEST_CASE("a kernel that asks for nothing is launched by the plain call") {
  SeenFake fake({});
  const auto kernel = jit(Doubled{}, {.on = fake.on});
  std::vector<float> there(64);
  kernel(grid(4), testing::upTo64(), there, 4.0f);
  CHECK(there == doubled(4));
  CHECK(fake.launches.back().isPlain);
}

TEST_CASE("a cooperative grid that is too large is refused with the driver's error") {
  SeenFake fake({.cooperative = true});
  fake.driver.mostAtOnce = 3;
  const auto kernel = jit(Doubled{}, {.on = fake.on, .cooperative = true});
  std::vector<float> there(64);
  const auto refused = kernel.try_launch(grid(4), testing::upTo64(), there, 4.0f);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == "LaunchRefused");
  CHECK(std::string(refused.error().what()).find("4 x 1 x 1 blocks") != std::string::npos);
  CHECK(std::string(refused.error().what()).find("error 720") != std::string::npos);
}

TEST_CASE("clusters that do not divide the grid are told, on a GPU and where it is emulated") {
  if (!isCuda()) return;
  SeenFake fake({.cluster = {1, 3}});
  for (const device on : {fake.on, device::by_name("emulated:sm_90a")}) {
    const auto kernel = jit(Doubled{}, {.on = on, .cluster = {1, 3}});
    std::vector<float> there(64);
    const auto refused = kernel.try_launch(grid(4, 4), testing::upTo64(), there, 4.0f);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == "GridInClusters");
    const std::string said = refused.error().what();
    CHECK(said.find("error: the grid has 4 blocks along y, no multiple of the 3 of the kernel's "
                    "clusters\n  hint: round the grid up, or leave `cluster` out, which changes no "
                    "result") != std::string::npos);
    CHECK(kernel.try_launch(grid(0, 4), testing::upTo64(), there, 4.0f));
  }
  CHECK(fake.launches.empty());
}

TEST_CASE("elsewhere than on GPUs what launches ask for changes nothing") {
  for (const char *name : {"host", "interpreter"}) {
    const auto kernel = jit(
        Doubled{},
        {.on = device::by_name(name), .cluster = {3}, .cooperative = true, .programmatic = true});
    std::vector<float> there(64);
    kernel(grid(4), testing::upTo64(), there, 4.0f);
    CHECK(there == doubled(4));
  }
}

TEST_CASE("machines without what launches ask for are told when a kernel is compiled") {
  const auto refusal = [](const char *machine, const jit_options &asked) {
    jit_options options = asked;
    options.on = device::by_name("emulated:" + std::string(machine));
    const auto kernel = jit(Doubled{}, options);
    const auto refused = kernel.try_prepare(*options.on);
    if (refused) return std::string();
    const std::string said = refused.error().what();
    return std::string(refused.error().code()) + said.substr(said.find(": error: ") + 7);
  };
  const std::string there =
      "compile for one of sm_90a, sm_100a, sm_103a, sm_100f, sm_120a, sm_121a, sm_120f";
  const auto lacks = [&](const std::string &machine, const std::string &what) {
    return "LaunchOfMachine: kernel 'Doubled' asks for `" + what + "`, which launches on " +
           machine + " don't have\n  hint: leave `" + what + "` out, which changes no result, or " +
           there;
  };
  if (!isCuda()) {
    CHECK(refusal("gfx942", {.cluster = {2}}) == lacks("gfx942", "cluster"));
    CHECK(refusal("gfx942", {.programmatic = true}) == lacks("gfx942", "programmatic"));
    CHECK(refusal("gfx942", {.cooperative = true}).empty());
    return;
  }
  CHECK(refusal("sm_80", {.cluster = {2}}) == lacks("sm_80", "cluster"));
  CHECK(refusal("sm_89", {.programmatic = true}) == lacks("sm_89", "programmatic"));
  CHECK(refusal("sm_75", {.cooperative = true}).empty());
  CHECK(refusal("sm_90a", {.cluster = {4, 4}}).empty());
  CHECK(refusal("sm_120a", {.cluster = {8}, .programmatic = true}).empty());
  CHECK(refusal("sm_120a", {.cluster = {9}}) ==
        "ClusterOfMachine: kernel 'Doubled' asks for clusters of 9 blocks; sm_120a has clusters of "
        "at "
        "most 8\n  hint: make `cluster` smaller, or leave it out, which changes no result");
}

TEST_CASE("a driver that is too old for what launches ask for is told with what it lacks") {
  testing::freshDriver(FAKE_BOXLESS).isa = kFake.isa;
  const auto gpu = testing::openGpu({FAKE_BOXLESS}, 0);
  REQUIRE(gpu);
  const traced_kernel kernel = trace(Doubled{}, {.cooperative = true});
  Diagnostics diagnostics;
  CHECK_FALSE(runtime::makeGpuExecutable(irOf(kernel).clone(), **gpu, diagnostics));
  const std::string said = diagnostics.render();
  const std::string function = isCuda() ? "cuLaunchKernelEx" : "hipModuleLaunchCooperativeKernel";
  CHECK(said.find("error: the driver of " + (*gpu)->description() +
                  " is too old for the launches that kernel 'Doubled' asks for: it lacks " +
                  function + "\n  hint: update it, or leave ") != std::string::npos);
}

TEST_CASE("code that was kept is launched with what its kernel asks for" *
          doctest::test_suite("toolkit")) {
  const jit_options options{
      .trace = {.name = "kept_doubled"}, .cluster = {isCuda() ? 16 : 1}, .cooperative = true};
  const traced_kernel traced = trace(Doubled{}, detail::trace_options_of(options));
  for (const char *outcome : {"miss", "hit"}) {
    SeenFake fake(options);
    const auto gpu = testing::openGpu({kFake.driver}, 0);
    const testing::CacheLog log;
    Diagnostics diagnostics;
    const auto executable = runtime::makeGpuExecutable(irOf(traced).clone(), **gpu, diagnostics);
    REQUIRE_MESSAGE(executable, diagnostics.render());
    std::vector<float> x(256, 1.0f), y(256);
    ir::Argument n;
    REQUIRE_MESSAGE(
        executable->run({.extents = {16, 1, 1}},
                        {testing::viewOf(x.data(), 256), testing::viewOf(y.data(), 256), n},
                        diagnostics),
        diagnostics.render());
    CHECK(fake.played.problem() == "");
    CHECK(y == std::vector<float>(256, 2.0f));
    CHECK(isAsAsked(fake.launches.back(), options));
    CHECK(testing::CacheLog::said() == outcome);
  }
}

} // namespace imbrex
