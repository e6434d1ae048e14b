#include "runtime/aot/driver/staged_copies.h"
#include "runtime/gpu_executable.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/numbers_view.h"
#include "tests/run/runtime/played_gpu.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Copies of the host's plain memory through pinned pieces, with a fake driver that does each copy
/// as late as it may (CMakeLists.txt compiles this once for each vendor).
namespace imbrex {
namespace {

using driver::PinnedPool, driver::StagedCopies;
using testing::kFake;

constexpr std::int64_t kPiece = PinnedPool::kPieceBytes;
constexpr std::int64_t kSmall = StagedCopies::kSmallBytes;

using Bytes = std::vector<std::byte>;

Bytes randomBytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes made(static_cast<std::size_t>(count));
  for (std::byte &byte : made) byte = static_cast<std::byte>(random());
  return made;
}

fake::State &twoGpus() {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  driver.devices = 2;
  return driver;
}

std::unique_ptr<gpu::SupportedGpu> openOne(std::int32_t number = 0) {
  return *testing::openGpu({kFake.driver}, number);
}

/// To the device and back; empty where something failed.
Bytes thereAndBack(StagedCopies &copies, const gpu::SupportedGpu &gpu, Bytes bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto memory = gpu.allocate(size);
  if (!memory || copies.copyIn(memory->address(), bytes.data(), size) != 0) return {};
  std::ranges::fill(bytes, std::byte{}); // it is the caller's again
  Bytes back;
  const int error = copies.copyOut(memory->address(), size,
                                   [&](const std::byte *part, std::int64_t at, std::int64_t count) {
                                     CHECK(at == static_cast<std::int64_t>(back.size()));
                                     back.insert(back.end(), part, part + count);
                                   });
  return error == 0 ? back : Bytes{};
}

std::int64_t callsOf(const fake::State &driver, const char *member) {
  return std::ranges::count(driver.calls, member);
}

} // namespace

TEST_CASE("bytes of every size go to the device and come back, whole and in order") {
  fake::State &driver = twoGpus();
  {
    const auto gpu = openOne();
    StagedCopies copies(gpu->driver());
    unsigned seed = 0;
    for (const std::int64_t size : {std::int64_t{1}, kSmall, kSmall + 1, kPiece - 1, kPiece,
                                    kPiece + 1, 2 * kPiece, 3 * kPiece, 5 * kPiece + 3}) {
      CAPTURE(size);
      const Bytes bytes = randomBytes(size, ++seed);
      driver.calls.clear();
      CHECK(thereAndBack(copies, *gpu, bytes) == bytes);
      // Of plain memory, nothing is left to the driver but what is small.
      const bool isSmall = size <= kSmall;
      const std::int64_t parts = (size + kPiece - 1) / kPiece;
      CHECK(callsOf(driver, "copyIn") == (isSmall ? 1 : 0));
      CHECK(callsOf(driver, "copyOut") == (isSmall ? 1 : 0));
      CHECK(callsOf(driver, "copyInBy") == (isSmall ? 0 : parts));
      CHECK(callsOf(driver, "copyOutBy") == (isSmall ? 0 : parts));
      CHECK(callsOf(driver, "synchronise") == 0);
    }
    CHECK(driver.pinned.size() == 1);
  }
  CHECK(driver.pinned.empty());
  CHECK(driver.pending.empty());
}

TEST_CASE("two pieces are under way at once, and no third") {
  fake::State &driver = twoGpus();
  const auto gpu = openOne();
  const Bytes bytes = randomBytes(6 * kPiece, 1);
  const auto memory = gpu->allocate(6 * kPiece);
  {
    StagedCopies copies(gpu->driver());
    REQUIRE(copies.copyIn(memory->address(), bytes.data(), kPiece) == 0);
    CHECK(driver.pending.size() == 1);
    REQUIRE(copies.copyIn(memory->address() + kPiece, bytes.data() + kPiece, 5 * kPiece) == 0);
    CHECK(driver.pending.size() == 2); // which nobody waits for, but the end
    CHECK(callsOf(driver, "awaitEvent") == 4);
    driver.calls.clear();
  }
  CHECK(callsOf(driver, "awaitEvent") == 2);
  CHECK(driver.pending.empty());
  CHECK(std::memcmp(reinterpret_cast<const void *>(memory->address()), bytes.data(),
                    bytes.size()) == 0);
}

