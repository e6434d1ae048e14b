#pragma once

// What the examples share around their kernels: a size that fits the device, random numbers, the
// best time of several launches, and the last line, `result: …`.

#include <imbrex/imbrex.hpp>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>

namespace example {

/// What checks every access, the interpreter and emulated GPUs, is slow: it gets the small size.
inline int size(int large, int small) {
  const std::string_view device = imbrex::device::current().name();
  return device == "interpreter" || device.starts_with("emulated:") ? small : large;
}

/// Normally distributed, the same in every run.
template <class T>
void randomise(imbrex::buffer<T> &values, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (T &value : values) value = T(normal(random));
}

/// The best time of several calls, in milliseconds, after a first one that also compiles.
template <class Launch>
double best_milliseconds(const Launch &launch) {
  using clock = std::chrono::steady_clock;
  launch();
  double best = std::numeric_limits<double>::max();
  const clock::time_point end = clock::now() + std::chrono::milliseconds(size(200, 0));
  do {
    const clock::time_point start = clock::now();
    launch();
    best = std::fmin(best, std::chrono::duration<double, std::milli>(clock::now() - start).count());
  } while (clock::now() < end);
  return best;
}

/// The largest difference from a reference in float64. An infinity or a NaN where none is due is as
/// bad as can be; their bits tell them, because -ffast-math says that there are none.
class max_error {
public:
  void compare(double got, double wanted) {
    const double difference = std::fabs(got - wanted);
    constexpr std::uint64_t infinite = std::uint64_t{0x7ff} << 52;
    const bool is_number = (std::bit_cast<std::uint64_t>(difference) & infinite) != infinite;
    error_ = is_number ? std::fmax(error_, difference) : std::numeric_limits<double>::max();
  }
  double get() const { return error_; }

private:
  double error_ = 0;
};

/// Print the last line and give main's result: whether the error is small enough. `amount` is what
/// one launch moves (bytes, unit "gbs") or computes (operations, unit "gflops").
inline int report(const max_error &error, double allowed, double milliseconds, double amount,
                  const char *unit) {
  const std::string device(imbrex::device::current().name());
  std::printf("result: device=%s max_error=%.2g time_ms=%.4g %s=%.4g\n", device.c_str(),
              error.get(), milliseconds, unit, amount / milliseconds * 1e-6);
  return error.get() <= allowed ? 0 : 1;
}

} // namespace example
