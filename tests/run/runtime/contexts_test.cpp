#include "tests/run/runtime/made_context.h"
#include "tests/run/runtime/opened_fake.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

/// Launches in CUDA's contexts that are not the primary one.
namespace imbrex {
namespace {

using testing::contentOf;
using testing::kFake;
using testing::MadeContext;
using testing::upTo64;
using Fake = testing::OpenedFake;

struct Thrice {
  static constexpr names parameters{"x", "y"};
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    auto here = box<64>(program_id(0));
    y[here] = x[here] * 3.0f;
  }
};

std::vector<float> tripled() {
  std::vector<float> made = upTo64();
  for (float &number : made) number *= 3;
  return made;
}

/// A launch whose arrays are of the stream's context.
void launchIn(const stream_ref &queue, const auto &kernel) {
  const device_buffer<f32> x(queue, upTo64());
  device_buffer<f32> y(queue, {64});
  kernel(queue, grid(1), x, y);
  CHECK(contentOf(y) == tripled());
}

} // namespace

TEST_CASE("a launch is made in the context of its stream, which loads the code once") {
  Fake fake(trace(Thrice{}));
  const auto kernel = jit(Thrice{}, {.on = fake.on});
  const stream usual(fake.on);
  launchIn(usual, kernel);
  for (int time = 0; time < 2; ++time) {
    // The second stands where the first was, and has loaded nothing.
    const MadeContext context(fake.driver);
    const stream queue = [&] {
      const MadeContext::In in(context);
      return stream(fake.on);
    }();
    REQUIRE(fake.driver.contextOf[queue.native()] == context.number());
    fake.driver.calls.clear();
    for (int i = 0; i < 3; ++i) {
      launchIn(queue, kernel);
      launchIn(usual, kernel);
    }
    CHECK(fake.calls("loadModule") == 1);
    CHECK(fake.driver.here().current == 0);
    CHECK(fake.played.problem() == "");
  }
}

TEST_CASE("a GPU's first call for a stream of another context finds that") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  driver.devices = 2;
  const MadeContext context(driver);
  const testing::MadeStream stream(driver, context);
  const auto open = [] { return *testing::openGpu({kFake.driver}, 0); };
  const std::string code = testing::assemblyOf(irOf(trace(Thrice{})), "sm_80");

  std::unique_ptr<gpu::LoadedKernel> loaded;
  std::unique_ptr<gpu::SupportedGpu> gpu = open();
  {
    const MadeContext::In in(context); // but code is loaded for all
    loaded = *gpu->load(code, "Thrice");
    CHECK(driver.contextOf[loaded->module().module] == 0);
  }
  CHECK(gpu->start(*loaded, {.threads = 128, .stream = stream.handle()}));
  CHECK(std::ranges::count(driver.calls, "loadModule") == 2);
  CHECK(gpu->start(*loaded, {.threads = 128}));
  loaded.reset();

  gpu = open();
  void *const event = *gpu->makeEvent(stream.handle());
  CHECK(gpu->record(event, stream.handle()));
  gpu->destroyEvent(event);

  gpu = open();
  driver.hasPools = false;
  bool isPooled = true;
  const std::uint64_t memory = *gpu->allocateIn(stream.handle(), 256, isPooled);
  CHECK_FALSE(isPooled);
  CHECK(driver.contextOf[reinterpret_cast<void *>(memory)] == context.number());
  gpu = open();
  CHECK(gpu->copyIn(memory, "here", 4, stream.handle()));
  gpu->releaseIn(stream.handle(), memory, isPooled);

  // A stream of another device is not this one's, in whatever context.
  const MadeContext foreign(driver, 1, 101);
  const testing::MadeStream there(driver, foreign);
  const auto refused = gpu->startCopyIn(memory, "here", 4, there.handle());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.ends_with("error 400"));
  // What is wrong with a stream of the primary context stays wrong.
  void *const usual = *gpu->makeStream();
  driver.failing = "copyInBy";
  driver.error = 400;
  CHECK_FALSE(gpu->startCopyIn(memory, "here", 4, usual));
  gpu->destroyStream(usual);
  CHECK(driver.here().current == 0);
}

TEST_CASE("pinned pieces that are kept outlive the context in which they were first wanted") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  const auto gpu = *testing::openGpu({kFake.driver}, 0);
  const std::vector<std::byte> bytes(driver::PinnedPool::kPairBytes, std::byte{7});
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto copy = [&] {
    const auto memory = *gpu->allocate(size);
    {
      driver::StagedCopies copies(gpu->driver());
      CHECK(copies.copyIn(memory.address(), bytes.data(), size) == 0);
    }
    CHECK(*reinterpret_cast<const std::byte *>(memory.address() + bytes.size() - 1) == bytes[0]);
  };
  {
    const MadeContext context(driver);
    const MadeContext::In in(context);
    copy();
  }
  CHECK(driver.pinned.size() == 1);
  copy();
  CHECK(driver.pinned.size() == 1);
  CHECK(std::ranges::count(driver.calls, "copyIn") == 0);
}

TEST_CASE("a default stream that has a number is that of the current context as well") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  driver.devices = 2;
  const MadeContext own(driver), foreign(driver, 1, 101);
  const std::unique_ptr<gpu::SupportedGpu> gpu = *testing::openGpu({kFake.driver}, 0);
  const auto loaded = *gpu->load(testing::assemblyOf(irOf(trace(Thrice{})), "sm_80"), "Thrice");
  std::vector<int> contexts;
  driver.device = [&](const fake::SeenLaunch &) {
    return contexts.push_back(driver.contextHere()), 0;
  };
  void *const legacy = reinterpret_cast<void *>(1); // cuda.h: CU_STREAM_LEGACY
  for (const MadeContext *const current : {&own, &foreign}) {
    const MadeContext::In in(*current);
    CHECK(gpu->start(*loaded, {.threads = 128, .stream = legacy}));
  }
  CHECK(contexts == std::vector<int>{own.number(), 0});
}

