// What a launch costs besides the work: kernels of one block that store one number, by how many
// arguments they have. Pin it (`taskset -c 1`) and set IMBREX_NUM_THREADS=1, so that no thread has
// to be woken; the best of many runs is what counts on a busy machine.

#include <imbrex/imbrex.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace imbrex;

namespace {

template <class Launch>
double best_nanoseconds(const Launch &launch) {
  using clock = std::chrono::steady_clock;
  constexpr int kLaunches = 1000, kRuns = 200;
  double best = 1e30;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = clock::now();
    for (int i = 0; i < kLaunches; ++i) launch();
    const std::chrono::duration<double, std::nano> taken = clock::now() - start;
    best = std::min(best, taken.count() / kLaunches);
  }
  return best;
}

void print(const char *kind, int arguments, double nanoseconds) {
  std::printf("launch=%s arguments=%d best_ns=%.0f\n", kind, arguments, nanoseconds);
}

} // namespace

int main() {
  const stream_ref host(device::host());
  const grid one(1), none(0);
  buffer<f32> x(64), y(64);
  x.fill(1);

  const auto pointers = jit([](ptr<f32> p, scalar<f32> value) { store(p, value); });
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
  i32 result = 0;
  const auto launch_many = [&] {
    many(host, one, &result, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
  };
  print("empty_grid", 2, best_nanoseconds([&] { pointers(host, none, y, 2); }));
  print("pointer", 2, best_nanoseconds([&] { pointers(host, one, y, 2); }));
  print("views", 4, best_nanoseconds([&] { views(host, one, x, x, y, 2); }));
  print("scalars", 19, best_nanoseconds(launch_many));
  return result == 171 ? 0 : 1;
}
