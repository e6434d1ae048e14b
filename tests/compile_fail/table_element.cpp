#include <imbrex/dsl.hpp>
using namespace imbrex;

#ifdef IMBREX_SHOULD_FAIL
void kernel(table<f4e2m1> x) { // expect elsewhere: an f4e2m1 has no address of its own; make it a table of u8
  x.size();
}
#else
void kernel(table<u8> x) { x.size(); }
#endif
