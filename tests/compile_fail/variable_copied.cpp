#include <imbrex/dsl.hpp>
using namespace imbrex;

// Of one type the compiler says it once.
void kernel(tile<i32> a, tile<i32, 4> b, tile<f32, 4> c) {
  var x = a;
  var y = b;
  var z = c;
#ifdef IMBREX_SHOULD_FAIL
  var copy = x; // expect: a `var` is not copied, neither into another one nor into a std::tuple
  std::tuple pair{y}; // expect elsewhere: v.get\(\) is its value
  auto function = [=] { return z + 1; }; // expect: a `var` is not copied
#else
  var copy = x.get();
  std::tuple pair{y.get()};
  auto function = [&] { return z + 1; };
#endif
}
