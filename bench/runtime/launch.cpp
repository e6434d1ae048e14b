// What a launch costs besides the work: kernels of one block that store one number, by how many
// arguments they have, on the device of IMBREX_DEVICE; on NVIDIA's GPUs beside a launch that is
// written by hand. A GPU's launches are not waited for. Pin it (`taskset -c 1`) and set
// IMBREX_NUM_THREADS=1, so that no thread has to be woken; the best of many runs is what counts on
// a busy machine.
//   bench_launch KIND LAUNCHES     so many of one kind (pointers, bare, views, …: each of the list
// that it prints), for a tool that counts instructions; with IMBREX_CUDA_DRIVER naming the quiet
// driver they are ours alone.
//   bench_launch disk      what a launcher's first code takes that an earlier process has compiled:
// from its IR to the code that the driver has loaded, with the quiet driver without that one's
// work.

#include "bench/runtime/driver_peer.h"
#include "bench/runtime/launch_kernels.h"
#include "launches.hpp"
#include <imbrex/imbrex.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

using namespace imbrex;

namespace {

constexpr int kUsual = 500, kRuns = 200; // a GPU's queue holds more launches than these

/// Of one launch, where so many are made.
template <class Launch>
double nanoseconds(const stream_ref &on, int count, Launch &launch) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  for (int i = 0; i < count; ++i) launch();
  const std::chrono::duration<double, std::nano> taken = clock::now() - start;
  on.synchronize();
  return taken.count() / count;
}

/// Launches of one kind, and how many 64-bit and 32-bit arguments one that is written by hand has;
/// none where there is no such one.
struct Kind {
  std::string_view name;
  int arguments;
  std::function<void()> launch;
  int wide = 0, narrow = 0;
};

/// In turns with one written by hand, where there is one.
void measure(const stream_ref &on, const Kind &kind) {
  kind.launch(); // compiles
  on.synchronize();
  bench::DriverLaunch peer(kind.wide, kind.narrow, on.native());
  const bool hasPeer = on.native() != nullptr && kind.wide > 0 && peer.isThere();
  double best = INFINITY, theirs = INFINITY;
  for (int run = 0; run < kRuns; ++run) {
    best = std::fmin(best, nanoseconds(on, kUsual, kind.launch));
    if (hasPeer) theirs = std::fmin(theirs, nanoseconds(on, kUsual, peer));
  }
  std::printf("launch=%s arguments=%d best_ns=%.0f", kind.name.data(), kind.arguments, best);
  if (hasPeer) std::printf(" driver_ns=%.0f over_driver=%.2f", theirs, best / theirs);
  std::puts("");
}

/// The process forgets its code before each run; the first leaves it on disk for the others.
template <class Kernel>
void measureFromDisk(const device &on, const char *name, const Kernel &kernel) {
  double best = INFINITY;
  for (int run = 0; run <= kRuns; ++run) {
    clear_cache();
    const auto launcher = jit(kernel);
    const auto start = std::chrono::steady_clock::now();
    launcher.prepare(on);
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - start;
    if (run > 0) best = std::fmin(best, taken.count());
  }
  std::printf("from_disk=%s best_us=%.0f\n", name, best);
}

/// In a folder of its own, which goes with it.
int measureFromDisk() {
  std::string folder = (std::filesystem::temp_directory_path() / "bench-launch-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return std::perror("no folder"), 1;
  setenv("IMBREX_CACHE_DIR", folder.c_str(), 1);
  measureFromDisk(device::current(), "pointers", launched::pointers{});
  measureFromDisk(device::current(), "product", launched::product<64, 128, 64>{});
  std::filesystem::remove_all(folder);
  return 0;
}

/// The same queue, for launches of a library.
aot::stream_ref streamOf(const stream_ref &on) {
  const std::string_view name = on.on().name();
  if (name.starts_with("cuda")) return aot::stream_ref::cuda(name.back() - '0', on.native());
  if (name.starts_with("hip")) return aot::stream_ref::hip(name.back() - '0', on.native());
  return aot::stream_ref::host();
}

void check(const aot::status &came) {
  if (came.ok()) return;
  std::puts(came.message());
  std::exit(1);
}

} // namespace

int main(int count, char **words) {
  if (count > 1 && std::string(words[1]) == "disk") return measureFromDisk();
  const stream queue;
  const stream_ref &on = queue;
  const grid one(1), none(0);
  const std::vector<f32> ones(64, 1);
  const device_buffer<f32> x(on, ones);
  device_buffer<f32> y(on, {64}), z(on, {64});
  device_buffer<i32> result(on, {1});

  const auto pointers = jit(launched::pointers{});
  const auto views = jit(launched::views{});
  const auto many = jit(launched::many{});
  // Other people's memory, of which a launch has an address, or extents as well.
  f32 *const yData = y.data(), *const zData = z.data();
  const f32 *const xData = x.data();
  const tensor_ref<const f32> xTensor(xData, {64});
  const tensor_ref<f32> yTensor(yData, {64});
  // Launches of a library.
  const aot::stream_ref ahead = streamOf(on);
  const Kind kinds[] = {
      {"empty_grid", 6, [&] { pointers(on, none, x, x, y, z, 2, 3); }},
      {"pointers", 6, [&] { pointers(on, one, x, x, y, z, 2, 3); }, 4, 2},
      {"bare", 6, [&] { pointers(on, one, xData, xData, yData, zData, 2, 3); }, 4, 2},
      {"views", 4, [&] { views(on, one, x, x, y, 2); }, 6, 1},
      {"tensors", 4, [&] { views(on, one, xTensor, xTensor, yTensor, 2); }, 6, 1},
      {"scalars", 19,
       [&] {
         many(on, one, result, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
       },
       1, 18},
      {"pointers_ahead", 6,
       [&] { check(launches::pointers(ahead, 1, xData, xData, yData, zData, 2, 3)); }, 4, 2},
      {"views_ahead", 4,
       [&] {
         const aot::array<const f32, 1> read(xData, {64});
         const aot::array<f32, 1> written(yData, {64});
         check(launches::views(ahead, 1, read, read, written, 2));
       },
       6, 1},
      {"scalars_ahead", 19,
       [&] {
         check(launches::many(ahead, 1, result.data(), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                              14, 15, 16, 17, 18));
       },
       1, 18},
  };
  if (const char *driver = std::getenv("IMBREX_CUDA_DRIVER")) bench::makeContextCurrent(driver);
  if (count > 2) {
    const auto kind = std::ranges::find(kinds, std::string_view(words[1]), &Kind::name);
    if (kind == std::end(kinds)) return std::printf("there is no kind '%s'\n", words[1]), 1;
    for (int i = std::atoi(words[2]); i > 0; --i) kind->launch();
    return 0;
  }
  for (const Kind &kind : kinds) measure(on, kind);
  std::vector<i32> sum(1);
  result.copy_to(sum);
  return sum[0] == 171 ? 0 : 1;
}
