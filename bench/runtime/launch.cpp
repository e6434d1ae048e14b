// What a launch costs besides the work: kernels of one block that store one number, by how many
// arguments they have, on the device of IMBREX_DEVICE; on NVIDIA's GPUs beside a launch that is
// written by hand. A GPU's launches are not waited for. Pin it (`taskset -c 1`) and set
// IMBREX_NUM_THREADS=1, so that no thread has to be woken; the best of many runs is what counts on
// a busy machine.
//   bench_launch [pointers|views|scalars LAUNCHES]     so many of one kind, for a tool that counts
// instructions; with IMBREX_CUDA_DRIVER naming the quiet driver they are ours alone.

#include "bench/runtime/driver_peer.h"
#include <imbrex/imbrex.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
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

/// In turns with one written by hand, of so many 64-bit and 32-bit arguments, where there is one.
template <class Launch>
void measure(const stream_ref &on, const char *kind, int arguments, Launch launch, int wide = 0,
             int narrow = 0) {
  launch(); // compiles
  on.synchronize();
  bench::DriverLaunch peer(wide, narrow, on.native());
  const bool hasPeer = on.native() != nullptr && wide > 0 && peer.isThere();
  double best = INFINITY, theirs = INFINITY;
  for (int run = 0; run < kRuns; ++run) {
    best = std::fmin(best, nanoseconds(on, kUsual, launch));
    if (hasPeer) theirs = std::fmin(theirs, nanoseconds(on, kUsual, peer));
  }
  std::printf("launch=%s arguments=%d best_ns=%.0f", kind, arguments, best);
  if (hasPeer) std::printf(" driver_ns=%.0f over_driver=%.2f", theirs, best / theirs);
  std::puts("");
}

/// For a tool that counts instructions: so many of one kind.
template <class A, class B, class C>
int countable(const std::string &kind, int launches, A pointers, B views, C many) {
  for (int i = 0; i < launches; ++i)
    kind == "pointers" ? pointers() : kind == "views" ? views() : many();
  return 0;
}

} // namespace

int main(int count, char **words) {
  const stream queue;
  const stream_ref &on = queue;
  const grid one(1), none(0);
  const std::vector<f32> ones(64, 1);
  const device_buffer<f32> x(on, ones);
  device_buffer<f32> y(on, {64}), z(on, {64});
  device_buffer<i32> result(on, {1});

  const auto pointers = jit([](ptr<const f32> a, ptr<const f32> b, ptr<f32> c, ptr<f32> d,
                               scalar<f32> value, scalar<f32> other) {
    store(c, load(a) * value);
    store(d, load(b) * other);
  });
  const auto views =
      jit([](view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> c, scalar<f32> value) {
        c[box<1>(0)] = a[box<1>(0)] + b[box<1>(0)] * value;
      });
  using number = scalar<i32>;
  const auto many = jit([](ptr<i32> p, number a, number b, number c, number d, number e, number f,
                           number g, number h, number i, number j, number k, number l, number m,
                           number n, number o, number q, number r, number s) {
    store(p, a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + q + r + s);
  });
  const auto onPointers = [&] { pointers(on, one, x, x, y, z, 2, 3); };
  const auto onViews = [&] { views(on, one, x, x, y, 2); };
  const auto onMany = [&] {
    many(on, one, result, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
  };
  if (count > 2) return countable(words[1], std::atoi(words[2]), onPointers, onViews, onMany);
  measure(on, "empty_grid", 6, [&] { pointers(on, none, x, x, y, z, 2, 3); });
  measure(on, "pointers", 6, onPointers, 4, 2);
  measure(on, "views", 4, onViews, 6, 1);
  measure(on, "scalars", 19, onMany, 1, 18);
  std::vector<i32> sum(1);
  result.copy_to(sum);
  return sum[0] == 171 ? 0 : 1;
}
