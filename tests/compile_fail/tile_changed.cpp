#include <imbrex/dsl.hpp>
using namespace imbrex;

// Of one type the compiler says it once an operator.
void kernel(tile<i32, 4> t, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL
  t += 1; // expect: a tile cannot be assigned to; declare a `var`
  p += 4; // expect: a pointer cannot be assigned to; keep what is added to it in a `var`
  ++program_id(0); // expect: a tile cannot be assigned to; declare a `var`
  const scalar<u8> bits = 1;
  bits |= 2; // expect: a tile cannot be assigned to; declare a `var`
#else
  var v = t;
  v += 1;
  var offset = 0;
  offset += 4;
  store(p + offset, program_id(0) + 1);
#endif
}
