// The kernels of kernels.hpp by hand, in the C++ that nvcc and, as HIP without its headers, clang
// take. Each has the tile, the threads and the 16-byte accesses of ours and asks for the same of
// its launch: addresses and rows at multiples of 16 bytes, extents and strides of 64 bits, any
// number of elements. Loads come first, so that all of them are under way at a time.

#if defined(__HIP__)

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define BLOCK_OF(threads)                                                                          \
  __attribute__((amdgpu_flat_work_group_size(threads, threads)))                                   \
  __attribute__((launch_bounds(threads)))
#define RESTRICT __restrict__
typedef long long int64_t;
typedef float float4 __attribute__((ext_vector_type(4)));
__device__ inline int thread() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int blockX() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline int blockY() { return __builtin_amdgcn_workgroup_id_y(); }
__device__ inline void meet() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline float fusedMultiplyAdd(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
__device__ inline float larger(float a, float b) { return __builtin_fmaxf(a, b); }
__device__ inline float smaller(float a, float b) { return __builtin_fminf(a, b); }
__device__ inline float reciprocalRoot(float x) { return __builtin_amdgcn_rsqf(x); }
__device__ inline unsigned bitsOf(float x) { return __builtin_bit_cast(unsigned, x); }
__device__ inline float floatOf(unsigned x) { return __builtin_bit_cast(float, x); }
#define INFINITE __builtin_inff()
constexpr int kLanes = 64;

template <int Control>
__device__ inline float moved(float x) {
  return floatOf(__builtin_amdgcn_update_dpp(0, bitsOf(x), Control, 0xf, 0xf, true));
}
/// Combines the lanes' values, by DPP within 16 lanes and by LDS's crossbar beyond.
template <class F>
__device__ inline float acrossWarp(float x, F combine) {
  x = combine(x, moved<0xb1>(x));  // quad_perm [1,0,3,2]
  x = combine(x, moved<0x4e>(x));  // quad_perm [2,3,0,1]
  x = combine(x, moved<0x141>(x)); // row_half_mirror
  x = combine(x, moved<0x140>(x)); // row_mirror
  x = combine(x, floatOf(__builtin_amdgcn_ds_swizzle(bitsOf(x), 0x401f)));
  const int other = (thread() % kLanes ^ 32) * 4;
  return combine(x, floatOf(__builtin_amdgcn_ds_bpermute(other, bitsOf(x))));
}

#else

#include <cstdint>
#define BLOCK_OF(threads) __launch_bounds__(threads)
#define RESTRICT __restrict__
__device__ inline int thread() { return threadIdx.x; }
__device__ inline int blockX() { return blockIdx.x; }
__device__ inline int blockY() { return blockIdx.y; }
__device__ inline void meet() { __syncthreads(); }
__device__ inline float fusedMultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline float smaller(float a, float b) { return fminf(a, b); }
__device__ inline float reciprocalRoot(float x) { return rsqrtf(x); }
__device__ inline unsigned bitsOf(float x) { return __float_as_uint(x); }
__device__ inline float floatOf(unsigned x) { return __uint_as_float(x); }
#define INFINITE __int_as_float(0x7f800000)
constexpr int kLanes = 32;

template <class F>
__device__ inline float acrossWarp(float x, F combine) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2)
    x = combine(x, __shfl_xor_sync(0xffffffff, x, mask));
  return x;
}

#endif

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Larger {
  __device__ float operator()(float a, float b) const { return larger(a, b); }
};

__device__ inline float4 quad(float a) {
  float4 q;
  q.x = q.y = q.z = q.w = a;
  return q;
}
__device__ inline float4 loadQuad(const float *p) { return *reinterpret_cast<const float4 *>(p); }
__device__ inline void storeQuad(float *p, float a, float b, float c, float d) {
  float4 q;
  q.x = a, q.y = b, q.z = c, q.w = d;
  *reinterpret_cast<float4 *>(p) = q;
}

/// Combines the threads' values; `shared` has a place for each warp.
template <int Threads, class F>
__device__ inline float acrossBlock(float x, float *shared, F combine) {
  x = acrossWarp(x, combine);
  if (thread() % kLanes == 0) shared[thread() / kLanes] = x;
  meet();
  x = shared[0];
#pragma unroll
  for (int warp = 1; warp < Threads / kLanes; ++warp) x = combine(x, shared[warp]);
  return x;
}

