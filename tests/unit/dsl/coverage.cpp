#include <imbrex/dsl.hpp>
using namespace imbrex;
struct everything {
  void operator()(view<const f32, 2> a, view<f32, 2> c, scalar<i32> n, scalar<f32> s) const {
    auto x = a[box<16, 32>(n, 0)];
    auto y = a[box_at<16, 32>(n, n + 1).pad_nan().hint(cache::streaming)];
    auto z = a[box<1, 32>(0, n).pad(-1)];
    tile<f32, 16, 32> t = x * y + z;
    tile<f32, 16, 32> t2 = -x * 2 - y * s;
    auto cond = t < t2 && !(t == 0.5);
    auto w = where(cond, t, 0);
    c[box<16, 32>(n, 0)] = w;
  }
};
struct more {
  void operator()(view<f32, 2> c, ptr<const f32> p, ptr<i32> q, scalar<i32> n, scalar<f32> s, ptr<f16> h) const {
    auto i = arange<0, 128>();
    auto m = i < n;
    auto v = load(p + i, m, 0.0, cache::streaming);
    store(q + i, cast<i32>(v), m);
    atomic_add(q + i, 1, m, order::relaxed);
    auto old = atomic_cas(q, 0, n);
    store(q, old + (n << 3) + (n >> lit<2>) + (1 << n));
    auto mx = max<0>(v);
    auto e = exp(v - mx);
    auto r = e / sum<0>(e, keep_dims | deterministic);
    IMBREX_IF (n > 3) { store(q, 1); }
    IMBREX_ELSE_IF (n > 2) { store(q, 2); }
    IMBREX_ELSE { store(q, 3); }
    var k = n;
    while_([&] { return k > 1; }, [&] { k = k / 2; });
    for (auto trip : forever()) { k += 1; break_if(k > 10); }
    auto chosen = if_(n > 2, [&] { return n + 1; }, [&] { return n * 2; });
    store(q, chosen);
    auto [idx, vals] = topk<4>(r);
    auto am = argmax<0>(r);
    store(q + 1, am);
    auto best = reduce<0>(std::tuple{r, i}, [](auto a, auto ai, auto b, auto bi) {
      auto g = a > b;
      return std::tuple{where(g, a, b), where(g, ai, bi)};
    });
    store(q + 2, std::get<1>(best));
    auto cs = cumsum<0>(i, reverse | exclusive);
    auto sc = scan<0>(r, 1, [](auto a, auto b) { return a * b; });
    store(q + i, cs + cast<i32>(sc));
    auto rn = randn(42, i);
    auto [r0, r1, r2, r3] = rand4x(n, cast<i64>(i));
    store(h + i, cast<f16>(rn + r3));
    auto hh = histogram<16>(i, m);
    auto gg = gather<0>(r, i);
    auto mat = reshape<8, 16>(gg);
    auto tr = transpose(mat);
    auto d = dot(mat, tr, precision::tf32);
    auto cc = concatenate<0>(d, flip<-1>(d));
    auto [l0, l1] = split(join(cc, cc));
    c[box<16, 8>(0, n)] += slice<1, 0, 8>(l0) * s;
    c[box<16, 8>(0, n)] = squeeze<0>(expand<0>(l1));
    device_print("hello", n);
    device_assert(n > 0, "n positive");
    auto asmv = inline_asm<i32>("add", "=r,r", "host", n);
    store(q, asmv);
    exit_if(n == 7);
    c[box<16, 8>(0, 0)] = c[box<16, 8>(1, 1)];
  }
};
auto k0() { return trace(more{}); }
auto k1() { return trace(everything{}); }
int main() {}