TEST_CASE("small copies take no pinned memory, no event and no further call") {
  fake::State &driver = twoGpus();
  const auto gpu = openOne();
  const auto memory = gpu->allocate(kSmall);
  const Bytes bytes = randomBytes(kSmall, 1);
  driver.calls.clear();
  REQUIRE(gpu->copyIn(memory->address(), bytes.data(), kSmall));
  const std::vector<std::string> calls = std::exchange(driver.calls, {});
  {
    StagedCopies copies(gpu->driver());
    CHECK(copies.copyIn(memory->address(), bytes.data(), kSmall) == 0);
  }
  CHECK(driver.calls == calls);
}

TEST_CASE("pieces are kept for the next, as many as there may be, and beyond the driver copies") {
  fake::State &driver = twoGpus();
  {
    const auto gpu = openOne();
    const Bytes bytes = randomBytes(kPiece + 1, 1);
    for (int round = 0; round < 3; ++round) {
      CAPTURE(round);
      std::deque<StagedCopies> all;
      for (std::size_t i = 0; i < PinnedPool::kMostPairs; ++i)
        CHECK(thereAndBack(all.emplace_back(gpu->driver()), *gpu, bytes) == bytes);
      driver.calls.clear();
      CHECK(thereAndBack(all.emplace_back(gpu->driver()), *gpu, bytes) == bytes);
      CHECK(callsOf(driver, "copyInBy") == 0);
      CHECK(callsOf(driver, "copyIn") == 1);
      CHECK(driver.pinned.size() == PinnedPool::kMostPairs);
    }
  }
  CHECK(driver.pinned.empty());
}

TEST_CASE("without pinned memory, or events, the driver copies") {
  for (const char *failing : {"allocatePinned", "makeEvent"})
    for (int passing = 0; passing < 2; ++passing) {
      CAPTURE(failing);
      CAPTURE(passing);
      fake::State &driver = twoGpus();
      {
        const auto gpu = openOne();
        driver.failing = failing;
        driver.passing = passing;
        driver.error = driver::kOutOfMemory;
        const Bytes bytes = randomBytes(2 * kPiece + 1, 1);
        for (int i = 0; i < 3; ++i) {
          StagedCopies copies(gpu->driver());
          CHECK(thereAndBack(copies, *gpu, bytes) == bytes);
        }
        CHECK(callsOf(driver, "copyIn") == (passing == 0 || failing[0] == 'm' ? 1 : 0));
        CHECK(callsOf(driver, "makeEvent") - callsOf(driver, "destroyEvent") ==
              (failing[0] == 'm' ? 1 : 0)); // the one that there was not
      }
      CHECK(driver.pinned.empty());
    }
}

TEST_CASE("whatever the driver refuses is an error, and the next copies find all pieces") {
  for (const char *failing : {"copyInBy", "copyOutBy", "recordEvent", "awaitEvent"})
    for (int passing = 0; passing < 8; ++passing) {
      CAPTURE(failing);
      CAPTURE(passing);
      fake::State &driver = twoGpus();
      {
        const auto gpu = openOne();
        const Bytes bytes = randomBytes(5 * kPiece, 1);
        driver.failing = failing;
        driver.passing = passing;
        driver.error = 1;
        {
          StagedCopies copies(gpu->driver());
          const bool isMet = passing < 5 || failing[0] == 'r' || failing[0] == 'a';
          CHECK((thereAndBack(copies, *gpu, bytes) == bytes) == !isMet);
        }
        driver.failing.clear();
        CHECK(driver.pending.empty());
        StagedCopies copies(gpu->driver());
        CHECK(thereAndBack(copies, *gpu, bytes) == bytes);
        CHECK(driver.pinned.size() == 1);
        CHECK(driver.here().current == 0);
      }
      CHECK(driver.pinned.empty());
      CHECK(callsOf(driver, "makeEvent") == callsOf(driver, "destroyEvent"));
    }
}

