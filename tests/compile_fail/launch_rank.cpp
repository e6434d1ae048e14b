// The rank of an array that has it in its type is checked there; and a buffer's elements are not const.
#include <imbrex/imbrex.hpp>

using namespace imbrex;

namespace {

template <std::size_t Rank>
struct span_of {
  f32 *first;
  static constexpr std::size_t rank() { return Rank; }
  int extent(std::size_t) const { return 1; }
  int stride(std::size_t) const { return 1; }
  f32 *data_handle() const { return first; }
};

} // namespace

int main() {
  const auto launch = jit([](view<f32, 2> x) { x[box<1, 1>(0, 0)] = 1; });
  f32 memory = 0;
  launch(grid(1), span_of<2>{&memory});
#ifdef IMBREX_SHOULD_FAIL
  launch(grid(1), span_of<3>{&memory}); // expect: the argument and the kernel's view have different ranks
  buffer<const f32> fixed(1); // expect: a buffer owns its elements and can't have them const
#endif
}
