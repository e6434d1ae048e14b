#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(scalar<bool> c, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL
  // expect: the first function of while_ returns a scalar bool of the kernel; on a condition of the host use C\+\+'s own while
  while_([&] { return sizeof(p) > 4; }, [&] { store(p, 1); });
  // expect: the first function of while_ returns a scalar bool of the kernel
  while_([&] { c; }, [&] { store(p, 1); });
#else
  while_([&] { return c; }, [&] { store(p, 1); });
#endif
}
// errors: 2
