#include "dsl/traced_kernel.h"
#include "llvm/Support/Compiler.h"
#include "runtime/devices.h"
#include "runtime/gpus.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/opened_fake.h"
#include "tests/support/captured_output.h"
#include "tests/support/thrown_code.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

/// Launches in streams, memory in their order, and events, through the public functions and a fake
/// driver (CMakeLists.txt compiles this once for each vendor).
namespace {

thread_local std::int64_t allocations = 0;

} // namespace

#if !LLVM_ADDRESS_SANITIZER_BUILD && !LLVM_THREAD_SANITIZER_BUILD
// Of the library's containers, too, some of which ask no operator new.
extern "C" void *__libc_malloc(std::size_t bytes); // NOLINT(bugprone-reserved-identifier): glibc's
extern "C" __attribute__((visibility("default"))) void *malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
#endif

namespace imbrex {
namespace {

using testing::CapturedOutput;
using testing::contentOf;
using testing::kFake;
using Fake = testing::OpenedFake;
using testing::thrownCode;
using testing::upTo64;

struct Twice {
  static constexpr names parameters{"x", "y"};
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    auto here = box<64>(program_id(0));
    y[here] = x[here] + x[here];
  }
};

struct TwiceToo {
  static constexpr names parameters{"x", "y"};
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    auto here = box<64>(program_id(0));
    y[here] = x[here] * 2.0f;
  }
};

struct Gather {
  void operator()(table<const f32> xs, view<f32, 1> y) const { y[box<1>(0)] = load(xs[1]); }
};

struct Told {
  static constexpr names parameters{"x"};
  void operator()(view<const f32, 1> x) const {
    device_assert(x[box<64>(program_id(0))] >= 0.0f, "none below");
  }
};

/// From one block on.
struct Prints {
  static constexpr names parameters{"x", "first"};
  void operator()(view<const f32, 1> x, scalar<i32> first) const {
    IMBREX_IF(program_id(0) >= first) { device_print("first", sum(x[box<2>(0)])); }
  }
};

std::vector<float> doubled(std::vector<float> of) {
  for (float &number : of) number *= 2;
  return of;
}

} // namespace

TEST_CASE("a launch in a stream is put there and not waited for") {
  Fake fake(trace(Twice{}));
  const auto kernel = jit(Twice{});
  const stream queue(fake.on);
  CHECK(queue.native() != nullptr);
  const device_buffer<f32> x(queue, upTo64());
  device_buffer<f32> y(queue, {64});
  kernel(queue, grid(1), x, y);
  fake.driver.calls.clear();
  kernel(queue, grid(1), x, y);
  CHECK(fake.calls("launch") == 1);
  for (const char *waiting : {"synchronise", "copyIn", "copyOut", "allocate", "pointerFacts"})
    CHECK(fake.calls(waiting) == 0);
  CHECK(fake.streams == std::vector<void *>(2, queue.native()));
  CHECK(contentOf(y) == doubled(upTo64()));
  CHECK(fake.calls("synchronise") == 1);
  CHECK(fake.played.problem() == "");
}

TEST_CASE("what nobody made a stream for goes into the default one, and waits for copies alone") {
  Fake fake(trace(Twice{}));
  const auto kernel = jit(Twice{}, {.on = fake.on});
  const device_buffer<f32> x(fake.on, upTo64());
  device_buffer<f32> y(fake.on, {64});
  kernel(grid(1), x, y);
  kernel(stream_ref(fake.on), grid(1), x, y);
  CHECK(fake.streams == std::vector<void *>(2, nullptr));
  CHECK(fake.calls("synchronise") == 1); // of the copy to x
  CHECK(contentOf(y) == doubled(upTo64()));
  std::vector<float> host(64);
  kernel(grid(1), x, host);
  CHECK(host == doubled(upTo64()));
  // Memory of the device's own that somebody else allocated is asked for.
  fake.driver.calls.clear();
  kernel(grid(1), tensor_ref(x.data(), {64}), tensor_ref(y.data(), {64}));
  CHECK(fake.calls("pointerFacts") == 2);
  CHECK(fake.calls("synchronise") == 0);
}

