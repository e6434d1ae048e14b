#include "backend/launching/thread_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
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

} // namespace
} // namespace imbrex::launching
