#include "llvm/Support/Compiler.h"
#include "telling.h"
#include "telling.hpp"
#include "telling_kernels.h"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/played_library.h"
#include "tests/package/aot/seen_log.h"
#include "tests/support/captured_output.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

/// Launches of kernels that print and assert, beside those by jit.

namespace {

std::atomic<bool> isShortOfMemory = false;

} // namespace

#if !LLVM_ADDRESS_SANITIZER_BUILD && !LLVM_THREAD_SANITIZER_BUILD
extern "C" void *__libc_malloc(std::size_t bytes); // NOLINT(bugprone-reserved-identifier): glibc's
/// Has no memory for the lines of large tiles, if that is wanted.
extern "C" __attribute__((visibility("default"))) void *malloc(std::size_t bytes) {
  constexpr std::size_t kLarge = 60'000;
  return isShortOfMemory && bytes > kLarge ? nullptr : __libc_malloc(bytes);
}
#endif

namespace imbrex::aot_tests {
namespace {

using testing::CapturedOutput;

device emulatedGpu() { return device::by_name("emulated:" FAKE_MACHINE); }

/// What a launch prints; it must come to its end.
template <class Launch>
std::string printedBy(Launch launch) {
  CapturedOutput captured;
  launch();
  return captured.finish();
}

/// Blocks run in any order on the processor.
std::vector<std::string> sortedLines(const std::string &text) {
  std::vector<std::string> sorted;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) sorted.push_back(line);
  std::ranges::sort(sorted);
  return sorted;
}

array<f32, 1> all(const device_buffer<f32> &of) { return array<f32, 1>(of.data(), {of.size()}); }

const std::vector<f32> kEight{1, 2.5F, -0.0F, 1e10F, 0.1F, 6, 7, 8};
constexpr const char *kEightPrinted = "[pid 0,0,0] seen: [1, 2.5, -0, 1e+10], 2e+10\n"
                                      "[pid 1,0,0] seen: [0.1, 6, 7, 8], 2e+10\n";
constexpr f32 kMost = 2e10F;

/// What jit says of an assert, from behind the place and the kernel.
template <class Launch>
std::string failureOf(Launch launch) {
  CapturedOutput captured;
  try {
    launch();
  } catch (const error &failed) {
    const std::string text = failed.what();
    return text.substr(text.find("assertion failed"));
  }
  return "";
}

struct ShownArguments {
  std::vector<f32> floats{std::numeric_limits<f32>::quiet_NaN(),
                          -std::numeric_limits<f32>::infinity(),
                          -0.0F,
                          1e-40F,
                          448.5F,
                          -3,
                          65504,
                          3e38F};
  std::vector<std::int64_t> integers{-1, 200, std::int64_t{1} << 40,
                                     std::numeric_limits<std::int64_t>::min()};
};

std::string shownByJit(device on) {
  ShownArguments given;
  return printedBy(
      [&] { jit(aot_kernels::shown{}, {.on = on})(grid(1), given.floats, given.integers); });
}

} // namespace

TEST_CASE("what a kernel of a library prints on a GPU is what it prints by jit") {
  Fake fake(trace(aot_kernels::told{}));
  const auto x = on(kGpu, kEight);
  const std::size_t memory = fake.driver.memory.size();
  CHECK(printedBy([&] { check(telling::told(kGpu, 2, all(x), kMost)); }) == kEightPrinted);
  CHECK(fake.played.problem() == "");
  CHECK(fake.driver.memory.size() == memory);
  std::vector<f32> more = kEight;
  for (f32 &number : more) number += 1;
  CHECK(contentOf(x) == more);
  std::vector<f32> here = kEight;
  CHECK(printedBy([&] { jit(aot_kernels::told{}, {.on = emulatedGpu()})(grid(2), here, kMost); }) ==
        kEightPrinted);
}

TEST_CASE("elements of all types print as by jit, on a GPU and on the host") {
  ShownArguments given;
  const Fake fake(trace(aot_kernels::shown{}));
  const auto floats = on(kGpu, given.floats);
  const auto integers = on(kGpu, given.integers);
  const std::string there = printedBy([&] {
    check(telling::shown(kGpu, 1, array<const f32, 1>(floats.data(), {8}),
                         array<const std::int64_t, 1>(integers.data(), {4})));
  });
  CHECK(fake.played.problem() == "");
  CHECK(there == shownByJit(emulatedGpu()));
  const std::string here = printedBy(
      [&] { check(telling::shown(stream_ref::host(), 1, given.floats, given.integers)); });
  CHECK(here == shownByJit(device::host()));
  CHECK(here == there);
  CHECK(here.starts_with("[pid 0,0,0] 100% of the floats: [nan, -inf, -0, 1e-40, 448.5, -3, "));
  CHECK(here.find("[pid 0,0,0] deep: [[[false, true]], [[true, false]]], 0\n") !=
        std::string::npos);
  CHECK(here.ends_with("[pid 0,0,0] nothing\n"));
}

