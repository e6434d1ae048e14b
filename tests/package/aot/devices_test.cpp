#include "app.hpp"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/seen_log.h"
#include "tests/run/runtime/fake_driver.h"
#include "tests/run/runtime/made_context.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

/// What becomes of launches on devices of several kinds, from several threads, when drivers refuse
/// something. The fake's GPUs add by themselves (CMakeLists.txt compiles this once for each
/// vendor).
namespace imbrex::aot_tests {
namespace {

using aot::array;
using aot::device_buffer;
using aot::status;
using aot::stream;
using aot::stream_ref;

constexpr int kRefused = 1; // what the fake calls FAKE_INVALID_VALUE
constexpr const char *kFakeText = "FAKE_INVALID_VALUE, invalid argument";

stream_ref gpu(int number) {
  return FAKE_IS_CUDA ? stream_ref::cuda(number) : stream_ref::hip(number);
}

bool isLogged(const std::string &beginning) {
  return std::ranges::any_of(logLines,
                             [&](const std::string &line) { return line.starts_with(beginning); });
}

/// The state of the driver, as if nothing had happened to it yet. What the library has loaded
/// stays.
fake::State &freshDriver() {
  void *library = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  fake::State &state = *reinterpret_cast<fake::State *(*)()>(dlsym(library, "fakeState"))();
  state.forget();
  state.devices = 6;
  state.isa = FAKE_ISA;
  state.isas = {{1, FAKE_OLDER}, {2, FAKE_FOREIGN}};
  return state;
}

/// x, y and their sum on a device.
struct Arrays {
  explicit Arrays(const stream_ref &on, std::int64_t size = 64) {
    const std::vector<float> values(static_cast<std::size_t>(size), 1.0f);
    for (device_buffer<float> *buffer : {&x, &y, &z})
      if (const status came = buffer->make(on, values); !came) FAIL(std::string(came.message()));
  }
  status add(const stream_ref &on) const {
    const auto all = [](const device_buffer<float> &of) {
      return array<float, 1>(of.data(), {of.size()});
    };
    return app::add(on, 1, all(x), all(y), all(z));
  }

