#include "tests/support/thrown_code.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <vector>

/// Streams, events and memory of devices that run on the processor: programs for GPUs run there as
/// they are.
namespace imbrex {
namespace {

using testing::thrownCode;

struct Twice {
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    auto here = box<16>(program_id(0));
    y[here] = x[here] + x[here];
  }
};

struct Sum {
  void operator()(view<const f32, 2> x, view<f32, 1> y) const {
    auto here = box<4, 8>(0, 0);
    y[box<4>(0)] = sum<1>(x[here]);
  }
};

std::vector<device> processors() {
  std::vector<device> all;
  for (const char *name : {"host", "interpreter", "emulated:sm_90a", "emulated:gfx942"})
    if (const auto found = device::try_by_name(name)) all.push_back(*found);
  return all;
}

} // namespace

TEST_CASE("a program with streams, events and device buffers runs on every device") {
  for (const device on : processors()) {
    CAPTURE(on.name());
    const stream first(on), second(on);
    CHECK(first.native() == nullptr);
    std::vector<float> numbers(64), result(64);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    const device_buffer<f32> x(first, numbers);
    device_buffer<f32> y(first, {64});
    const event before(first);
    jit(Twice{})(first, grid(4), x, y);
    const event after(first);
    second.wait(after);
    second.synchronize();
    CHECK(after.milliseconds_since(before) >= 0);
    y.copy_to(result);
    for (std::size_t i = 0; i < result.size(); ++i) CHECK(result[i] == 2 * numbers[i]);
  }
}

TEST_CASE("a device buffer has the extents of the buffer that it copies") {
  buffer<f32> host(4, 8);
  for (int i = 0; i < 32; ++i) host[i] = static_cast<float>(i / 8);
  const device_buffer<f32> x(device::interpreter(), host);
  CHECK(x.rank() == 2);
  CHECK(x.extent(1) == 8);
  device_buffer<f32> y(device::interpreter(), {4});
  jit(Sum{})(stream_ref(device::interpreter()), grid(1), x, y);
  std::array<float, 4> sums{};
  y.copy_to(sums);
  CHECK(sums == std::array<float, 4>{0, 8, 16, 24});
  buffer<f32> back(4, 8);
  x.copy_to(back);
  CHECK(back(3, 7) == 3);
}

TEST_CASE("two f4e2m1 share a byte of a device buffer, too") {
  buffer<f4e2m1> host(6);
  host.fill(1.5f);
  const device_buffer<f4e2m1> x(device::host(), host);
  CHECK(x.size() == 6);
  CHECK(x.bytes() == 3);
  buffer<f4e2m1> back(6);
  x.copy_to(back);
  CHECK(back[2] == host[2]);
}

TEST_CASE("the interpreter watches a device buffer's elements that nobody has set") {
  const device_buffer<f32> x(device::interpreter(), {16});
  device_buffer<f32> y(device::interpreter(), {16});
  CHECK(thrownCode([&] { jit(Twice{})(stream_ref(device::interpreter()), grid(1), x, y); }) ==
        "UnwrittenRead");
}

TEST_CASE("what a device buffer is not for is an error with its line") {
  device_buffer<f32> x(device::host(), {16}), none;
  CHECK(thrownCode([&] { x.copy_from(std::vector<float>(15)); }) == "CopySize");
  std::vector<float> more(17);
  CHECK(thrownCode([&] { x.copy_to(more); }) == "CopySize");
  CHECK(thrownCode([&] { none.copy_from(more); }) == "CopySize");
  CHECK_FALSE(none.on().has_value());
  CHECK(thrownCode([&] { jit(Twice{})(stream_ref(device::interpreter()), grid(1), x, x); }) ==
        "WrongDeviceMemory");
  CHECK(thrownCode([&] { jit(Twice{})(stream_ref(device::host()), grid(1), none, x); }) ==
        "BufferWithoutMemory");
  device_buffer<f32> moved(device::host(), {16});
  const device_buffer<f32> to = std::move(moved);
  const auto first = jit([](ptr<const f32> p, view<f32, 1> y) { y[box<1>(0)] = load(p); });
  // NOLINTNEXTLINE(bugprone-use-after-move): what is left is what is tested
  CHECK(thrownCode([&] { first(stream_ref(device::host()), grid(1), moved, x); }) ==
        "BufferWithoutMemory");
  int queue = 0;
  const stream_ref foreign(device::host(), &queue);
  CHECK(thrownCode([&] { jit(Twice{})(foreign, grid(1), x, x); }) == "NoStreams");
  CHECK(thrownCode([&] { const device_buffer<f32> made(foreign, {4}); }) == "NoStreams");
}

TEST_CASE("an event that was moved from is as one that was not recorded") {
  for (const device on : processors()) {
    const stream_ref in(on);
    event first(in), last(std::move(first));
    first.synchronize();
    in.wait(first);
    CHECK(thrownCode([&] { (void)last.milliseconds_since(first); }) == "EventUnrecorded nowhere");
    CHECK(thrownCode([&] { (void)event(on).milliseconds_since(last); }) ==
          "EventUnrecorded nowhere");
    first.record(in);
    CHECK(first.milliseconds_since(last) >= 0);
  }
  int queue = 0;
  CHECK(thrownCode([&] { stream_ref(device::host(), &queue).synchronize(); }) ==
        "NoStreams nowhere");
}

} // namespace imbrex
