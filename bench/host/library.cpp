// The kernels of bench_host as functions of C, for python_peers.py: compiled when they are first
// called, by as many threads as IMBREX_NUM_THREADS says. Matrices lie row by row; sizes that no
// kernel was made for are refused.

#include "bench/host/kernels.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

using namespace imbrex;

namespace {

using size = std::int64_t;

[[noreturn]] void refuse(const char *what, size of) {
  std::fprintf(stderr, "there is no %s of %lld\n", what, static_cast<long long>(of));
  std::exit(1);
}

size cover(size extent, size box) { return (extent + box - 1) / box; }

template <class Kernel, class... Arguments>
void run(grid blocks, Kernel kernel, Arguments &&...arguments) {
  static const auto made = jit(kernel);
  made(blocks, arguments...);
}

template <class T, class Sum, int BK>
void product(const T *a, const T *b, Sum *c, size m, size n, size k) {
  const auto into = [&](auto kernel, int rows, int columns) {
    run(grid(cover(m, rows), cover(n, columns)), kernel, tensor_ref(a, {m, k}),
        tensor_ref(b, {k, n}), tensor_ref(c, {m, n}));
  };
  // The one row of a whole b is read in order, the wider, the better; narrow elements are copied.
  constexpr int kAcross = std::is_same_v<T, f32> ? 2048 : 512;
  if (m == 1) return into(bench::matmul<1, kAcross, BK, T, Sum>{}, 1, kAcross);
  if (m <= 64) return into(bench::matmul<64, 128, BK, T, Sum>{}, 64, 128);
  if (n <= 64) return into(bench::matmul<128, 64, BK, T, Sum>{}, 128, 64);
  into(bench::matmul<128, 128, BK, T, Sum>{}, 128, 128);
}

template <int D>
void attend(const f32 *const (&factors)[3], f32 *o, size heads, size length, bool isCausal) {
  if (length % 256 != 0) refuse("attention of length", length);
  const auto of = [&](auto *data) { return tensor_ref(data, {heads * length, size{D}}); };
  // `run` keeps one kernel a type, and these differ by a member.
  static const auto all = jit(bench::attention<64, 256, D>{}),
                    causal = jit(bench::attention<64, 128, D>{.is_causal = true});
  (isCausal ? causal : all)(grid(length / 64, heads), of(factors[0]), of(factors[1]),
                            of(factors[2]), of(o), static_cast<i32>(length),
                            1 / std::sqrt(static_cast<f32>(D)));
}

} // namespace

extern "C" {

void bench_matmul_f32(const f32 *a, const f32 *b, f32 *c, size m, size n, size k) {
  product<f32, f32, 128>(a, b, c, m, n, k);
}

void bench_matmul_bf16(const bf16 *a, const bf16 *b, f32 *c, size m, size n, size k) {
  product<bf16, f32, 256>(a, b, c, m, n, k);
}

void bench_matmul_i8(const i8 *a, const i8 *b, i32 *c, size m, size n, size k) {
  product<i8, i32, 256>(a, b, c, m, n, k);
}

void bench_matmul_gelu(const f32 *a, const f32 *b, const f32 *bias, f32 *c, size m, size n,
                       size k) {
  run(grid(cover(m, 128), cover(n, 128)), bench::matmul_gelu<128, 128, 128>{},
      tensor_ref(a, {m, k}), tensor_ref(b, {k, n}), tensor_ref(bias, {n}), tensor_ref(c, {m, n}));
}

void bench_softmax(const f32 *x, f32 *y, size rows, size columns) {
  const auto from = tensor_ref(x, {rows, columns});
  const auto to = tensor_ref(y, {rows, columns});
  if (columns == 1024) return run(grid(rows), bench::softmax<1024>{}, from, to);
  if (columns == 4096) return run(grid(rows), bench::softmax<4096>{}, from, to);
  refuse("softmax of rows", columns);
}

void bench_layer_norm(const f32 *x, const f32 *scale, const f32 *shift, f32 *y, size rows,
                      size columns) {
  const auto of = [&](auto *data) { return tensor_ref(data, {rows, columns}); };
  const auto row = [&](const f32 *data) { return tensor_ref(data, {columns}); };
  if (columns == 1024)
    return run(grid(rows), bench::layer_norm<1024>{}, of(x), row(scale), row(shift), of(y));
  if (columns == 4096)
    return run(grid(rows), bench::layer_norm<4096>{}, of(x), row(scale), row(shift), of(y));
  refuse("layer norm of rows", columns);
}

void bench_add(const f32 *a, const f32 *b, f32 *sum, size count) {
  constexpr int kSize = 4096;
  const auto of = [&](auto *data) { return tensor_ref(data, {count}); };
  run(grid(cover(count, kSize)), bench::add<kSize>{}, of(a), of(b), of(sum));
}

void bench_attention(const f32 *q, const f32 *k, const f32 *v, f32 *o, size heads, size length,
                     size depth, bool isCausal) {
  if (depth == 64) return attend<64>({q, k, v}, o, heads, length, isCausal);
  if (depth == 128) return attend<128>({q, k, v}, o, heads, length, isCausal);
  refuse("attention of heads", depth);
}
}
