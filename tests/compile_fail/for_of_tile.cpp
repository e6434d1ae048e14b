#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(scalar<i32> n, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL
  for (int i = 0; i < n; ++i) // expect: C\+\+'s if, for, while, \?: cannot test it; use IMBREX_IF, for \(auto i : range\(n\)\)
    store(p + i, i);
#else
  for (auto i : range(n)) store(p + i, i);
#endif
}
// errors: 1
