#include "bench/host/peers.h"

#include "bench/host/measure.h"

#include <algorithm>
#include <cblas.h>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

using dnnl::memory;

dnnl::engine &engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc rowMajor(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, memory::data_type::f32, memory::format_tag::ab};
}

/// A primitive with its memories bound, as a function that runs it to the end.
template <class Primitive>
std::function<void()> bound(const Primitive &primitive,
                            const std::unordered_map<int, memory> &arguments) {
  dnnl::stream stream(engine());
  return [=]() mutable {
    primitive.execute(stream, arguments);
    stream.wait();
  };
}

#if defined(__x86_64__)
__attribute__((target("avx"))) void copyStreaming(const void *from, void *to, std::size_t bytes) {
  const auto *source = static_cast<const __m256i *>(from);
  auto *target = static_cast<__m256i *>(to);
  for (std::size_t i = 0; i < bytes / sizeof(__m256i); ++i)
    _mm256_stream_si256(target + i, _mm256_loadu_si256(source + i));
  _mm_sfence();
}

/// Sums that do not wait for each other: more than two units with four cycles each have in flight.
using Chains = std::make_index_sequence<12>;

template <std::size_t... Chain>
__attribute__((target("avx512f"))) void multiplyAdd512(std::int64_t rounds,
                                                       std::index_sequence<Chain...> /*chains*/) {
  __m512 sums[] = {_mm512_set1_ps(static_cast<float>(Chain))...};
  __m512 factor = _mm512_set1_ps(0.5F);
  for (std::int64_t i = 0; i < rounds; ++i) {
    ((sums[Chain] = _mm512_fmadd_ps(factor, factor, sums[Chain])), ...);
    asm volatile("" : "+v"(factor)); // another one, for all that is known
  }
  for (__m512 &sum : sums) asm volatile("" : : "v"(sum));
}

template <std::size_t... Chain>
__attribute__((target("avx2,fma"))) void multiplyAdd256(std::int64_t rounds,
                                                        std::index_sequence<Chain...> /*chains*/) {
  __m256 sums[] = {_mm256_set1_ps(static_cast<float>(Chain))...};
  __m256 factor = _mm256_set1_ps(0.5F);
  for (std::int64_t i = 0; i < rounds; ++i) {
    ((sums[Chain] = _mm256_fmadd_ps(factor, factor, sums[Chain])), ...);
    asm volatile("" : "+x"(factor));
  }
  for (__m256 &sum : sums) asm volatile("" : : "x"(sum));
}
#endif

} // namespace

std::function<void()> copyPeer(const void *from, void *to, std::size_t bytes) {
  std::function<void()> plain = [=] { std::memcpy(to, from, bytes); };
#if defined(__x86_64__)
  std::function<void()> streaming = [=] { copyStreaming(from, to, bytes); };
  plain();
  if (secondsOf(streaming) + secondsOf(streaming) < secondsOf(plain) + secondsOf(plain))
    return streaming;
#endif
  return plain;
}

std::function<void()> multiplyAddsAlone([[maybe_unused]] double operations) {
#if defined(__x86_64__)
  const auto rounds = [=](int lanes) {
    return static_cast<std::int64_t>(operations / (2.0 * Chains::size() * lanes));
  };
  if (__builtin_cpu_supports("avx512f")) return [n = rounds(16)] { multiplyAdd512(n, Chains()); };
  if (__builtin_cpu_supports("fma")) return [n = rounds(8)] { multiplyAdd256(n, Chains()); };
#endif
  return {};
}

std::function<void()> softmaxPeer(float *in, float *out, std::int64_t rows, std::int64_t columns) {
  const memory::desc description = rowMajor(rows, columns);
  const dnnl::softmax_forward::desc operation(dnnl::prop_kind::forward_inference, description, 1);
  return bound(dnnl::softmax_forward({operation, engine()}),
               {{DNNL_ARG_SRC, memory(description, engine(), in)},
                {DNNL_ARG_DST, memory(description, engine(), out)}});
}