TEST_CASE("an array in the host's memory can't be waited for in a stream") {
  Fake fake(trace(Twice{}));
  const auto kernel = jit(Twice{});
  const stream queue(fake.on);
  const device_buffer<f32> x(queue, upTo64());
  std::vector<float> host(64, -1);
  const auto refused = kernel.try_launch(queue, grid(1), x, host);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == "HostArrayInStream");
  CHECK(refused.error().where().line > 0);
  CHECK(std::string(refused.error().what()).find("the argument 'y' is in the host's memory") !=
        std::string::npos);
  CHECK(fake.streams.empty());
  CHECK(host == std::vector<float>(64, -1));
  // A table's addresses are the host's, wherever they lead.
  const auto gather = jit(Gather{});
  device_buffer<f32> y(queue, {64});
  CHECK(thrownCode([&] { gather(queue, grid(1), table_of(x, x), y); }) == "TableInStream");
}

TEST_CASE("memory of another GPU is refused, however it is passed") {
  Fake fake(trace(Twice{}));
  const auto kernel = jit(Twice{}, {.on = fake.on});
  const device second = device::by_name(kFake.device + std::string(":1"));
  const device_buffer<f32> x(fake.on, upTo64());
  device_buffer<f32> there(second, {64});
  CHECK(there.on() == second);
  CHECK(thrownCode([&] { kernel(grid(1), x, there); }) == "WrongDeviceMemory");
  const auto refused = kernel.try_launch(grid(1), x, tensor_ref(there.data(), {64}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == "WrongDeviceMemory");
  CHECK(std::string(refused.error().what())
            .find("the argument 'y' is in the memory of " + std::string(second.name()) +
                  ", and the kernel runs on " + std::string(fake.on.name())) != std::string::npos);
  CHECK(thrownCode([&] {
          jit(Twice{})(stream_ref(device::host()), grid(1), x, x.extent(0) ? there : there);
        }) == "WrongDeviceMemory");
  CHECK(fake.streams.empty());
}

TEST_CASE("a stream that is captured gets launches, but nothing that would wait or load") {
  Fake fake(trace(TwiceToo{}));
  const auto kernel = jit(TwiceToo{});
  const auto told = jit(Told{});
  const stream queue(fake.on), other(fake.on);
  const device_buffer<f32> x(queue, upTo64());
  device_buffer<f32> y(queue, {65});
  fake.driver.captured = queue.native();
  const auto refused = kernel.try_launch(queue, grid(1), x, y);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == "CapturedLaunch");
  CHECK(std::string(refused.error().what()).find("load its code") != std::string::npos);
  kernel(other, grid(1), x, y);
  CHECK(fake.streams.size() == 1);
  fake.driver.calls.clear();
  kernel(queue, grid(1), x, y);
  CHECK(fake.streams.size() == 2);
  for (const char *call : {"synchronise", "loadModule", "isCapturing", "allocate", "copyIn"})
    CHECK(fake.calls(call) == 0);
  // A launch that keeps less wants code of its own.
  CHECK(thrownCode([&] { kernel(queue, grid(1), x, tensor_ref(y.data() + 1, {64})); }) ==
        "CapturedLaunch");
  CHECK(thrownCode([&] { (void)contentOf(y); }) == "CapturedCopy");
  CHECK(thrownCode([&] { y.copy_from(std::vector<float>(65)); }) == "CapturedCopy");
  fake.driver.device = [](const fake::SeenLaunch &) { return 0; };
  told(other, grid(1), x);
  CHECK(thrownCode([&] { told(queue, grid(1), x); }) == "CapturedLaunch");
}

TEST_CASE("of what a launch may print and assert no more is copied than it did") {
  Fake fake(trace(Prints{}));
  const auto kernel = jit(Prints{});
  const stream queue(fake.on);
  const device_buffer<f32> x(queue, upTo64());
  const std::size_t arrays = fake.driver.memory.size();
  kernel(queue, grid(1), x, 0); // compiles
  for (const std::int32_t blocks : {1, 3}) {
    CAPTURE(blocks);
    fake.driver.calls.clear();
    fake.driver.bytesIn = fake.driver.bytesOut = 0;
    CapturedOutput captured;
    kernel(queue, grid(blocks), x, 2);
    CHECK(captured.finish() == (blocks < 3 ? "" : "[pid 2,0,0] first: 3\n"));
    constexpr std::size_t kHead = 64, kRecord = 32;
    CHECK(fake.driver.bytesIn == kHead);
    CHECK(fake.driver.bytesOut == (blocks < 3 ? kHead : kHead + kRecord));
    // Its room is taken in the stream's order, and given back so.
    CHECK(fake.calls("allocateIn") == 1);
    CHECK(fake.calls("allocate") == 0);
    CHECK(fake.driver.memory.size() == arrays);
  }
  CHECK(fake.played.problem() == "");
}