TEST_CASE("an assert that fails is a status, and its text that of jit behind line and kernel") {
  const Fake fake(trace(aot_kernels::told{}));
  const auto x = on(kGpu, kEight);
  const std::size_t memory = fake.driver.memory.size();
  std::vector<f32> here = kEight;
  const std::string place = "telling_kernels.h:16: 'told': ";
  const std::string failed =
      "assertion failed at tile index [3] of block [1, 0, 0]: less than the most";
  CapturedOutput captured;
  const array<f32, 1> second(x.data() + 4, {4});
  checkRefused(telling::told(kGpu, 2, all(x), 1e10F), IMBREX_ASSERTED,
               place + "assertion failed at tile index [3] of block [0, 0, 0]: less than the most");
  CHECK(fake.driver.memory.size() == memory);
  check(telling::told(kGpu, 1, second, kMost)); // and the next one is well
  CHECK(captured.finish().find("[pid 1,0,0] seen: [0.1, 6, 7, 8], 1e+10\n") != std::string::npos);
  here[3] = 0;
  const auto byJit = [&](device on) {
    std::vector<f32> own = here;
    return failureOf([&] { jit(aot_kernels::told{}, {.on = on})(grid(2), own, 8.0F); });
  };
  CHECK(byJit(emulatedGpu()) == failed);
  CHECK(byJit(device::host()) == failed);
  const auto there = on(kGpu, here);
  CapturedOutput again;
  checkRefused(telling::told(kGpu, 2, all(there), 8.0F), IMBREX_ASSERTED, place + failed);
  checkRefused(telling::told(stream_ref::host(), 2, here, 8.0F), IMBREX_ASSERTED, place + failed);
  checkRefused(
      telling::shown(stream_ref::host(), 2, ShownArguments().floats, ShownArguments().integers),
      IMBREX_ASSERTED,
      "telling_kernels.h:34: 'shown': assertion failed in block [1, 0, 0]: the first alone");
  again.finish();
}

TEST_CASE("no further blocks begin on the host when an assert has failed") {
  constexpr std::int64_t kBlocks = 4096;
  std::vector<f32> x(4 * kBlocks);
  // A block that fails ends the thread's range, and it takes none of the seven that were to follow.
  const std::string text = printedBy([&] {
    CHECK(telling::told(stream_ref::host(), kBlocks, x, -1.0F).code() == IMBREX_ASSERTED);
  });
  CHECK(std::cmp_less_equal(std::ranges::count(text, '\n'), std::thread::hardware_concurrency()));
}

TEST_CASE("launches of what prints are never made again unseen") {
  Fake fake(trace(aot_kernels::told{}));
  const auto x = on(kGpu, std::vector<f32>(4));
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    std::string line = "[pid 0,0,0] seen: [";
    line.append(number).append(", ").append(number).append(", ").append(number).append(", ");
    line.append(number).append("], 2e+10\n");
    CHECK(printedBy([&] { check(telling::told(kGpu, 1, all(x), kMost)); }) == line);
  }
  const imbrex_dltensor tensor = [&] {
    static std::int64_t extent = 4;
    imbrex_dltensor made{};
    made.data = x.data();
    made.device_type = FAKE_IS_CUDA ? 2 : 10;
    made.ndim = 1;
    made.code = 2;
    made.bits = 32;
    made.lanes = 1;
    made.shape = &extent;
    return made;
  }();
  CHECK(printedBy([&] { check(telling::told(kGpu, 1, aot::dltensor(tensor), kMost)); }) ==
        "[pid 0,0,0] seen: [3, 3, 3, 3], 2e+10\n");
  CHECK(fake.launches.size() == 4);
}