template <class Index>
__device__ inline void addQuads(const float *a, const float *b, float *sum, Index n) {
  const Index first = Index(blockX()) * 1024 + thread() * 4, second = first + 512;
  float4 x0, x1, y0, y1;
  if (first < n) x0 = loadQuad(a + first), y0 = loadQuad(b + first);
  if (second < n) x1 = loadQuad(a + second), y1 = loadQuad(b + second);
  if (first < n) storeQuad(sum + first, x0.x + y0.x, x0.y + y0.y, x0.z + y0.z, x0.w + y0.w);
  if (second < n) storeQuad(sum + second, x1.x + y1.x, x1.y + y1.y, x1.z + y1.z, x1.w + y1.w);
}

extern "C" __global__ void BLOCK_OF(128)
    vector_add(const float *RESTRICT a, const float *RESTRICT b, float *RESTRICT sum, int64_t n) {
  addQuads<int64_t>(a, b, sum, n);
}
/// Right only while the whole grid, past the end included, has less than 2^31 elements.
extern "C" __global__ void BLOCK_OF(128)
    vector_add_int(const float *RESTRICT a, const float *RESTRICT b, float *RESTRICT sum, int n) {
  addQuads<int>(a, b, sum, n);
}

/// The thread's eight elements of a row of up to 1024, in two pieces of four.
struct Row {
  float v[8];

  __device__ void load(const float *row, int64_t columns, float padding) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int i = k * 512 + thread() * 4;
      float4 q = quad(padding);
      if (i < columns) q = loadQuad(row + i);
      v[4 * k] = q.x, v[4 * k + 1] = q.y, v[4 * k + 2] = q.z, v[4 * k + 3] = q.w;
    }
  }
  template <class F>
  __device__ float combined(F combine) const {
    return combine(combine(combine(v[0], v[1]), combine(v[2], v[3])),
                   combine(combine(v[4], v[5]), combine(v[6], v[7])));
  }
};

/// The exponential function to 0.9 ulp from operations that all machines round alike: 2^n exp(r)
/// with x = n ln 2 + r (Cody and Waite), subnormal results and NaNs included.
__device__ inline float exactExp(float x) {
  const float clamped = larger(smaller(x, 89.0f), -104.0f);
  const float rounder = 12582912.0f + 254.0f;
  const float shifted = fusedMultiplyAdd(clamped, 0x1.715476p+0f, rounder), n = shifted - rounder;
  const float r =
      fusedMultiplyAdd(n, 0x1.05c610p-29f, fusedMultiplyAdd(n, -0x1.62e430p-1f, clamped));
  float p = 0x1.694ac4p-10f;
  p = fusedMultiplyAdd(p, r, 0x1.12398ep-7f);
  p = fusedMultiplyAdd(p, r, 0x1.555a28p-5f);
  p = fusedMultiplyAdd(p, r, 0x1.555492p-3f);
  p = fusedMultiplyAdd(p, r, 0x1.fffffap-2f);
  p = fusedMultiplyAdd(p, r, 1.0f);
  p = fusedMultiplyAdd(p, r, 1.0f);
  const unsigned biased = bitsOf(shifted), half = biased >> 1;
  const float result = p * floatOf(half << 23) * floatOf((biased - half) << 23);
  return x == x ? result : floatOf(0x7fc00000);
}
/// The compiler's own: as accurate, but not the same bits everywhere.
__device__ inline float vendorExp(float x) {
#if defined(__HIP__)
  return __builtin_expf(x);
#else
  return expf(x);
#endif
}

template <class Exp>
__device__ inline void softmaxRow(const float *in, float *out, int64_t columns, Exp exp) {
  __shared__ float largest[128 / kLanes], sums[128 / kLanes];
  Row row;
  row.load(in, columns, -INFINITE);
  const float most = acrossBlock<128>(row.combined(Larger()), largest, Larger());
#pragma unroll
  for (float &v : row.v) v = exp(v - most);
  const float sum = acrossBlock<128>(row.combined(Plus()), sums, Plus());
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int i = k * 512 + thread() * 4;
    const float *v = row.v + 4 * k;
    if (i < columns) storeQuad(out + i, v[0] / sum, v[1] / sum, v[2] / sum, v[3] / sum);
  }
}