TEST_CASE("pieces of which nobody can say that they are free are used by nobody again") {
  fake::State &driver = twoGpus();
  {
    const auto gpu = openOne();
    const Bytes bytes = randomBytes(kPiece, 1);
    const auto memory = gpu->allocate(kPiece);
    driver.error = 1;
    {
      StagedCopies copies(gpu->driver());
      REQUIRE(copies.copyIn(memory->address(), bytes.data(), kPiece) == 0);
      driver.isBroken = true;
    }
    driver.isBroken = false;
    CHECK(driver.pending.size() == 1);
    StagedCopies copies(gpu->driver());
    CHECK(thereAndBack(copies, *gpu, bytes) == bytes);
    CHECK(driver.pinned.size() == 2);
  }
  CHECK(driver.pinned.empty());
}

TEST_CASE("threads of two devices copy at once, each its own bytes") {
  fake::State &driver = twoGpus();
  {
    const std::unique_ptr<gpu::SupportedGpu> gpus[] = {openOne(0), openOne(1)};
    constexpr unsigned kThreads = 12;
    std::vector<int> wrong(kThreads);
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < kThreads; ++number)
      threads.emplace_back([&, number] {
        const gpu::SupportedGpu &gpu = *gpus[number % 2];
        for (unsigned i = 0; i < 6; ++i) {
          const Bytes bytes = randomBytes(kSmall + number * kPiece / 3 + i, number);
          StagedCopies copies(gpu.driver());
          wrong[number] += thereAndBack(copies, gpu, bytes) != bytes;
        }
      });
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(kThreads));
    CHECK(driver.pinned.size() <= 2 * PinnedPool::kMostPairs);
  }
  CHECK(driver.pinned.empty());
  CHECK(driver.memory.empty());
}

namespace {

ir::Kernel copyNumbers() {
  return testing::parsedKernel(
      R"(kernel @copy_numbers(%x: view<const f32, 1>, %y: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[64]
  view.store %y, %1, %0
})");
}

/// A launch of which the device does nothing but add 1 to every seventh byte of its second array.
struct LargeLaunch {
  explicit LargeLaunch(std::size_t count) : x(count), y(count) {
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i), y[i] = -x[i];
    expected = y;
    addTo(reinterpret_cast<std::byte *>(expected.data()));
  }
  std::vector<ir::Argument> arguments() {
    const auto count = static_cast<std::int64_t>(x.size());
    return {testing::viewOf(x.data(), count), testing::viewOf(y.data(), count)};
  }
  void addTo(std::byte *bytes) const {
    for (std::size_t i = 0; i < x.size() * sizeof(float); i += 7)
      bytes[i] = static_cast<std::byte>(std::to_integer<unsigned>(bytes[i]) + 1);
  }
  /// Plays the device: the arrays have to be there when the launch is.
  int run(const fake::State &driver) const {
    const std::size_t bytes = x.size() * sizeof(float);
    int found = 0;
    for (const auto &[address, size] : driver.memory) {
      const auto offset = reinterpret_cast<std::uintptr_t>(y.data()) % driver::kMemoryAlignment;
      const auto other = reinterpret_cast<std::uintptr_t>(x.data()) % driver::kMemoryAlignment;
      if (size == bytes + offset &&
          std::memcmp(reinterpret_cast<void *>(address + offset), y.data(), bytes) == 0)
        ++found, addTo(reinterpret_cast<std::byte *>(address + offset));
      else if (size == bytes + other)
        found += std::memcmp(reinterpret_cast<void *>(address + other), x.data(), bytes) == 0;
    }
    return found == 2 ? 0 : 1;
  }

  std::vector<float> x, y, expected;
};

} // namespace

