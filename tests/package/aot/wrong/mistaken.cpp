#include <imbrex/generator.hpp>

struct leaves_a_loop {
  void operator()(imbrex::view<float, 1> x) const {
    for (auto i : imbrex::range(0, 4)) {
      imbrex::var late = x[imbrex::box<64>(i)];
      x[imbrex::box<64>(i)] = late;
      break;
    }
  }
};

// Refused when it is traced, by the loop's line. In the macro's argument that would be a line of
// the macro's: the first for g++, the last for clang.
IMBREX_KERNEL(mistaken, leaves_a_loop{});
