#include "backend/launching/thread_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

namespace imbrex::launching {
namespace {

const std::int32_t threads = threadCount({});

TEST_CASE("every block runs once, whatever their number") {
  for (const std::int64_t count : {0, 1, 2, 3, 15, 16, 17, 1000}) {
    CAPTURE(count);
    std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
    runInParallel(count, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++runs[static_cast<size_t>(i)];
    });
    for (const std::atomic<int> &each : runs) CHECK(each == 1);
  }
}

TEST_CASE(
    "each thread has a part of the blocks, of which half of what is left is taken at a time") {
  if (threads < 2) {
    MESSAGE("SKIP: there is one processor");
    return;
  }
  for (const std::int64_t count : {2, 3, 37, 1000}) {
    CAPTURE(count);
    std::mutex mutex;
    std::map<std::int64_t, std::int64_t> ranges; // to the end of each
    runInParallel(count, threads, [&](std::int64_t begin, std::int64_t end) {
      const std::lock_guard lock(mutex);
      ranges[begin] = end;
    });
    const std::int64_t parts = std::min<std::int64_t>(count, threads);
    std::int64_t begin = 0, taken = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t end = begin + count / parts + (part < count % parts ? 1 : 0);
      for (; begin < end; ++taken) {
        const std::int64_t half = begin + (end - begin + 1) / 2;
        CHECK(ranges[begin] == half);
        begin = half;
      }
    }
    CHECK(begin == count);
    CHECK(std::ssize(ranges) == taken);
  }
}

TEST_CASE("no range is longer than it may be") {
  constexpr std::int64_t kLongest = 3;
  std::atomic<std::int64_t> run = 0, asLong = 0, longer = 0;
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    run += end - begin;
    asLong += end - begin == kLongest;
    longer += end - begin > kLongest;
  };
  runInParallel(64 * threads, threads, work, kLongest);
  CHECK(run == 64 * threads);
  if (threads == 1) return; // who works alone takes all at once
  CHECK(asLong > 0);
  CHECK(longer == 0);
}

TEST_CASE("what a thread leaves of its part, others run") {
  if (threads < 2) {
    MESSAGE("SKIP: there is one processor");
    return;
  }
  const std::int64_t count = 8 * threads;
  std::atomic<std::int64_t> run = 0;
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  runInParallel(count, threads, [&](std::int64_t begin, std::int64_t end) {
    if (begin == 0) // until all have run that nobody has taken
      while (run < count - end && std::chrono::steady_clock::now() < latest)
        std::this_thread::yield();
    run += end - begin;
  });
  CHECK(run == count);
  CHECK(std::chrono::steady_clock::now() < latest);
}

TEST_CASE("launches from several threads and from inside a launch do not wait for each other") {
  std::atomic<std::int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 100; ++repeat)
        runInParallel(10, threads, [&](std::int64_t begin, std::int64_t end) {
          runInParallel(end - begin, threads,
                        [&](std::int64_t first, std::int64_t last) { total += last - first; });
        });
    });
  for (std::thread &caller : callers) caller.join();
  CHECK(total == 6 * 100 * 10);
}

namespace {

using Clock = std::chrono::steady_clock;

void passTime(std::chrono::microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) std::this_thread::yield();
}

/// How often this thread has gone to sleep since it was asked before.
std::int64_t sleepsSince() {
  thread_local std::int64_t before = 0;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw - std::exchange(before, usage.ru_nvcsw);
}

/// Launch a block for each of two threads, which both begin when both have come; the caller's ends
/// first. Returns how often either went to sleep since the launch before.
std::int64_t sleepsUntilBothMeet() {
  std::atomic<std::int64_t> there = 0, sleeps = 0;
  const auto caller = std::this_thread::get_id();
  const auto latest = Clock::now() + std::chrono::milliseconds(10);
  runInParallel(2, threads, [&](std::int64_t, std::int64_t) {
    sleeps += sleepsSince();
    for (++there; there < 2 && Clock::now() < latest;) std::this_thread::yield();
    if (std::this_thread::get_id() != caller) passTime(std::chrono::microseconds(10));
  });
  return sleeps;
}

} // namespace

TEST_CASE("threads look out for each other and for a launch that follows at once") {
  if (threads < 2) {
    MESSAGE("SKIP: there is one processor");
    return;
  }
  constexpr std::int64_t kLaunches = 20;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  // Others may disturb some batches, and a loaded machine nearly all.
  const auto latest = Clock::now() + std::chrono::seconds(60);
  while (fewest >= kLaunches / 2 && Clock::now() < latest) {
    std::int64_t sleeps = 0;
    for (std::int64_t i = 0; i < kLaunches; ++i) {
      sleeps += sleepsUntilBothMeet();
      passTime(std::chrono::microseconds(10));
    }
    fewest = std::min(fewest, sleeps);
  }
  CHECK(fewest < kLaunches / 2);
}

} // namespace
} // namespace imbrex::launching
