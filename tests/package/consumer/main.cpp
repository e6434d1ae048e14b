// What a user's first program looks like; exits 0 when the sum is right.
#if __has_include(<imbrex/imbrex.hpp>)

#include <imbrex/imbrex.hpp>
#include <imbrex/kernels/select_topk.hpp>

using namespace imbrex;

struct add {
  void operator()(view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> c) const {
    auto here = box<64>(program_id(0));
    c[here] = a[here] + b[here];
  }
};

int main() {
  const int n = 1000;
  buffer<f32> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = 2;
  jit(add{})(grid(cdiv(n, 64)), a, b, c);
  for (int i = 0; i < n; ++i)
    if (c[i] != static_cast<float>(i + 2)) return 1;

  // A kernel of the library, imbrex::kernels: the largest is the last.
  buffer<i32> counts(0), largest(1, 1);
  jit(kernels::topk_by_rounds<f32, i32, 64>{})(grid(1), c.view({1, n}), counts, 1, largest);
  if (largest[0] != n - 1) return 1;
}

#else

int main() {}

#endif
