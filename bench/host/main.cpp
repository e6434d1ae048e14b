// The host device against libraries, one thread on one processor: `bench_host [rounds [rows |
// products | narrow | attention]]`. Prints a line of JSON per figure. Every result is checked
// against the peer's before it is timed. Beside the libraries stands what no code can be faster
// than: a copy of as many bytes, or as many multiply-adds on registers.

#include "bench/host/kernels.hpp"
#include "bench/host/measure.h"
#include "bench/host/peers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <unistd.h>

namespace {

using imbrex::bf16;
using imbrex::buffer;
using imbrex::f32;
using imbrex::grid;
using imbrex::i32;
using imbrex::i8;

int rounds = 15;

constexpr double kNoFloor = 0; // beside what cannot be reached, or is wrong

void randomise(buffer<f32> &values, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (f32 &value : values) value = normal(random);
}

/// Poison ours, run both once, and stop unless every element agrees.
void check(const std::string &name, buffer<f32> &ours, const buffer<f32> &theirs, double allowed,
           const std::function<void()> &runOurs, const std::function<void()> &runPeer) {
  std::fill(ours.begin(), ours.end(), NAN);
  runOurs();
  runPeer();
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double error = std::abs(double(ours.data()[i]) - theirs.data()[i]);
    worst = error <= worst ? worst : error;
  }
  if (worst <= allowed) return;
  std::fprintf(stderr, "%s: wrong by %g\n", name.c_str(), worst);
  std::exit(1);
}

void benchAdd() {
  constexpr std::int64_t n = 1 << 24;
  buffer<f32> a(n), b(n), sum(n), copy(n);
  randomise(a, 1);
  randomise(b, 2);
  const auto kernel = imbrex::jit(bench::add<4096>{});
  const auto ours = [&] { kernel(grid(n / 4096), a, b, sum); };
  const auto peer = bench::copyPeer(a.data(), copy.data(), n * sizeof(f32));
  ours();
  for (std::int64_t i = 0; i < n; ++i)
    if (sum.data()[i] != a.data()[i] + b.data()[i]) std::exit(1);
  // Three streams against two: bytes per second compare, not times.
  bench::Comparison result = bench::compare(ours, peer, rounds);
  for (double *ratio : {&result.ratio, &result.ratioLow, &result.ratioHigh}) *ratio *= 1.5;
  result.peerSeconds *= 1.5;
  bench::report("add 16M f32", "copy", "gbs", 3.0 * n * sizeof(f32), result, 0.85);
}

template <int Columns>
void benchRows(std::int64_t rows) {
  const std::string shape = std::to_string(rows) + "x" + std::to_string(Columns);
  const double bytes = 2.0 * static_cast<double>(rows) * Columns * sizeof(f32);
  buffer<f32> in(rows, Columns), out(rows, Columns), theirs(rows, Columns), scale(Columns),
      shift(Columns);
  randomise(in, 1);
  randomise(scale, 2);
  randomise(shift, 3);
  const auto blocks = grid(static_cast<int>(rows));
  const auto copy = bench::copyPeer(in.data(), theirs.data(), in.size() * sizeof(f32));
  const auto against = [&](const char *workload, const char *name, const auto &ours,
                           const std::function<void()> &peer, double floor) {
    bench::report(workload + (" f32 " + shape), name, "gbs", bytes,
                  bench::compare(ours, peer, rounds), floor);
  };
  {
    const auto kernel = imbrex::jit(bench::softmax<Columns>{});
    const auto ours = [&] { kernel(blocks, in, out); };
    const auto peer = bench::softmaxPeer(in.data(), theirs.data(), rows, Columns);
    check("softmax", out, theirs, 1e-6, ours, peer);
    against("softmax", "oneDNN", ours, peer, 1.3);
    against("softmax", "copy", ours, copy, kNoFloor);
  }
  const auto kernel = imbrex::jit(bench::layer_norm<Columns>{});
  const auto ours = [&] { kernel(blocks, in, scale, shift, out); };
  const auto peer =
      bench::layerNormPeer(in.data(), scale.data(), shift.data(), theirs.data(), rows, Columns);
  check("layer norm", out, theirs, 1e-4, ours, peer);
  against("layer norm", "oneDNN", ours, peer, 1.3);
  against("layer norm", "copy", ours, copy, kNoFloor);
}

