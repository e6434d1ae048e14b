#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: names every axis of x once
  permute<0, 0>(a);
  permute<1, 1>(a); // expect: names every axis of x once
  permute<-1, 1>(a); // expect: names every axis of x once
  permute<0, 2>(a); // expect: names every axis of x once
  permute<0>(a); // expect: names every axis of x once
#else
  permute<1, 0>(a);
  permute<-1, 0>(a);
#endif
}
