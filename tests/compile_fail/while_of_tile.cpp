#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<bool> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: a tile has no value while the kernel is traced
  while (a) exit_if(a);
#else
  while (false) exit_if(a);
#endif
}
