#include <imbrex/dsl.hpp>
using namespace imbrex;

enum class color { red };

void kernel(tile<f32, 4> a, view<f32, 1> v, ptr<f32> p) {
  var x = a;
#ifdef IMBREX_SHOULD_FAIL
  x = "text"; // expect: this is neither a tile, nor an expression of tiles, nor a number; characters
  x += color::red; // expect: this is neither a tile, nor an expression of tiles, nor a number; characters
  x *= 'c'; // expect: this is neither a tile, nor an expression of tiles, nor a number; characters
  x = std::tuple{a, a}; // expect: this is neither a tile, nor an expression of tiles, nor a number; characters
  x = {1, 2}; // expect: this is neither a tile, nor an expression of tiles, nor a number; characters
  x -= v; // expect: a view is read and written by boxes
  x = p; // expect: a pointer is no number; load\(p\) reads what it points to
#else
  x += static_cast<int>(color::red);
  x *= static_cast<int>('c');
  x -= v[box<4>(0)];
  x = load(p);
#endif
}
// errors: 7