TEST_CASE("events order streams and tell the time between them") {
  Fake fake(trace(Twice{}));
  const auto kernel = jit(Twice{});
  const stream first(fake.on), second(fake.on);
  const device_buffer<f32> x(first, upTo64());
  device_buffer<f32> y(first, {64});
  const event before(first);
  kernel(first, grid(1), x, y);
  kernel(first, grid(1), x, y);
  const event after(first);
  second.wait(after);
  REQUIRE(fake.driver.waits.size() == 1);
  CHECK(fake.driver.waits[0] == std::pair(second.native(), std::int64_t{2}));
  CHECK(after.milliseconds_since(before) == 2); // of the fake's clock
  CHECK(fake.calls("awaitEvent") == 2);
  event moved(fake.on);
  moved = event(second);
  moved.synchronize();
  CHECK(thrownCode([&] { stream_ref(device::host()).wait(after); }) == "EventElsewhere nowhere");
  CHECK(thrownCode([&] { moved.record(stream_ref(device::host())); }) == "EventElsewhere nowhere");
}

TEST_CASE("memory is taken from a pool in a stream's order, and without one at once") {
  for (const bool hasPools : {true, false}) {
    CAPTURE(hasPools);
    Fake fake(trace(Twice{}));
    fake.driver.hasPools = hasPools;
    const auto kernel = jit(Twice{});
    {
      stream queue(fake.on);
      device_buffer<f32> x(queue, upTo64()), y(queue, {8, 8});
      CHECK(x.size() == 64);
      CHECK(y.rank() == 2);
      CHECK(y.bytes() == 256);
      CHECK(fake.driver.memory.size() == 2);
      device_buffer<f32> moved = std::move(y);
      CHECK(y.empty()); // NOLINT(bugprone-use-after-move): what is left is what is tested
      CHECK(y.data() == nullptr);
      y = device_buffer<f32>(queue, {64});
      kernel(queue, grid(1), x, y);
      CHECK(contentOf(y) == doubled(upTo64()));
    }
    CHECK(fake.driver.memory.empty());
    CHECK(fake.driver.streams.empty());
    CHECK((fake.calls("releaseIn") == 3) == hasPools);
    CHECK((fake.calls("release") == 3) == !hasPools);
  }
}

/// From pinned memory, through a launch, and back, all of it in the stream.
void doubleInStream(const stream_ref &in) {
  pinned_buffer<f32> here(in.on(), 64);
  CHECK(here.size() == 64);
  std::ranges::copy(upTo64(), here.begin());
  device_buffer<f32> x(in, {64}), y(in, {64});
  x.start_copy_from(here);
  jit(Twice{}, {.on = in.on()})(in, grid(1), x, y);
  y.start_copy_to(here);
  in.synchronize();
  CHECK(std::vector<float>(here.begin(), here.end()) == doubled(upTo64()));
}