TEST_CASE("a stream that is captured takes no launch that is waited for") {
  Fake fake(trace(aot_kernels::told{}));
  aot::stream own;
  check(own.make(kGpu));
  const stream_ref &in = own;
  const auto x = on(in, kEight);
  CapturedOutput captured;
  check(telling::told(in, 2, all(x), kMost));
  captured.finish();
  fake.driver.captured = in.handle;
  fake.driver.calls.clear();
  const status came = telling::told(in, 2, all(x), kMost);
  CHECK(came.code() == IMBREX_CAPTURED);
  CHECK(std::string(came.message())
            .starts_with("'told' prints or asserts, for which a launch is waited, and the stream "
                         "is being captured on "));
  CHECK(fake.calls("launch") + fake.calls("allocateIn") + fake.calls("allocate") == 0);
  fake.driver.captured = nullptr;
  CHECK(printedBy([&] { check(telling::told(in, 1, all(x), kMost)); }) ==
        "[pid 0,0,0] seen: [2, 3.5, 1, 1e+10], 2e+10\n");
}

TEST_CASE("a driver that refuses what a launch needs to tell is an error, and nothing is lost") {
  Fake fake(trace(aot_kernels::told{}));
  aot::stream own;
  check(own.make(kGpu));
  const stream_ref &in = own;
  const auto x = on(in, kEight);
  const auto launch = [&] { return telling::told(in, 2, all(x), kMost); };
  CapturedOutput captured;
  check(launch());
  captured.finish();
  const std::size_t memory = fake.driver.memory.size();
  const auto refused = [&](const char *member, int passing, int error, imbrex_status code,
                           const std::string &what) {
    CAPTURE(member);
    CAPTURE(passing);
    fake.driver.failing = member;
    fake.driver.passing = passing;
    fake.driver.error = error;
    CapturedOutput none;
    const status came = launch();
    CHECK(none.finish() == "");
    CHECK(came.code() == code);
    CHECK(std::string(came.message()).find(what) != std::string::npos);
    CHECK(fake.driver.failing.empty());
    CHECK(fake.driver.memory.size() == memory);
  };
  constexpr int kInvalid = 1, kNoMemory = 2;
  const std::string allocate = " can't allocate memory for what 'told' prints and asserts: ";
  const std::string tell = " can't tell what 'told' prints and asserts: ";
  refused("allocateIn", 0, kNoMemory, IMBREX_NO_MEMORY, allocate);
  refused("allocateIn", 0, kInvalid, IMBREX_REFUSED, allocate);
  refused("copyInBy", 0, kInvalid, IMBREX_REFUSED,
          " can't clear memory for what 'told' prints and asserts: ");
  refused("launch", 0, kInvalid, IMBREX_REFUSED, " refuses the launch of 'told' ");
  refused("copyOutBy", 0, kInvalid, IMBREX_REFUSED, tell);
  refused("copyOutBy", 1, kInvalid, IMBREX_REFUSED, tell);
  refused("synchronise", 1, kInvalid, IMBREX_REFUSED, tell); // what breaks down comes out there
  CHECK(sortedLines(printedBy([&] { check(launch()); })).size() == 2);
}

TEST_CASE("prints that find no room are told of, and the launch is well") {
  const Fake fake(trace(aot_kernels::flooding{}));
  constexpr std::int32_t kBlocks = 132;
  const auto x = on(kGpu, std::vector<std::int32_t>(kBlocks));
  const std::string text = printedBy([&] {
    check(telling::flooding(kGpu, kBlocks, array<std::int32_t, 1>(x.data(), {kBlocks})));
  });
  CHECK(fake.played.problem() == "");
  CHECK(std::ranges::count(text, '\n') == 127); // of 8195 words each, where there are 1048576
  CHECK(contentOf(x).back() == kBlocks);
  CHECK(std::ranges::count(logLines,
                           "2 launch: prints of kernel 'flooding' are lost: there is room for "
                           "1048576 words of them, and 40975 are too many; print smaller tiles, "
                           "or from fewer blocks") == 1);
  std::vector<std::string> byJit;
  set_logger([&](log_level level, std::string_view topic, std::string_view said) {
    if (level == log_level::warn)
      byJit.push_back("2 " + std::string(topic) + ": " + std::string(said));
  });
  std::vector<std::int32_t> here(kBlocks);
  const std::string jitted =
      printedBy([&] { jit(aot_kernels::flooding{}, {.on = emulatedGpu()})(grid(kBlocks), here); });
  set_logger(nullptr);
  CHECK(std::ranges::count(jitted, '\n') == 127);
  REQUIRE(byJit.size() == 1);
  CHECK(std::ranges::count(logLines, byJit[0]) == 1);
}