void benchAllRows() {
  benchAdd();
  benchRows<1024>(4096);
  benchRows<4096>(4096);
}

std::string textOf(const bench::ProductShape &shape) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  const bool isCube = shape.m == shape.n && shape.n == shape.k;
  const std::string one =
      isCube ? text(shape.m) + "^3" : text(shape.m) + "x" + text(shape.n) + "x" + text(shape.k);
  return shape.batch == 1 ? one : text(shape.batch) + " of " + one;
}

grid blocksOf(const bench::ProductShape &shape, int rows, int columns) {
  const auto cover = [](std::int64_t extent, int box) { return (extent + box - 1) / box; };
  return {cover(shape.m, rows), cover(shape.n, columns), shape.batch};
}

/// A workload of products, of which the libraries' are the same.
void compareProducts(const std::string &workload, const char *peer,
                     const bench::ProductShape &shape, const std::function<void()> &ours,
                     const std::function<void()> &theirs, double floor = 1.0) {
  bench::report(workload + " " + textOf(shape), peer, "gflops", shape.operations(),
                bench::compare(ours, theirs, rounds), floor);
}

/// f32, also with bias and gelu, in blocks of so many.
template <int BM, int BN, int BK>
void benchProduct(const bench::ProductShape &shape) {
  using bench::ProductType;
  const auto &[m, n, k, batch] = shape;
  buffer<f32> a(m, k), b(k, n), bias(n), c(m, n), theirs(m, n);
  randomise(a, 1);
  randomise(b, 2);
  randomise(bias, 3);
  const grid blocks = blocksOf(shape, BM, BN);
  const auto against = [&](const char *workload, const char *peer, const auto &ours,
                           const std::function<void()> &run, double floor) {
    check(workload, c, theirs, 1e-6 * static_cast<double>(k), ours, run);
    compareProducts(workload, peer, shape, ours, run, floor);
  };
  const auto dnnl = [&](const f32 *added) {
    return bench::dnnlProduct(ProductType::F32, shape, a.data(), b.data(), theirs.data(), added);
  };
  const auto product = imbrex::jit(bench::matmul<BM, BN, BK>{});
  const auto ours = [&] { product(blocks, a, b, c); };
  against("matmul f32", "OpenBLAS", ours,
          bench::blasProduct(shape, a.data(), b.data(), theirs.data()), 1.0);
  against("matmul f32", "oneDNN", ours, dnnl(nullptr), 1.0);
  if (const auto alone = bench::multiplyAddsAlone(shape.operations()))
    compareProducts("matmul f32", "multiply-adds alone", shape, ours, alone, kNoFloor);
  const auto gelu = imbrex::jit(bench::matmul_gelu<BM, BN, BK>{});
  against(
      "matmul+bias+gelu f32", "oneDNN", [&] { gelu(blocks, a, b, bias, c); }, dnnl(bias.data()),
      1.1);
}

template <int BM, int BN, int BK>
void benchBatchedProduct(const bench::ProductShape &shape) {
  const auto &[m, n, k, batch] = shape;
  buffer<f32> a(batch, m, k), b(batch, k, n), c(batch, m, n), theirs(batch, m, n);
  randomise(a, 1);
  randomise(b, 2);
  const auto kernel = imbrex::jit(bench::batched_matmul<BM, BN, BK>{});
  const auto ours = [&] { kernel(blocksOf(shape, BM, BN), a, b, c); };
  const auto blas = bench::blasProduct(shape, a.data(), b.data(), theirs.data());
  check("batched matmul", c, theirs, 1e-3, ours, blas);
  compareProducts("matmul f32", "OpenBLAS", shape, ours, blas);
  compareProducts(
      "matmul f32", "oneDNN", shape, ours,
      bench::dnnlProduct(bench::ProductType::F32, shape, a.data(), b.data(), theirs.data()));
}