TEST_CASE("copies from and to pinned memory are put into a stream") {
  for (const char *name : {"host", "interpreter"})
    doubleInStream(stream_ref(*device::try_by_name(name)));
  Fake fake(trace(Twice{}));
  const stream queue(fake.on);
  doubleInStream(queue); // compiles
  fake.driver.calls.clear();
  doubleInStream(queue);
  CHECK(fake.calls("copyInBy") == 1);
  CHECK(fake.calls("copyOutBy") == 1);
  const auto &calls = fake.driver.calls;
  const auto back = std::ranges::find(calls, "copyOutBy");
  CHECK(std::find(calls.begin(), back, "synchronise") == back); // nothing waits on the way
  CHECK(fake.driver.pinned.empty());

  pinned_buffer<f32> one(fake.on, 3), other = std::move(one);
  CHECK(one.size() == 0); // NOLINT(bugprone-use-after-move): what is left is what is tested
  CHECK(one.begin() == one.end());
  CHECK(other.size() == 3);
  other = pinned_buffer<f32>(fake.on, 5);
  CHECK(fake.driver.pinned.size() == 1);
  CHECK(pinned_buffer<f4e2m1>(fake.on, 5).size() == 3); // bytes
  const device_buffer<f32> larger(queue, {6});
  CHECK(thrownCode([&] { larger.start_copy_to(other); }) == "CopySize");
  CHECK(thrownCode([&] { pinned_buffer<f32>(fake.on, -1); }) != "");
  fake.driver.failing = "allocatePinned";
  fake.driver.error = 1;
  CHECK(thrownCode([&] { pinned_buffer<f32>(fake.on, 5); }) == "GpuRefused");
}

TEST_CASE("what the driver refuses of streams and their memory is an error, and nothing is lost") {
  for (const char *failing :
       {"makeStream", "allocateIn", "copyInBy", "copyOutBy", "makeEvent", "recordEvent",
        "streamAwaits", "awaitEvent", "timeBetween", "synchronise", "launch"}) {
    CAPTURE(failing);
    Fake fake(trace(Twice{}));
    const auto kernel = jit(Twice{});
    std::string code;
    {
      const stream other(fake.on);
      { // what is compiled is there before anything fails
        device_buffer<f32> x(other, upTo64()), y(other, {64});
        kernel(other, grid(1), x, y);
      }
      fake.driver.failing = failing;
      fake.driver.error = 1;
      code = thrownCode([&] {
        const stream queue(fake.on);
        const device_buffer<f32> x(queue, {64});
        device_buffer<f32> y(queue, upTo64());
        const event before(queue);
        kernel(queue, grid(1), x, y);
        const event after(queue);
        other.wait(after);
        (void)after.milliseconds_since(before);
        queue.synchronize();
        (void)contentOf(y);
      });
    }
    CHECK(code.starts_with(failing == std::string("launch") ? "LaunchRefused" : "GpuRefused"));
    CHECK(fake.driver.memory.empty());
    CHECK(fake.driver.streams.empty());
    CHECK(fake.driver.here().current == 0);
  }
}

TEST_CASE("a launch that breaks down in a stream is an error of whoever waits") {
  Fake fake(trace(Twice{}));
  const auto kernel = jit(Twice{});
  const stream queue(fake.on);
  const device_buffer<f32> x(queue, upTo64());
  device_buffer<f32> y(queue, {64});
  kernel(queue, grid(1), x, y);
  fake.driver.failing = "synchronise";
  fake.driver.error = 1;
  const auto broke = queue.try_synchronize();
  REQUIRE_FALSE(broke);
  CHECK(broke.error().code() == "StreamBroke");
  CHECK(queue.try_synchronize());
}

TEST_CASE("a launch in a stream allocates nothing, of however many arguments") {
  Fake fake(trace(Twice{}));
  const auto kernel = jit(Twice{});
  using number = scalar<i32>;
  const auto many = jit([](view<const f32, 3> x, view<f32, 3> y, number a, number b, number c,
                           number d, number e, number f, number g, number h, number i, number j,
                           number k, number l, number m, number n, number o, number q, number r) {
    auto here = box<1, 1, 16>(0, 0, 0);
    y[here] =
        x[here] + cast<f32>(a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + q + r);
  });
  const stream queue(fake.on);
  const device_buffer<f32> x(queue, upTo64());
  device_buffer<f32> y(queue, {64}), from(queue, {2, 2, 16}), to(queue, {2, 2, 16});
  const grid one(1);
  fake.driver.device = [](const fake::SeenLaunch &) { return 0; };
  const auto launch = [&] {
    kernel(queue, one, x, y);
    many(queue, one, from, to, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
  };
  launch();
  fake.driver.isQuiet = true;
  const std::int64_t before = allocations;
  for (int i = 0; i < 100; ++i) launch();
  CHECK(allocations - before == 0);
  fake.driver.isQuiet = false;
}

} // namespace imbrex
