// `blocks` computes the grid of a launch from the kernel's own parameters.
#include <imbrex/imbrex.hpp>

using namespace imbrex;

struct fill {
  void operator()(view<f32, 1> x, scalar<f32> value) const { x[box<64>(program_id(0))] = value; }
#ifdef IMBREX_SHOULD_FAIL
  auto blocks(view<f32, 1> x) const { return std::tuple(cdiv(x.extent(0), 64)); }
#else
  auto blocks(view<f32, 1> x, scalar<f32>) const { return std::tuple(cdiv(x.extent(0), 64)); }
#endif
};

struct four {
  void operator()(view<f32, 1> x) const { x[box<64>(program_id(0))] = 0.0f; }
  auto blocks(view<f32, 1>) const {
#ifdef IMBREX_SHOULD_FAIL
    return std::tuple(1, 2, 3, 4);
#else
    return std::tuple(1, 2, 3);
#endif
  }
};

int main() {
  buffer<f32> x(64);
  // expect elsewhere: `blocks` takes the parameters that the kernel takes, and is const
  jit(fill{})(x, 1);
  // expect elsewhere: `blocks` gives one to three numbers of blocks, several as a std::tuple
  jit(four{})(x);
}