/// Whether some rows of c are the product of a and b, sums being exact.
template <class T, class Sum>
bool isProduct(const bench::ProductShape &shape, const T *a, const T *b, const Sum *c) {
  for (std::int64_t i = 0; i < shape.m; i += std::max<std::int64_t>(1, shape.m / 8))
    for (std::int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < shape.k; ++k)
        sum += static_cast<double>(a[i * shape.k + k]) * static_cast<double>(b[k * shape.n + j]);
      if (static_cast<double>(c[i * shape.n + j]) != sum) return false;
    }
  return true;
}

/// Whole numbers: all that a byte holds, or of bf16 such small ones that all sums are exact.
template <class T, class Sum, int BM, int BN, int BK>
void benchNarrowProduct(const char *workload, bench::ProductType type,
                        const bench::ProductShape &shape) {
  const auto &[m, n, k, batch] = shape;
  buffer<T> a(m, k), b(k, n);
  buffer<Sum> c(m, n), theirs(m, n);
  constexpr int kLargest = std::is_same_v<T, i8> ? 127 : 8;
  std::mt19937 random(1);
  for (buffer<T> *factor : {&a, &b})
    for (T &element : *factor)
      element = static_cast<T>(
          static_cast<float>(static_cast<int>(random() % (2 * kLargest + 2)) - kLargest - 1));
  const auto kernel = imbrex::jit(bench::matmul<BM, BN, BK, T, Sum>{});
  const auto ours = [&] { kernel(blocksOf(shape, BM, BN), a, b, c); };
  const auto peer = bench::dnnlProduct(type, shape, a.data(), b.data(), theirs.data());
  if (!peer) {
    std::fprintf(stderr, "%s: oneDNN has none on this processor\n", workload);
    return;
  }
  ours();
  peer();
  if (!isProduct(shape, a.data(), b.data(), c.data())) {
    std::fprintf(stderr, "%s: wrong\n", workload);
    std::exit(1);
  }
  // Without VNNI oneDNN adds products of bytes in 16 bits, which holds no two of the largest.
  const bool isExact = std::equal(c.begin(), c.end(), theirs.begin());
  compareProducts(workload, isExact ? "oneDNN" : "oneDNN, saturating", shape, ours, peer,
                  isExact ? 1.0 : kNoFloor);
}

void benchNarrowProducts() {
  using bench::ProductType;
  for (const std::int64_t n : {256, 512, 1000, 1024, 2048}) {
    benchNarrowProduct<i8, i32, 128, 128, 256>("matmul i8", ProductType::I8, {n, n, n});
    benchNarrowProduct<bf16, f32, 128, 128, 256>("matmul bf16", ProductType::Bf16, {n, n, n});
  }
  benchNarrowProduct<bf16, f32, 1, 512, 256>("matmul bf16", ProductType::Bf16, {1, 4096, 4096});
  benchNarrowProduct<bf16, f32, 64, 128, 256>("matmul bf16", ProductType::Bf16, {64, 4096, 4096});
}

void benchProducts() {
  for (const std::int64_t n : {256, 512, 1000, 1024, 1536, 2048})
    benchProduct<128, 128, 128>({n, n, n});
  benchProduct<1, 2048, 128>({1, 4096, 4096});
  benchProduct<64, 128, 128>({64, 4096, 4096});
  benchProduct<128, 64, 128>({4096, 64, 4096});
  benchBatchedProduct<128, 128, 128>({128, 128, 128, 64});
  benchNarrowProducts();
}