extern "C" __global__ void BLOCK_OF(128)
    softmax(const float *RESTRICT in, float *RESTRICT out, int64_t rows, int64_t columns,
            int64_t inStride, int64_t outStride) {
  if (blockX() >= rows) return;
  softmaxRow(in + blockX() * inStride, out + blockX() * outStride, columns,
             [](float x) { return exactExp(x); });
}

extern "C" __global__ void BLOCK_OF(128)
    softmax_vendor_exp(const float *RESTRICT in, float *RESTRICT out, int64_t rows, int64_t columns,
                       int64_t inStride, int64_t outStride) {
  if (blockX() >= rows) return;
  softmaxRow(in + blockX() * inStride, out + blockX() * outStride, columns,
             [](float x) { return vendorExp(x); });
}

extern "C" __global__ void BLOCK_OF(128)
    layer_norm(const float *RESTRICT in, const float *RESTRICT scale, const float *RESTRICT shift,
               float *RESTRICT out, int64_t rows, int64_t columns, int64_t inStride,
               int64_t outStride) {
  __shared__ float sums[128 / kLanes], squares[128 / kLanes];
  if (blockX() >= rows) return;
  in += blockX() * inStride, out += blockX() * outStride;
  Row row, weights, biases, square;
  row.load(in, columns, 0);
  weights.load(scale, columns, 0);
  biases.load(shift, columns, 0);
  const float mean = acrossBlock<128>(row.combined(Plus()), sums, Plus()) / 1024;
#pragma unroll
  for (int i = 0; i < 8; ++i) row.v[i] -= mean, square.v[i] = row.v[i] * row.v[i];
  const float variance = acrossBlock<128>(square.combined(Plus()), squares, Plus()) / 1024;
  const float factor = reciprocalRoot(variance + 1e-5f);
#pragma unroll
  for (int i = 0; i < 8; ++i)
    row.v[i] = fusedMultiplyAdd(row.v[i] * factor, weights.v[i], biases.v[i]);
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int i = k * 512 + thread() * 4;
    const float *v = row.v + 4 * k;
    if (i < columns) storeQuad(out + i, v[0], v[1], v[2], v[3]);
  }
}

/// Through shared memory whose rows are padded by one word.
extern "C" __global__ void BLOCK_OF(256)
    transpose(const float *RESTRICT in, float *RESTRICT out, int64_t rows, int64_t columns,
              int64_t inStride, int64_t outStride) {
  __shared__ float shared[64][65];
  const int quadColumn = thread() % 16 * 4, row = thread() / 16;
  const int64_t firstRow = int64_t{blockX()} * 64, firstColumn = int64_t{blockY()} * 64;
  const float *from = in + (firstRow + row) * inStride + firstColumn + quadColumn;
  float4 q[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (firstRow + row + 16 * k < rows && firstColumn + quadColumn < columns)
      q[k] = loadQuad(from + 16 * k * inStride);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float *to = &shared[row + 16 * k][quadColumn];
    to[0] = q[k].x, to[1] = q[k].y, to[2] = q[k].z, to[3] = q[k].w;
  }
  meet();
  float *to = out + (firstColumn + row) * outStride + firstRow + quadColumn;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int column = row + 16 * k;
    if (firstColumn + column < columns && firstRow + quadColumn < rows)
      storeQuad(to + 16 * k * outStride, shared[quadColumn][column], shared[quadColumn + 1][column],
                shared[quadColumn + 2][column], shared[quadColumn + 3][column]);
  }
}

extern "C" __global__ void BLOCK_OF(256)
    reduction(const float *RESTRICT in, float *RESTRICT sums, int64_t n) {
  __shared__ float shared[256 / kLanes];
  const int64_t first = int64_t{blockX()} * 4096 + thread() * 4;
  float4 q[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    q[k] = quad(0);
    if (first + 1024 * k < n) q[k] = loadQuad(in + first + 1024 * k);
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) sum += (q[k].x + q[k].y) + (q[k].z + q[k].w);
  sum = acrossBlock<256>(sum, shared, Plus());
  if (thread() == 0) sums[blockX()] = sum;
}
