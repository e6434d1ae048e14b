#include <imbrex/dsl.hpp>
using namespace imbrex;

// Which of the two to make of the other C++ does not know, and its compilers say so in their words;
// of an expression that has no tile yet we can.
void kernel(scalar<f32> x, bool flag) {
#ifdef IMBREX_SHOULD_FAIL
  auto a = flag ? program_id(0) : 0; // expect: ('\?:' have different types|expression is ambiguous; |‘\?:’ have different types)
  auto b = flag ? x * 2 : 0; // expect: both sides of \?: are to be tiles: flag \? x : scalar<T>\(0\)
#else
  auto a = flag ? program_id(0) : scalar<i32>(0);
  auto b = flag ? x * 2 : scalar<f32>(0);
#endif
}
// errors: 2