template <int BM, int BN, int D>
void benchAttention(std::int64_t heads, std::int64_t length, bool isCausal) {
  buffer<f32> q(heads * length, D), k(heads * length, D), v(heads * length, D),
      o(heads * length, D), theirs(heads * length, D), scores(length, length);
  randomise(q, 1);
  randomise(k, 2);
  randomise(v, 3);
  const auto kernel = imbrex::jit(bench::attention<BM, BN, D>{.is_causal = isCausal});
  const auto ours = [&] {
    kernel(grid(length / BM, heads), q, k, v, o, static_cast<i32>(length),
           1 / std::sqrt(static_cast<f32>(D)));
  };
  const auto peer = bench::attentionPeer({heads, length, D, isCausal}, q.data(), k.data(), v.data(),
                                         theirs.data(), scores.data());
  check("attention", o, theirs, 1e-5, ours, peer);
  const double operations = 4.0 * static_cast<double>(heads * length * length) * D;
  const double counted = isCausal ? operations / 2 : operations;
  const auto against = [&](const char *name, const std::function<void()> &run, double floor) {
    bench::report("attention f32 " + std::to_string(heads) + "x" + std::to_string(length) + "x" +
                      std::to_string(D) + (isCausal ? " causal" : ""),
                  name, "gflops", counted, bench::compare(ours, run, rounds), floor);
  };
  against("OpenBLAS, oneDNN", peer, 1.3);
  if (const auto alone = bench::multiplyAddsAlone(counted))
    against("multiply-adds alone", alone, kNoFloor);
}

void benchAttentions() {
  benchAttention<64, 256, 64>(8, 1024, false);
  benchAttention<64, 256, 128>(4, 4096, false);
  // Wide tiles have more beyond the diagonal.
  benchAttention<64, 128, 64>(8, 1024, true);
  benchAttention<128, 128, 128>(4, 4096, true);
}

/// Record and compile, in a process that has compiled before: the best of several.
template <class Kernel>
void benchCompile(const std::string &name, const Kernel &kernel, double ceiling) {
  double best = INFINITY;
  for (int i = 0; i <= rounds; ++i) {
    imbrex::clear_cache();
    const auto start = std::chrono::steady_clock::now();
    imbrex::jit(kernel).prepare();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    if (i > 0) best = std::min(best, taken.count());
  }
  bench::reportTime("trace and compile " + name, best, ceiling);
}

/// Libraries read their settings when they are loaded: set them, and start again. OpenBLAS does not
/// know every CPU, so that the best core type is named for it.
void restartWithSettings(char **argv) {
  if (std::getenv("IMBREX_NUM_THREADS")) return;
  setenv("IMBREX_CACHE_DIR", "off", 1);
  setenv("IMBREX_NUM_THREADS", "1", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
#endif
  execv("/proc/self/exe", argv);
  std::perror("cannot start again with settings for one thread");
  std::exit(1);
}

} // namespace

int main(int argc, char **argv) {
  restartWithSettings(argv);
  if (argc > 1) rounds = std::max(1, std::atoi(argv[1]));
  bench::pinToProcessor(1);
  std::printf("{\"peers\": \"%s\", \"rounds\": %d}\n", bench::peerVersions(), rounds);

  const std::string part = argc > 2 ? argv[2] : "";
  const std::map<std::string, void (*)()> parts{{"rows", benchAllRows},
                                                {"products", benchProducts},
                                                {"narrow", benchNarrowProducts},
                                                {"attention", benchAttentions}};
  if (const auto found = parts.find(part); found != parts.end()) {
    found->second();
    return 0;
  }
  benchAllRows();
  benchProducts();
  benchAttentions();
  benchCompile("vector add", bench::add<1024>{}, 10);
  benchCompile("softmax", bench::softmax<1024>{}, 25);
  benchCompile("matmul", bench::matmul<128, 128, 64>{}, 80);
  return 0;
}
