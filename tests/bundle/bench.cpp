// bench DEVICE: kernels on arrays that are in the device's memory, each timed after its result was
// compared with a reference in float64; on a GPU by its own clock. One line each, as
//   bench: name=softmax max_error=2.1e-08 ms=0.031 gbs=2710 of_copy=0.94
// where of_copy is the bandwidth as a part of what a plain copy reached in the same run: the
// driver's, on other devices the C library's.

#include "dsl/traced_kernel.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "runtime/gpus.h"
#include <imbrex/imbrex.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace {

using namespace imbrex;

// --- the kernels ---

struct Add {
  void operator()(view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> c) const {
    auto here = box<1024>(program_id(0));
    c[here] = a[here] + b[here];
  }
};

constexpr int kColumns = 1024;

struct Softmax {
  void operator()(view<const f32, 2> x, view<f32, 2> y) const {
    auto here = box<4, kColumns>(program_id(0), 0);
    auto row = x[here];
    auto e = exp(row - max<1>(row, keep_dims));
    y[here] = e / sum<1>(e, keep_dims);
  }
};

struct LayerNorm {
  void operator()(view<const f32, 2> x, view<f32, 2> y) const {
    auto here = box<4, kColumns>(program_id(0), 0);
    auto row = x[here];
    auto centred = row - sum<1>(row, keep_dims) / kColumns;
    y[here] = centred * rsqrt(sum<1>(centred * centred, keep_dims) / kColumns + 1e-5F);
  }
};

// --- what is measured ---

/// An array in the GPU's memory as a launch takes it.
ir::Argument arrayAt(std::uint64_t address, std::initializer_list<std::int64_t> extents) {
  ir::Argument argument;
  argument.data = reinterpret_cast<std::byte *>(address);
  std::copy(extents.begin(), extents.end(), argument.extents.begin());
  std::int64_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    argument.strides[axis] = stride;
    stride *= argument.extents[axis];
  }
  argument.bytes = stride * static_cast<std::int64_t>(sizeof(float));
  return argument;
}

template <class T>
T valueOf(Result<T> result) {
  if (result) return std::move(*result);
  std::fputs(render(result.error()).c_str(), stderr);
  std::exit(1);
}
void expectOk(const Result<void> &result) {
  if (result) return;
  std::fputs(render(result.error()).c_str(), stderr);
  std::exit(1);
}

using Clock = std::chrono::steady_clock;

/// The best of some runs, in milliseconds.
template <class Run>
double bestMilliseconds(int runs, const Run &run) {
  double best = INFINITY;
  for (int i = 0; i < runs; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    best = std::fmin(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

/// Three arrays of as many numbers, where a device has its memory.
class Arrays {
public:
  Arrays(const gpu::SupportedGpu *gpu, std::int64_t elements)
      : gpu_(gpu), bytes_(elements * static_cast<std::int64_t>(sizeof(float))) {
    for (unsigned i = 0; i < 3; ++i) {
      onHost_.push_back(random(i, elements));
      if (gpu == nullptr) continue;
      onDevice_.push_back(valueOf(gpu->allocate(bytes_)));
      expectOk(gpu->copyIn(address(i), onHost_[i].data(), bytes_));
    }
  }

  std::int64_t bytes() const { return bytes_; }
  std::uint64_t address(std::size_t array) const {
    return gpu_ != nullptr ? onDevice_[array].address()
                           : reinterpret_cast<std::uintptr_t>(onHost_[array].data());
  }
  /// What an array was filled with; of the one that kernels write, what is in it now.
  const std::vector<float> &numbers(std::size_t array) const { return onHost_[array]; }
  void bringBack(std::size_t array) {
    if (gpu_ != nullptr) expectOk(gpu_->copyOut(onHost_[array].data(), address(array), bytes_));
  }
  /// The milliseconds that it takes to copy the first array to the last.
  double timeOfCopy() {
    constexpr int kTimes = 50;
    if (gpu_ == nullptr) return bestMilliseconds(kTimes, [&] { onHost_[2] = onHost_[0]; });
    (void)valueOf(gpu_->timeCopy(address(2), address(0), bytes_, 3)); // warm
    return valueOf(gpu_->timeCopy(address(2), address(0), bytes_, kTimes));
  }

private:
  static std::vector<float> random(unsigned seed, std::int64_t elements) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<float> values(static_cast<std::size_t>(elements));
    std::ranges::generate(values, [&] { return uniform(generator); });
    return values;
  }

  const gpu::SupportedGpu *gpu_; // null: the memory is the host's
  std::int64_t bytes_;
  std::vector<std::vector<float>> onHost_;
  std::vector<gpu::DeviceMemory> onDevice_;
};

class Bench {
public:
  Bench(device on, const gpu::SupportedGpu *gpu, std::int64_t rows)
      : on_(on), gpu_(gpu), rows_(rows), arrays_(gpu, rows * kColumns) {
    const double milliseconds = arrays_.timeOfCopy();
    copyGbs_ = 2e-6 * static_cast<double>(arrays_.bytes()) / milliseconds;
    std::printf("bench: device=%s\nbench: name=copy ms=%.4g gbs=%.4g of_copy=1\n",
                gpu != nullptr ? gpu->description().c_str() : std::string(on.name()).c_str(),
                milliseconds, copyGbs_);
  }

  std::int64_t rows() const { return rows_; }
  const Arrays &arrays() const { return arrays_; }

  /// Run, compare some rows with `reference(first element)`, time. `moved`: arrays that the kernel
  /// reads or writes.
  template <class Kernel, class Reference>
  bool measure(const char *name, const std::vector<ir::Argument> &arguments, std::int64_t blocks,
               int moved, const Reference &reference) {
    Diagnostics diagnostics;
    const traced_kernel traced = trace(Kernel{});
    const auto executable = runtime::makeExecutable(irOf(traced), on_, diagnostics);
    const ir::Grid grid{.extents = {static_cast<std::int32_t>(blocks), 1, 1}};
    bool ok = executable && executable->run(grid, arguments, diagnostics);
    if (ok) arrays_.bringBack(2);
    const double error = ok ? errorOf(reference) : INFINITY;
    const double milliseconds = ok ? time(*executable, grid, arguments, diagnostics) : INFINITY;
    std::fputs(diagnostics.render().c_str(), stdout);
    const double gbs = 1e-6 * moved * static_cast<double>(arrays_.bytes()) / milliseconds;
    constexpr double kAllowed = 1e-5;
    ok = error <= kAllowed && !diagnostics.hasErrors();
    std::printf("bench: name=%s max_error=%.2g ms=%.4g gbs=%.4g of_copy=%.3f%s\n", name, error,
                milliseconds, gbs, gbs / copyGbs_, ok ? "" : " WRONG");
    return ok;
  }

private:
  double time(const runtime::Executable &executable, const ir::Grid &grid,
              llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) const {
    if (gpu_ == nullptr)
      return bestMilliseconds(5, [&] { executable.run(grid, arguments, diagnostics); });
    runtime::DeviceTime time{.launches = 50};
    executable.run(grid, arguments, diagnostics, {.time = &time});
    return time.milliseconds;
  }

  template <class Reference>
  double errorOf(const Reference &reference) const {
    double largest = 0;
    constexpr std::int64_t kEvery = 97;
    for (std::int64_t row = 0; row < rows_; row += kEvery) {
      const auto first = static_cast<std::size_t>(row * kColumns);
      const std::vector<double> wanted = reference(first);
      for (std::size_t j = 0; j < wanted.size(); ++j) {
        const double got = static_cast<double>(arrays_.numbers(2)[first + j]);
        const double difference = std::fabs(got - wanted[j]);
        if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
      }
    }
    return largest;
  }

  device on_;
  const gpu::SupportedGpu *gpu_;
  std::int64_t rows_;
  Arrays arrays_;
  double copyGbs_ = 0;
};

std::vector<double> rowOf(const std::vector<float> &values, std::size_t first) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + kColumns};
}

