#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(scalar<bool> c, scalar<i32> x, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL
  // expect: either both bodies of if_ give a value or none does
  if_(c, [&] { return x; }, [&] { store(p, x); });
  // expect: either both bodies of if_ give a value or none does
  if_(c, [&] { store(p, x); }, [&] { return x; });
  // expect: if_ gives one tile or scalar
  store(p, if_(c, [&] { return std::tuple{x, x}; }, [&] { return std::tuple{x, x}; }));
#else
  if_(c, [&] { store(p, x); }, [&] { store(p, x); });
  store(p, if_(c, [&] { return x; }, [&] { return x + 1; }));
#endif
}
