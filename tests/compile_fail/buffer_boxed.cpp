#include <imbrex/imbrex.hpp>
using namespace imbrex;

void kernel(buffer<f32> &memory, view<f32, 1> x) {
#ifdef IMBREX_SHOULD_FAIL
  auto y = memory[box<16>(0)]; // expect: a buffer is memory of the host: pass it to the launch
#else
  auto y = x[box<16>(0)];
  auto z = memory[0];
#endif
}
// errors: 1
