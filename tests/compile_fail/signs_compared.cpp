#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> a, tile<u32, 4> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: a signed and an unsigned tile do not compare or divide
  auto c = a < b;
#else
  auto c = cast<u32>(a) < b;
#endif
}
