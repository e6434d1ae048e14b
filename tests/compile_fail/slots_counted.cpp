#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(scalar<i32> n, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL
  // expect: pipelined\(slots\) wants an integer of the host
  for (auto i : range(n).pipelined(2.5)) store(p + i, i);
  // expect: unroll\(times\) wants an integer of the host
  for (auto i : range(n).unroll(2.5F)) store(p + i, i);
#else
  for (auto i : range(n).pipelined(2)) store(p + i, i);
  for (auto i : range(n).unroll(2U)) store(p + i, i);
#endif
}
// errors: 2