#if !LLVM_ADDRESS_SANITIZER_BUILD && !LLVM_THREAD_SANITIZER_BUILD
TEST_CASE("who has no memory for what a launch prints is told so") {
  Fake fake(trace(aot_kernels::flooding{}));
  const auto x = on(kGpu, std::vector<std::int32_t>(4));
  std::vector<std::int32_t> here(4);
  const std::size_t memory = fake.driver.memory.size();
  const auto onGpu = [&] {
    return telling::flooding(kGpu, 4, array<std::int32_t, 1>(x.data(), {4}));
  };
  const auto onHost = [&] { return telling::flooding(stream_ref::host(), 4, here); };
  const auto play = fake.driver.device;
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    const int error = play(launch);
    isShortOfMemory = true;
    return error;
  };
  CapturedOutput captured;
  const status there = onGpu();
  const std::string said = there.message();
  const status shortHere = onHost();
  isShortOfMemory = false;
  CHECK(captured.finish() == "");
  CHECK(there.code() == IMBREX_NO_MEMORY);
  CHECK(said == "there is no memory to launch 'flooding'");
  CHECK(fake.driver.memory.size() == memory);
  checkRefused(shortHere, IMBREX_NO_MEMORY,
               "there is no memory to tell what 'flooding' prints and asserts");
  fake.driver.device = play;
  const std::string text = printedBy([&] { check(onGpu()), check(onHost()); });
  CHECK(std::ranges::count(text, '\n') == 8);
}
#endif

TEST_CASE("threads that launch one kernel at once have each their own lines and errors") {
  const Fake fake(trace(aot_kernels::told{}));
  constexpr int kThreads = 4, kLaunches = 6;
  std::vector<device_buffer<f32>> there;
  for (int i = 0; i < kThreads; ++i)
    there.push_back(on(kGpu, std::vector<f32>(8, static_cast<f32>(100 * i))));
  std::atomic<int> wrong = 0;
  const std::string text = printedBy([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        for (int launch = 0; launch < kLaunches; ++launch) {
          const bool fails = launch % 2 == 1;
          const status came = telling::told(kGpu, 2, all(there[static_cast<std::size_t>(i)]),
                                            fails ? -1.0F : kMost);
          if (came.code() != (fails ? IMBREX_ASSERTED : IMBREX_OK)) ++wrong;
        }
      });
    for (std::thread &thread : threads) thread.join();
  });
  CHECK(wrong == 0);
  CHECK(fake.played.problem() == "");
  std::vector<std::string> expected;
  for (int i = 0; i < kThreads; ++i)
    for (int launch = 0; launch < kLaunches; ++launch)
      for (int block = 0; block < 2; ++block) {
        const std::string number = std::to_string(100 * i + (launch + 1) / 2);
        const std::string most = launch % 2 == 1 ? "-1" : "2e+10";
        expected.push_back("[pid " + std::to_string(block) + ",0,0] seen: [" + number + ", " +
                           number + ", " + number + ", " + number + "], " + most);
      }
  std::ranges::sort(expected);
  CHECK(sortedLines(text) == expected);
}

TEST_CASE("a configuration may print where the kernel does not") {
  const auto launch = [](const stream_ref &stream, const array<std::int32_t, 1> &x, int n) {
    return printedBy([&] { check(telling::counted(stream, x, n)); });
  };
  std::vector<std::int32_t> here(4);
  CHECK(launch(stream_ref::host(), here, 9) == "");
  CHECK(launch(stream_ref::host(), here, 10) == "[pid 0,0,0] counted: 10\n");
  CHECK(here[3] == 10);
  const auto x = on(kGpu, here);
  const array<std::int32_t, 1> there(x.data(), {4});
  for (int round = 0; round < 2; ++round) {
    {
      Fake quiet(trace(aot_kernels::counted<false>{}));
      CHECK(launch(kGpu, there, 9) == "");
      quiet.driver.calls.clear();
      CHECK(launch(kGpu, there, 9) == "");
      CHECK(quiet.calls("pointerFacts") == 0); // it is made again
      CHECK(quiet.played.problem() == "");
    }
    Fake loud(trace(aot_kernels::counted<true>{}));
    for (int again = 0; again < 2; ++again)
      CHECK(launch(kGpu, there, 10) == "[pid 0,0,0] counted: 10\n");
    CHECK(loud.played.problem() == "");
    CHECK(contentOf(x)[0] == 10);
  }
}

} // namespace imbrex::aot_tests
