#include "app.hpp"
#include "telling.hpp"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/device_launches.h"
#include "tests/run/runtime/cuda_graphs.h"
#include "tests/support/captured_output.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

/// A library of kernels on the GPUs of this machine, beside the same library on the host. Where
/// there is none, a line says so, and ctest calls the test skipped.
namespace imbrex::aot_tests {
namespace {

std::optional<aot::stream> streamOn(const stream_ref &gpu) {
  aot::stream made;
  const status came = made.make(gpu);
  if (came.ok()) return made;
  std::printf("SKIP: %s\n", came.message());
  return std::nullopt;
}

/// The same numbers on the host and on a GPU.
template <class T>
class Twin {
public:
  Twin(const stream_ref &gpu, std::vector<T> numbers)
      : here_(std::move(numbers)), there_(on(gpu, here_)) {}

  T *dataOn(const stream_ref &stream) {
    return stream.device == IMBREX_HOST ? here_.data() : there_.data();
  }
  void checkAlike() const { CHECK(contentOf(there_) == here_); }

private:
  std::vector<T> here_;
  device_buffer<T> there_;
};

/// A launch on the host, and twice on the GPU, where the second is made again.
template <class Launch>
void onBoth(const stream_ref &gpu, Launch launch) {
  check(launch(stream_ref::host()));
  for (int i = 0; i < 2; ++i) check(launch(gpu));
}

/// Of vectors that begin anywhere, in steps, and where c is b.
void compareSums(const stream_ref &gpu) {
  constexpr std::int64_t kSize = 5000;
  for (const std::int64_t size : {1, 7, 1024, 2048, 2400})
    for (const std::int64_t first : {0, 1})
      for (const std::int64_t step : {1, 2}) {
        Twin<f32> a(gpu, random<f32>(kSize, 1)), b(gpu, random<f32>(kSize, 2));
        Twin<f32> c(gpu, std::vector<f32>(kSize, -1));
        const auto part = [&](Twin<f32> &of, const stream_ref &on) {
          return array<f32, 1>(of.dataOn(on) + first, {size}, {step});
        };
        const std::int64_t blocks = cdiv(size, 1024);
        onBoth(gpu, [&](const stream_ref &on) {
          return app::add(on, blocks, part(a, on), part(b, on), part(c, on));
        });
        c.checkAlike();
        for (const stream_ref &on : {stream_ref::host(), gpu})
          check(app::add(on, blocks, part(a, on), part(b, on), part(b, on)));
        b.checkAlike();
      }
}

void compareRows(const stream_ref &gpu) {
  for (const auto &[rows, columns] : {std::pair{3, 128}, {64, 100}, {5, 1}}) {
    const auto size = static_cast<std::size_t>(rows * columns);
    Twin<f32> x(gpu, random<f32>(size, 3)), y(gpu, std::vector<f32>(size));
    onBoth(gpu, [&, rows = rows, columns = columns](const stream_ref &on) {
      return app::softmax(on, cdiv(rows, 4), array<const f32, 2>(x.dataOn(on), {rows, columns}),
                          array<f32, 2>(y.dataOn(on), {rows, columns}));
    });
    y.checkAlike();
  }
}

/// Of small whole numbers, whose sums are exact; the engine copies where rows are multiples of 16
/// bytes.
void compareProducts(const stream_ref &gpu) {
  for (const auto &[m, n, k] :
       {std::tuple{64, 64, 64}, {128, 64, 96}, {70, 50, 41}, {256, 192, 1000}, {1, 1, 1}}) {
    CAPTURE(m);
    const auto numbers = [](int size, int step) {
      std::vector<f16> made;
      for (int i = 0; i < size; ++i) made.push_back(f16(i * step % 13 - 6));
      return made;
    };
    Twin<f16> a(gpu, numbers(m * k, 5)), b(gpu, numbers(k * n, 7));
    Twin<f32> c(gpu, std::vector<f32>(static_cast<std::size_t>(m * n), -1));
    onBoth(gpu, [&, m = m, n = n, k = k](const stream_ref &on) {
      return app::product(on, array<f16, 2>(a.dataOn(on), {m, k}),
                          array<f16, 2>(b.dataOn(on), {k, n}), array<f32, 2>(c.dataOn(on), {m, n}));
    });
    c.checkAlike();
  }
}

void compareNumbers(const stream_ref &gpu) {
  Twin<f64> out(gpu, std::vector<f64>(11));
  onBoth(gpu, [&](const stream_ref &on) {
    return app::numbers(on, 1, true, -8, 200, -30000, 60000, 4000000000U, -9000000000000000,
                        18000000000000000000U, bf16(0.5), f8e4m3fn(448.0), 1e-300,
                        array<f64, 1>(out.dataOn(on), {11}));
  });
  out.checkAlike();
  std::vector<u8> bytes(8 * 32);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<u8>(i * 7);
  Twin<u8> x(gpu, bytes);
  Twin<f32> y(gpu, std::vector<f32>(8 * 64));
  onBoth(gpu, [&](const stream_ref &on) {
    return app::halve(on, 1, array<const f4e2m1, 2>(x.dataOn(on), {8, 64}),
                      array<f32, 2>(y.dataOn(on), {8, 64}));
  });
  y.checkAlike();
}

/// Whatever is promised of their pointers.
void compareTables(const stream_ref &gpu) {
  using aot::promise, aot::table;
  for (const promise kept : {promise::none, promise::aligned, promise::aligned_and_apart})
    for (const int count : {64, 30}) {
      std::vector<Twin<f32>> groups;
      for (const std::uint64_t seed : {1, 2, 3, 4}) groups.emplace_back(gpu, random<f32>(64, seed));
      const auto pointers = [&](const stream_ref &on, std::size_t first) {
        return std::vector<f32 *>{groups[first].dataOn(on), groups[first + 1].dataOn(on), nullptr};
      };
      const std::vector<f32 *> fromHere = pointers(stream_ref::host(), 0),
                               toHere = pointers(stream_ref::host(), 2);
      const auto from = on(gpu, pointers(gpu, 0)), to = on(gpu, pointers(gpu, 2));
      onBoth(gpu, [&](const stream_ref &stream) {
        const bool isHere = stream.device == IMBREX_HOST;
        const auto *sources =
            reinterpret_cast<const f32 *const *>(isHere ? fromHere.data() : from.data());
        return app::groups(stream, table<const f32>(sources, 2, kept),
                           table<f32>(isHere ? toHere.data() : to.data(), 2, kept), count);
      });
      for (const Twin<f32> &group : groups) group.checkAlike();
    }
}

/// Blocks that print and assert: on the host one after the other.
void compareTelling(const stream_ref &gpu) {
  constexpr std::int64_t kBlocks = 50;
  Twin<f32> x(gpu, random<f32>(4 * kBlocks, 6));
  std::string here, there, failed;
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    testing::CapturedOutput captured;
    check(telling::told(stream_ref::host(), 1,
                        array<f32, 1>(x.dataOn(stream_ref::host()) + 4 * block, {4}), 3));
    std::string line = captured.finish();
    here += line.replace(0, line.find(']'), "[pid " + std::to_string(block) + ",0,0");
  }
  const array<f32, 1> all(x.dataOn(gpu), {4 * kBlocks});
  {
    testing::CapturedOutput captured;
    check(telling::told(gpu, kBlocks, all, 3));
    there = captured.finish();
  }
  CHECK(there == here);
  x.checkAlike();
  testing::CapturedOutput captured;
  const status came = telling::told(gpu, 1, all, -3); // all are more
  captured.finish();
  CHECK(came.code() == IMBREX_ASSERTED);
  CHECK(std::string(came.message()).find(" of block [0, 0, 0]: less than the most") !=
        std::string::npos);
}

void compareWithHost(const stream_ref &gpu) {
  const auto queue = streamOn(gpu);
  if (!queue) return;
  compareSums(*queue);
  compareRows(*queue);
  compareProducts(*queue);
  compareNumbers(*queue);
  compareTables(*queue);
  compareTelling(*queue);
  launchInAnyOrder(*queue, 5, 2000);
}

/// In one stream with copies around the launches, another that waits, and the time that it took.
void orderByEvents(const stream_ref &gpu) {
  const auto queue = streamOn(gpu), other = streamOn(gpu);
  if (!queue || !other) return;
  const stream_ref &in = *queue, &waiting = *other;
  for (int i = 0; i < 20; ++i) addInStream(in);
  constexpr std::int64_t kSize = 1 << 22;
  constexpr int kLaunches = 100;
  const auto x = on(in, std::vector<f32>(kSize, 1)), y = on(in, std::vector<f32>(kSize));
  const array<const f32, 1> one(x.data(), {kSize}), sum(y.data(), {kSize});
  const array<f32, 1> into(y.data(), {kSize});
  aot::event first, last;
  check(first.record(in));
  for (int i = 0; i < kLaunches; ++i) check(app::add(in, kSize / 1024, one, sum, into));
  check(last.record(in));
  check(waiting.wait(last));
  check(app::add(waiting, kSize / 1024, one, sum, into));
  check(waiting.synchronise());
  double milliseconds = 0;
  check(last.milliseconds_since(first, milliseconds));
  CHECK(milliseconds > 0);
  CHECK(contentOf(y) == std::vector<f32>(kSize, kLaunches + 1));
}

/// Each thread has a stream of its own.
void launchFromThreads(const stream_ref &gpu) {
  if (!streamOn(gpu)) return;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 8; ++seed)
    threads.emplace_back([&gpu, seed] { launchInAnyOrder(*streamOn(gpu), seed, 500); });
  for (std::thread &thread : threads) thread.join();
}

} // namespace

