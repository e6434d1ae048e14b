#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i64> a, tile<u8> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: a signed and an unsigned tile do not compare or divide
  auto c = a % b;
#else
  auto c = a % cast<i64>(b);
#endif
}
