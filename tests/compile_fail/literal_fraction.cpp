#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL // expect: the number's fraction would be lost
  tile<i32> b = 0.5;
#else
  tile<i32> b = 5;
#endif
}
