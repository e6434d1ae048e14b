#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f8e4m3fn, 4> a, tile<f32, 4> b, tile<bool, 4> c) {
#ifdef IMBREX_SHOULD_FAIL
  auto x = a & a; // expect: & \| \^ ~ work on integers and bools
  auto y = reduce_and<0>(b); // expect: reduce_and, reduce_or and reduce_xor work on integers and bools
  var z = c;
  z += c; // expect: a sum of bools is an i32
#else
  auto x = bitcast<u8>(a) & bitcast<u8>(a);
  auto y = reduce_and<0>(bitcast<i32>(b));
  var z = c;
  z |= c;
#endif
}
