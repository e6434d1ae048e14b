#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<f4e2m1> p, ptr<u8> q) {
#ifdef IMBREX_SHOULD_FAIL // expect: an f4e2m1 has no address of its own
  load(p);
#else
  bitcast<f4e2m1>(load(q + arange<0, 4>()));
#endif
}