bool measureAll(Bench &bench) {
  const Arrays &arrays = bench.arrays();
  const std::int64_t rows = bench.rows(), elements = rows * kColumns;
  const auto matrix = [&](std::size_t array) {
    return arrayAt(arrays.address(array), {rows, kColumns});
  };
  const auto line = [&](std::size_t array) { return arrayAt(arrays.address(array), {elements}); };
  bool ok = bench.measure<Add>("vector_add", {line(0), line(1), line(2)}, elements / 1024, 3,
                               [&](std::size_t first) {
                                 std::vector<double> row = rowOf(arrays.numbers(0), first);
                                 for (std::size_t j = 0; j < row.size(); ++j)
                                   row[j] += static_cast<double>(arrays.numbers(1)[first + j]);
                                 return row;
                               });
  ok &= bench.measure<Softmax>("softmax", {matrix(0), matrix(2)}, rows / 4, 2,
                               [&](std::size_t first) {
                                 std::vector<double> row = rowOf(arrays.numbers(0), first);
                                 const double largest = *std::ranges::max_element(row);
                                 double sum = 0;
                                 for (double &value : row) sum += value = std::exp(value - largest);
                                 for (double &value : row) value /= sum;
                                 return row;
                               });
  ok &= bench.measure<LayerNorm>("layer_norm", {matrix(0), matrix(2)}, rows / 4, 2,
                                 [&](std::size_t first) {
                                   std::vector<double> row = rowOf(arrays.numbers(0), first);
                                   double mean = 0, variance = 0;
                                   for (const double value : row) mean += value / kColumns;
                                   for (double &value : row) value -= mean;
                                   for (const double value : row)
                                     variance += value * value / kColumns;
                                   for (double &value : row) value /= std::sqrt(variance + 1e-5);
                                   return row;
                                 });
  return ok;
}

/// As many rows as keep a device busy for a moment.
std::int64_t rowsFor(device on) {
  if (runtime::isGpu(runtime::infoOf(on).kind)) return 32768;
  return on == device::host() ? 2048 : 8;
}

} // namespace

int main(int count, char **words) {
  if (count != 2) return std::fputs("usage: bench DEVICE\n", stderr), 2;
  const auto on = imbrex::runtime::findDevice(words[1], {});
  if (!on) {
    std::fputs(render(on.error()).c_str(), stderr);
    return 1;
  }
  const imbrex::DeviceInfo &info = imbrex::runtime::infoOf(*on);
  const bool isGpu = imbrex::runtime::isGpu(info.kind);
  Bench bench(*on, isGpu ? valueOf(imbrex::runtime::gpuOf(info)) : nullptr, rowsFor(*on));
  return measureAll(bench) ? 0 : 1;
}