TEST_CASE("what names no stream is done in the current context, if that is of the device") {
  Fake fake(trace(Thrice{}));
  const auto kernel = jit(Thrice{}, {.on = fake.on});
  const MadeContext own(fake.driver, 0), foreign(fake.driver, 1, 101);
  std::vector<int> contexts;
  const auto play = fake.driver.device;
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    contexts.push_back(fake.driver.contextHere());
    return play(launch);
  };
  std::vector<float> y(64);
  const auto launch = [&] {
    y.assign(64, -1);
    kernel(grid(1), upTo64(), y);
    CHECK(y == tripled());
  };
  launch();
  {
    const MadeContext::In in(own);
    launch();
    CHECK(fake.driver.contextHere() == own.number());
  }
  {
    const MadeContext::In in(foreign);
    launch();
    CHECK(fake.driver.contextHere() == foreign.number());
  }
  CHECK(contexts == std::vector<int>{0, own.number(), 0});
  CHECK(fake.played.problem() == "");
}

TEST_CASE("a launch that is made again where its context is current makes nothing current") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  const MadeContext context(driver);
  const testing::MadeStream elsewhere(driver, context);
  const std::unique_ptr<gpu::SupportedGpu> gpu = *testing::openGpu({kFake.driver}, 0);
  const auto loaded = *gpu->load(testing::assemblyOf(irOf(trace(Thrice{})), "sm_80"), "Thrice");
  std::vector<void *> streams;
  driver.device = [&](const fake::SeenLaunch &launch) {
    return streams.push_back(launch.stream), 0;
  };
  driver::KeptLaunch kept;
  kept.keep({.threads = 128}, gpu->driver(), loaded->module());
  const MadeContext::In primary(driver, 0);
  const auto calls = [&](const char *member) { return std::ranges::count(driver.calls, member); };
  driver.calls.clear();
  CHECK(kept.start(nullptr) == 0);
  CHECK(calls("launch") == 1);
  CHECK(calls("pushContext") + calls("streamContext") == 0);
  // In another context's stream it is; and what is refused is so once.
  CHECK(kept.start(elsewhere.handle()) == 0);
  CHECK(streams == std::vector<void *>{nullptr, elsewhere.handle()});
  driver.failing = "launch";
  driver.error = 1;
  driver.calls.clear();
  CHECK(kept.start(nullptr) != 0);
  CHECK(calls("launch") == 1);
  CHECK(driver.here().current == 1);
}

TEST_CASE("a launch with attributes has them in another context, which allows as large clusters") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  const MadeContext context(driver);
  const testing::MadeStream elsewhere(driver, context);
  const std::unique_ptr<gpu::SupportedGpu> gpu = *testing::openGpu({kFake.driver}, 0);
  const auto loaded = *gpu->load(testing::assemblyOf(irOf(trace(Thrice{})), "sm_80"), "Thrice",
                                 {.clusterBlocks = 16});
  fake::SeenLaunch seen;
  driver.device = [&](const fake::SeenLaunch &launch) { return seen = launch, 0; };
  driver::KeptLaunch kept;
  kept.keep({.grid = {32, 1, 1}, .threads = 128, .attributes = {.cluster = {16, 1, 1}}},
            gpu->driver(), loaded->module());
  CHECK(kept.start(elsewhere.handle()) == 0);
  CHECK(seen.stream == elsewhere.handle());
  CHECK(seen.cluster == std::array<unsigned, 3>{16, 1, 1});
}

TEST_CASE("an event is of the context of the stream it is made for") {
  Fake fake(trace(Thrice{}));
  const MadeContext context(fake.driver);
  const stream usual(fake.on), queue = [&] {
    const MadeContext::In in(context);
    return stream(fake.on);
  }();
  const event first(queue), last(queue);
  CHECK(fake.driver.contextOf[first.native()] == context.number());
  CHECK(last.milliseconds_since(first) == 0);
  static_cast<const stream_ref &>(usual).wait(last);
  const event there(usual);
  CHECK(fake.driver.contextOf[there.native()] == 0);
}

TEST_CASE("a stream that is captured loads nothing in its context") {
  Fake fake(trace(Thrice{}));
  const auto kernel = jit(Thrice{}, {.on = fake.on});
  const stream usual(fake.on);
  launchIn(usual, kernel);
  const MadeContext context(fake.driver);
  const stream queue = [&] {
    const MadeContext::In in(context);
    return stream(fake.on);
  }();
  const device_buffer<f32> x(queue, upTo64());
  device_buffer<f32> y(queue, {64});
  fake.driver.captured = queue.native();
  fake.driver.calls.clear();
  const auto refused = kernel.try_launch(queue, grid(1), x, y);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == "LaunchRefused");
  CHECK(fake.calls("loadModule") + fake.calls("launch") == 0);
  fake.driver.captured = nullptr;
  kernel(queue, grid(1), x, y);
  fake.driver.captured = queue.native();
  kernel(queue, grid(1), x, y);
  fake.driver.captured = nullptr;
  CHECK(contentOf(y) == tripled());
}

} // namespace imbrex
