#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(scalar<f32> x) {
#ifdef IMBREX_SHOULD_FAIL
  auto a = zeros<float>(8); // expect: the extents of a tile are known when C\+\+ compiles, and stand in <>
  auto b = zeros<f32>(8L, 8); // expect: behind the element type: zeros<f32, 64, 64>\(\)
  auto c = zeros(8U); // expect: zeros<f32, 64, 64>\(\), full<f32, 64>\(x\), arange<0, 64>\(\)
  auto d = zeros<8, 8>(); // expect: the extents of a tile are known when C\+\+ compiles
  auto e = full<f32>(8, 1.0f); // expect: the extents of a tile are known when C\+\+ compiles
  auto f = full<8>(x); // expect: the extents of a tile are known when C\+\+ compiles
  auto g = full(8, 8, x); // expect: the extents of a tile are known when C\+\+ compiles
  auto h = arange(0, 8); // expect: the extents of a tile are known when C\+\+ compiles
  auto i = arange<9>(); // expect: the extents of a tile are known when C\+\+ compiles
#else
  auto a = zeros<float, 8>();
  auto b = zeros<f32, 8, 8>();
  auto e = full<f32, 8>(1.0f);
  auto f = full<f32, 8>(x);
  auto h = arange<0, 8>();
#endif
}
// errors: 9
