#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> x, tile<i32, 4, 8> i, tile<i32, 8> n) {
#ifdef IMBREX_SHOULD_FAIL
  auto r = sort(x, 0); // expect: stand in <>: sort<axis>\(x\)
  auto s = argsort(x, 0, sorted::descending); // expect: stand in <>: argsort<axis>\(x\)
  topk(x, 2); // expect: stand in <>: topk<count, axis>\(x\)
  auto u = histogram(n, 16); // expect: stand in <>: histogram<bins>\(x\)
  auto v = gather(x, i, 0); // expect: stand in <>: gather<axis>\(x, indices\)
#else
  auto r = sort(x, sorted::descending);
  auto s = argsort<0>(x, sorted::descending);
  topk<2>(x);
  auto u = histogram<16>(n);
  auto v = gather<0>(x, i);
#endif
}
// errors: 5