TEST_CASE("the cuda device runs a library's kernels as the host does") {
  compareWithHost(stream_ref::cuda());
}
TEST_CASE("the hip device runs a library's kernels as the host does") {
  compareWithHost(stream_ref::hip());
}
TEST_CASE("the cuda device runs a library's launches of eight threads") {
  launchFromThreads(stream_ref::cuda());
}
TEST_CASE("the hip device runs a library's launches of eight threads") {
  launchFromThreads(stream_ref::hip());
}

TEST_CASE("the cuda device runs a library's launches in the order of events") {
  orderByEvents(stream_ref::cuda());
}
TEST_CASE("the hip device runs a library's launches in the order of events") {
  orderByEvents(stream_ref::hip());
}

TEST_CASE("the cuda device runs a library's launches from a graph") {
  const auto queue = streamOn(stream_ref::cuda());
  if (!queue) return;
  const stream_ref &stream = *queue;
  const testing::CudaGraphs graphs;
  check(app::load(stream));
  constexpr std::size_t kSize = 5000;
  const std::vector<f32> ones(kSize, 1);
  const auto x = on(stream, ones), sum = on(stream, ones);
  const array<const f32, 1> one(x.data(), {kSize}), read(sum.data(), {kSize});
  const array<f32, 1> written(sum.data(), {kSize});
  constexpr int kStrict = 0, kLaunches = 10, kReplays = 5;
  REQUIRE(graphs.begin(stream.handle, kStrict) == 0);
  for (int i = 0; i < kLaunches; ++i)
    check(app::add(stream, cdiv(std::int64_t{kSize}, 1024), one, read, written));
  CHECK(telling::told(stream, 1, written, 3).code() == IMBREX_CAPTURED);
  void *graph = nullptr, *executable = nullptr;
  REQUIRE(graphs.end(stream.handle, &graph) == 0);
  CHECK(contentOf(sum) == ones); // nothing has run
  REQUIRE(graphs.instantiate(&executable, graph, 0) == 0);
  for (int i = 0; i < kReplays; ++i) REQUIRE(graphs.launch(executable, stream.handle) == 0);
  CHECK(contentOf(sum) == std::vector<f32>(kSize, 1 + kLaunches * kReplays));
}

} // namespace imbrex::aot_tests
