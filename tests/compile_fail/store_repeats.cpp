#include <imbrex/dsl.hpp>
using namespace imbrex;

// One pointer for several elements would keep one of them.
void kernel(ptr<f32> p, tile<f32, 8> x, tile<bool, 8> mask, tile<f32, 4, 8> matrix) {
  auto column = p + expand<1>(arange<0, 4>());
#ifdef IMBREX_SHOULD_FAIL
  store(p, x); // expect: the tile or mask has more elements than there are pointers
  store(p, 1, mask); // expect: point each element to a place of its own: store\(p \+ arange<0, n>\(\), x\)
  store(column, matrix); // expect: the tile or mask has more elements than there are pointers
#else
  store(p + arange<0, 8>(), x);
  store(p + arange<0, 8>(), 1, mask);
  store(column + expand<0>(arange<0, 8>()), matrix);
#endif
  store(p, sum(x));
  store(p + arange<0, 8>(), 1);
  auto same = load(p, mask);
  atomic_add(p, x);
}
// errors: 3