std::function<void()> layerNormPeer(float *in, float *scale, float *shift, float *out,
                                    std::int64_t rows, std::int64_t columns) {
  using dnnl::normalization_flags;
  const memory::desc description = rowMajor(rows, columns);
  const memory::desc row({columns}, memory::data_type::f32, memory::format_tag::a);
  const dnnl::layer_normalization_forward::desc operation(
      dnnl::prop_kind::forward_inference, description, 1e-5F,
      normalization_flags::use_scale | normalization_flags::use_shift);
  return bound(dnnl::layer_normalization_forward({operation, engine()}),
               {{DNNL_ARG_SRC, memory(description, engine(), in)},
                {DNNL_ARG_SCALE, memory(row, engine(), scale)},
                {DNNL_ARG_SHIFT, memory(row, engine(), shift)},
                {DNNL_ARG_DST, memory(description, engine(), out)}});
}

std::function<void()> blasProduct(const ProductShape &shape, const float *a, const float *b,
                                  float *c) {
  openblas_set_num_threads(1);
  const auto m = static_cast<int>(shape.m), n = static_cast<int>(shape.n),
             k = static_cast<int>(shape.k);
  return [=] {
    for (std::int64_t i = 0; i < shape.batch; ++i)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a + i * m * k, k,
                  b + i * k * n, n, 0, c + i * m * n, n);
  };
}

std::function<void()> dnnlProduct(ProductType type, const ProductShape &shape, const void *a,
                                  const void *b, void *c, const float *bias) {
  using Type = memory::data_type;
  const Type factor = type == ProductType::F32    ? Type::f32
                      : type == ProductType::Bf16 ? Type::bf16
                                                  : Type::s8;
  const Type sum = type == ProductType::I8 ? Type::s32 : Type::f32;
  const auto of = [&](Type element, std::int64_t rows, std::int64_t columns) {
    if (shape.batch == 1) return memory::desc({rows, columns}, element, memory::format_tag::ab);
    return memory::desc({shape.batch, rows, columns}, element, memory::format_tag::abc);
  };
  const memory::desc left = of(factor, shape.m, shape.k), right = of(factor, shape.k, shape.n),
                     sums = of(sum, shape.m, shape.n), row = of(Type::f32, 1, shape.n);
  dnnl::primitive_attr attributes;
  if (bias != nullptr) {
    dnnl::post_ops after;
    after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    attributes.set_post_ops(after);
  }
  const dnnl::matmul::desc operation = bias != nullptr ? dnnl::matmul::desc(left, right, row, sums)
                                                       : dnnl::matmul::desc(left, right, sums);
  const auto at = [&](const memory::desc &description, const void *data) {
    return memory(description, engine(), const_cast<void *>(data));
  };
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, at(left, a)}, {DNNL_ARG_WEIGHTS, at(right, b)}, {DNNL_ARG_DST, at(sums, c)}};
  if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, at(row, bias));
  try {
    return bound(dnnl::matmul({operation, attributes, engine()}), arguments);
  } catch (const dnnl::error &error) {
    if (error.status != dnnl_unimplemented) throw;
    return {};
  }
}

std::function<void()> attentionPeer(const AttentionShape &shape, const float *q, const float *k,
                                    const float *v, float *o, float *scores) {
  openblas_set_num_threads(1);
  constexpr std::int64_t kRows = 256;
  const std::int64_t step = shape.isCausal ? kRows : shape.length;
  std::vector<std::function<void()>> softmax; // of each step's rows, as long as they are
  for (std::int64_t end = step; end <= shape.length; end += step)
    softmax.push_back(softmaxPeer(scores, scores, step, end));
  return [=] {
    const auto rows = static_cast<int>(step), depth = static_cast<int>(shape.depth);
    const float scale = 1 / std::sqrt(static_cast<float>(shape.depth));
    for (std::int64_t head = 0; head < shape.heads; ++head)
      for (std::size_t i = 0; i < softmax.size(); ++i) {
        const std::int64_t begin = static_cast<std::int64_t>(i) * step, end = begin + step;
        const auto columns = static_cast<int>(end);
        const std::int64_t first = head * shape.length * shape.depth;
        const std::int64_t here = first + begin * shape.depth;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, depth, scale, q + here,
                    depth, k + first, depth, 0, scores, columns);
        for (std::int64_t row = 0; shape.isCausal && row < step; ++row)
          std::fill(scores + row * end + begin + row + 1, scores + (row + 1) * end, -1e30F);
        softmax[i]();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, depth, columns, 1, scores,
                    columns, v + first, depth, 0, o + here, depth);
      }
  };
}

const char *peerVersions() {
  static const std::string text = [] {
    const dnnl_version_t *version = dnnl::version();
    return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch) + ", " + openblas_get_config() + " on " +
           openblas_get_corename();
  }();
  return text.c_str();
}

} // namespace bench