  device_buffer<float> x, y, z;
};

std::string described(int number, const char *isa) {
  return std::string(FAKE_IS_CUDA ? "cuda:" : "hip:") + std::to_string(number) + " (Fake, " + isa +
         ")";
}

} // namespace

TEST_CASE("each device gets the code that is made for it, the next best, or an error") {
  fake::State &driver = freshDriver();
  std::vector<std::string> images;
  driver.device = [&](const fake::SeenLaunch &launch) { return images.push_back(launch.image), 0; };
  check(Arrays(gpu(0)).add(gpu(0)));
  check(Arrays(gpu(1)).add(gpu(1)));
  REQUIRE(images.size() == 2);
  CHECK(images[0].find(FAKE_IN_IMAGE) != std::string::npos);
  CHECK(images[1].find(FAKE_IN_OLDER) != std::string::npos);
  CHECK(isLogged("3 load: kernel=add library=app device=" + described(0, FAKE_ISA) +
                 " code=" + (FAKE_IS_CUDA ? "ptx:sm_90a" : "gfx942") + " assumes="));
  CHECK(isLogged("3 device: device=" + described(0, FAKE_ISA) + " opened"));
  std::vector<float> sum(64);
  const array<float, 1> here(sum);
  check(app::add(stream_ref::host(), 1, here, here, here));
  CHECK(isLogged("3 device: device=host processor="));
  const auto isHosts = [](const std::string &line) {
    return line.starts_with("3 load: kernel=add library=app device=host code=");
  };
  CHECK(std::ranges::count_if(logLines, isHosts) == 1);
  check(app::add(stream_ref::host(), 1, here, here, here));
  CHECK(std::ranges::count_if(logLines, isHosts) == 1);
  const status none = Arrays(gpu(2)).add(gpu(2));
  CHECK(none.code() == IMBREX_NO_CODE);
  CHECK(std::string(none.message()) == "the library 'app' has no code of 'add' for " +
                                           described(2, FAKE_FOREIGN) +
                                           ", only for host:x86-64-v3, assembly of sm_80, assembly "
                                           "of sm_90a, gfx942, gfx11-generic");
}

TEST_CASE("where a driver refuses the best code, the next is tried, and then kept") {
  fake::State &driver = freshDriver();
  driver.failing = "loadModule";
  driver.error = kRefused;
  const Arrays arrays(gpu(3));
  const status came = arrays.add(gpu(3));
  if (FAKE_IS_CUDA) { // sm_80's assembly is good for it as well
    check(came);
    CHECK(std::ranges::count(driver.calls, std::string("loadModule")) == 2);
    CHECK(isLogged("3 load: " + described(3, FAKE_ISA) + " refuses the code of 'add' for sm_90a"));
  } else {
    checkRefused(came, IMBREX_REFUSED,
                 described(3, FAKE_ISA) + " refuses the code of 'add' for gfx942: " + kFakeText);
    check(arrays.add(gpu(3))); // another time
  }
  driver.calls.clear();
  check(arrays.add(gpu(3)));
  CHECK(std::ranges::count(driver.calls, std::string("loadModule")) == 0);
}

TEST_CASE("a configuration that a driver refuses is passed over, and not tried again") {
  fake::State &driver = freshDriver();
  std::vector<std::int32_t> grids;
  driver.device = [&](const fake::SeenLaunch &launch) {
    return grids.push_back(launch.grid[0]), 0;
  };
  device_buffer<float> x;
  check(x.make(gpu(4), std::vector<float>(2048)));
  const array<float, 1> small(x.data(), {64}), large(x.data(), {2048});
  check(app::chosen(gpu(4), small, 0, false));
  driver.failing = "loadModule";
  driver.failures = FAKE_IS_CUDA ? 2 : 1; // an image, and assembly that is older
  driver.error = kRefused;
  check(app::chosen(gpu(4), large, 0, false));
  driver.calls.clear();
  check(app::chosen(gpu(4), large, 7, false));
  CHECK(std::ranges::count(driver.calls, std::string("loadModule")) == 0);
  CHECK(grids == std::vector<std::int32_t>{2, 64, 64}); // blocks of 32, not of 256
  CHECK(isLogged("3 load: " + described(4, FAKE_ISA) + " refuses the code of 'chosen' for "));
  check(app::chosen(gpu(4), small, -3, false)); // another one
  CHECK(grids.back() == 1);
  CHECK(isLogged("3 load: kernel=chosen config=pairs library=app device="));
}

TEST_CASE("a library is loaded at once, and its launches can be captured from then on") {
  fake::State &driver = freshDriver();
  driver.devices = 8;
  const auto loads = [&] { return std::ranges::count(driver.calls, std::string("loadModule")); };
  stream own;
  check(own.make(gpu(6)));
  const stream_ref &on = own;
  driver.failing = "loadModule"; // the first is refused, and another tried
  driver.error = kRefused;
  if (FAKE_IS_CUDA) {
    check(app::load(on));
  } else {
    checkRefused(app::load(on), IMBREX_REFUSED,
                 described(6, FAKE_ISA) + " refuses the code of 'add' for gfx942: " + kFakeText);
    check(app::load(on));
  }
  CHECK(loads() > 10);
  // What is refused later leaves the rest, and is asked for again.
  stream another;
  check(another.make(gpu(7)));
  driver.failing = "loadModule";
  driver.passing = 1;
  CHECK(app::load(another).code() == IMBREX_REFUSED);
  driver.calls.clear();
  check(Arrays(another).add(another));
  CHECK(loads() == 1);
  check(app::load(another));
  CHECK(
      isLogged("3 load: kernel=chosen config=large library=app device=" + described(6, FAKE_ISA)));
  driver.calls.clear();
  check(app::load(on));
  CHECK(loads() == 0);
  const Arrays arrays(on);
  driver.captured = on.handle;
  check(arrays.add(on));
  CHECK(loads() == 0);
  driver.captured = nullptr;
  check(app::load(stream_ref::host()));
  CHECK(app::load(gpu(9)).code() == IMBREX_NO_DEVICE);
}

TEST_CASE("a library is loaded for the context of a stream, and launches there are captured") {
  if (!FAKE_IS_CUDA) return; // HIP has no contexts
  fake::State &driver = freshDriver();
  const auto loads = [&] { return std::ranges::count(driver.calls, std::string("loadModule")); };
  std::vector<int> contexts;
  driver.device = [&](const fake::SeenLaunch &) {
    return contexts.push_back(driver.contextHere()), 0;
  };
  check(Arrays(gpu(0)).add(gpu(0)));
  const testing::MadeContext context(driver);
  stream own;
  {
    const testing::MadeContext::In in(context);
    check(own.make(gpu(0)));
  }
  const stream_ref &on = own;
  const Arrays arrays(on);
  driver.captured = on.handle;
  driver.calls.clear();
  CHECK(arrays.add(on).code() == IMBREX_REFUSED);
  CHECK(loads() == 0);
  driver.captured = nullptr;
  check(app::load(on));
  CHECK(loads() > 1);
  driver.captured = on.handle;
  driver.calls.clear();
  check(arrays.add(on));
  CHECK(loads() == 0);
  driver.captured = nullptr;
  CHECK(contexts == std::vector<int>{0, context.number()});
}

TEST_CASE("memory is taken in a stream's order, and given back so") {
  fake::State &driver = freshDriver();
  const auto calls = [&](const char *member) { return std::ranges::count(driver.calls, member); };
  stream own;
  check(own.make(gpu(0)));
  const std::size_t before = driver.memory.size();
  const auto take = [&](const stream_ref &on) {
    driver.calls.clear();
    device_buffer<float> memory;
    check(memory.make(on, 64));
    return calls("allocateIn");
  };
  CHECK(take(own) == 1);
  CHECK(calls("allocate") + calls("synchronise") + calls("release") == 0);
  CHECK(calls("releaseIn") == 1);
  CHECK(take(gpu(0)) == 0); // there for all streams at once
  CHECK(calls("release") == 1);
  driver.captured =
      static_cast<const stream_ref &>(own).handle; // a pool's would be there when the graph runs
  CHECK(take(own) == 0);
  driver.captured = nullptr;
  driver.hasPools = false;
  CHECK(take(own) == 1);
  CHECK(calls("allocate") == 1);
  CHECK(calls("release") == 1);
  driver.hasPools = true;
  // Behind its stream's end it is given back at once.
  device_buffer<float> late;
  check(late.make(own, 64));
  own = stream();
  late = device_buffer<float>();
  CHECK(driver.memory.size() == before);
}

TEST_CASE("a driver's errors come through with its words") {
  fake::State &driver = freshDriver();
  const stream_ref on = gpu(0);
  const Arrays arrays(on);
  check(arrays.add(on));
  const std::string device = described(0, FAKE_ISA);
  const auto failing = [&](const char *member) {
    driver.failing = member;
    driver.error = kRefused;
  };
  failing("launch");
  checkRefused(arrays.add(on), IMBREX_REFUSED,
               device + " refuses the launch of 'add' with 1 x 1 x 1 blocks of " +
                   std::to_string(FAKE_THREADS) + ": " + kFakeText);
  failing("synchronise");
  checkRefused(on.synchronise(), IMBREX_REFUSED,
               device + " can't finish what is in a stream: " + kFakeText);
  failing("makeStream");
  stream own;
  checkRefused(own.make(on), IMBREX_REFUSED, device + " can't make a stream: " + kFakeText);
  failing("allocate");
  device_buffer<float> memory;
  checkRefused(memory.make(on, 64), IMBREX_REFUSED,
               device + " can't allocate memory: " + kFakeText);
  failing("copyOutBy");
  std::vector<float> values(64);
  checkRefused(arrays.z.copy_to(values), IMBREX_REFUSED,
               device + " can't give bytes back: " + kFakeText);
  check(arrays.add(on));
  // A device that there is not may come to be.
  driver.devices = 5;
  CHECK(memory.make(gpu(5), 1).code() == IMBREX_NO_DEVICE);
  driver.devices = 6;
  check(memory.make(gpu(5), 1));
}

TEST_CASE("a stream is used, and one that is captured loads nothing") {
  fake::State &driver = freshDriver();
  stream own;
  check(own.make(gpu(4)));
  const stream_ref &on = own;
  REQUIRE(on.handle != nullptr);
  std::vector<void *> streams;
  driver.device = [&](const fake::SeenLaunch &launch) {
    return streams.push_back(launch.stream), 0;
  };
  const Arrays arrays(on);
  driver.captured = on.handle;
  checkRefused(
      arrays.add(on), IMBREX_CAPTURED,
      "'add' is not loaded on " + described(4, FAKE_ISA) +
          " yet, and the stream is being captured; load the library, or launch it once, before");
  driver.captured = nullptr;
  check(arrays.add(on));
  driver.captured = on.handle;
  check(arrays.add(on));
  driver.captured = nullptr;
  CHECK(streams == std::vector<void *>(2, on.handle));
  const void *handle = on.handle;
  own = stream();
  CHECK(!driver.streams.contains(const_cast<void *>(handle)));
}

TEST_CASE("memory that the device has not is refused by the argument's name") {
  freshDriver();
  const Arrays here(gpu(0)), there(gpu(1));
  const auto all = [](const device_buffer<float> &of) {
    return array<float, 1>(of.data(), {of.size()});
  };
  std::vector<float> host(64);
  checkRefused(app::add(gpu(0), 1, all(here.x), host, all(here.z)), IMBREX_BAD_ARGUMENT,
               "the argument 'b' of 'add' is in memory of the host, not of " +
                   described(0, FAKE_ISA));
  checkRefused(app::add(gpu(0), 1, all(here.x), all(here.y), all(there.z)), IMBREX_BAD_ARGUMENT,
               std::string("the argument 'c' of 'add' is in memory of ") +
                   (FAKE_IS_CUDA ? "cuda:1" : "hip:1") + ", not of " + described(0, FAKE_ISA));
}

TEST_CASE("a tensor of DLPack's is on its own device") {
  freshDriver();
  const Arrays arrays(gpu(0));
  std::int64_t extents[1] = {64};
  const auto tensor = [&](const device_buffer<float> &of, int device) {
    return aot::dltensor(imbrex_dltensor{.data = of.data(),
                                         .device_type = FAKE_IS_CUDA ? 2 : 10,
                                         .device_id = device,
                                         .ndim = 1,
                                         .code = 2,
                                         .bits = 32,
                                         .lanes = 1,
                                         .shape = extents,
                                         .strides = nullptr,
                                         .byte_offset = 0});
  };
  check(app::add(gpu(0), 1, tensor(arrays.x, 0), tensor(arrays.y, 0), tensor(arrays.z, 0)));
  checkRefused(app::add(gpu(0), 1, tensor(arrays.x, 0), tensor(arrays.y, 1), tensor(arrays.z, 0)),
               IMBREX_BAD_ARGUMENT,
               FAKE_IS_CUDA ? "the argument 'b' of 'add', view<const f32, 1>, is in memory of "
                              "cuda:1, not of cuda:0"
                            : "the argument 'b' of 'add', view<const f32, 1>, is in memory of "
                              "hip:1, not of hip:0");
}

TEST_CASE("an empty grid asks a driver for nothing") {
  fake::State &driver = freshDriver();
  const Arrays arrays(gpu(0));
  driver.calls.clear();
  const array<float, 1> none(arrays.x.data(), {64});
  check(app::add(gpu(0), 0, none, none, array<float, 1>(arrays.z.data(), {64})));
  check(app::add(gpu(0), {3, 0, 5}, none, none, array<float, 1>(arrays.z.data(), {64})));
  CHECK(driver.calls.empty());
}

TEST_CASE("eight threads launch on two devices, and each loads a kernel once") {
  fake::State &driver = freshDriver();
  std::atomic<int> launches = 0;
  driver.device = [&](const fake::SeenLaunch &) { return ++launches, 0; };
  constexpr int kThreads = 8, kLaunches = 50;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const stream_ref on = gpu(thread % 2);
      device_buffer<double> out;
      if (!out.make(on, 11)) return void(++failures);
      for (int i = 0; i < kLaunches; ++i)
        if (!app::numbers(on, 1, true, 1, 2, 3, 4, 5, 6, 7, bf16(1.0), f8e4m3fn(1.0), 2.0,
                          array<double, 1>(out.data(), {11})))
          ++failures;
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(launches == kThreads * kLaunches);
  CHECK(std::ranges::count(driver.calls, std::string("loadModule")) <= 2);
}

} // namespace imbrex::aot_tests
