#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: topk takes 1 to all elements of the axis
  topk<5>(a);
#else
  topk<4>(a);
#endif
}