TEST_CASE(
    "a launch finds large arrays of the host's on the device, and what it changed comes back") {
  fake::State &driver = twoGpus();
  {
    const auto gpu = openOne();
    Diagnostics diagnostics;
    const auto executable = runtime::makeGpuExecutable(copyNumbers(), *gpu, diagnostics);
    REQUIRE_MESSAGE(executable, diagnostics.render());
    LargeLaunch launch(3 * kPiece / sizeof(float) + 5);
    driver.device = [&](const fake::SeenLaunch &) { return launch.run(driver); };
    driver.calls.clear();
    REQUIRE(executable->run({}, launch.arguments(), diagnostics));
    CHECK(launch.y == launch.expected);
    CHECK(callsOf(driver, "copyIn") == 0);
    CHECK(callsOf(driver, "copyInBy") == 8);
    CHECK(callsOf(driver, "copyOutBy") == 4);
    CHECK(callsOf(driver, "synchronise") == 1); // for the kernel, and for no copy in front of it
    CHECK(driver.memory.empty());
  }
  CHECK(driver.pinned.empty());
}

TEST_CASE("a launch with large arrays leaves nothing behind, wherever the driver refuses") {
  for (const char *failing : {"allocate", "copyInBy", "recordEvent", "awaitEvent", "launch",
                              "synchronise", "copyOutBy"}) {
    CAPTURE(failing);
    fake::State &driver = twoGpus();
    {
      const auto gpu = openOne();
      Diagnostics diagnostics;
      const auto executable = runtime::makeGpuExecutable(copyNumbers(), *gpu, diagnostics);
      REQUIRE_MESSAGE(executable, diagnostics.render());
      LargeLaunch launch(3 * kPiece / sizeof(float));
      const std::vector<float> before = launch.y;
      driver.device = [&](const fake::SeenLaunch &) { return launch.run(driver); };
      driver.failing = failing;
      driver.error = 1;
      CHECK_FALSE(executable->run({}, launch.arguments(), diagnostics));
      CHECK(launch.y == before);
      CHECK(driver.memory.empty());
      CHECK(driver.pending.empty());
      const std::string text = diagnostics.render();
      CHECK(text.find("FAKE_INVALID_VALUE") != std::string::npos);
      REQUIRE(executable->run({}, launch.arguments(), diagnostics));
      CHECK(launch.y == launch.expected);
    }
    CHECK(driver.pinned.empty());
  }
}

TEST_CASE("an array that is pinned already is not copied to pinned memory again") {
  fake::State &driver = twoGpus();
  const auto gpu = openOne();
  Diagnostics diagnostics;
  const auto executable = runtime::makeGpuExecutable(copyNumbers(), *gpu, diagnostics);
  REQUIRE_MESSAGE(executable, diagnostics.render());
  const std::int64_t count = 2 * kPiece / static_cast<std::int64_t>(sizeof(float));
  auto *const pinned = static_cast<float *>(*gpu->allocatePinned(2 * kPiece));
  std::fill_n(pinned, count, 1.0f);
  std::vector<float> y(64);
  const std::vector<ir::Argument> arguments{testing::viewOf(pinned, count),
                                            testing::viewOf(y.data(), 64)};
  driver.device = [](const fake::SeenLaunch &) { return 0; };
  driver.calls.clear();
  REQUIRE(executable->run({}, arguments, diagnostics));
  CHECK(callsOf(driver, "copyIn") == 2);
  CHECK(callsOf(driver, "allocatePinned") == 0);
  gpu->releasePinned(pinned);
}

} // namespace imbrex
