// Of an argument that does not fit, the compiler prints the number, the name where the functor has
// one, what the parameter takes and what was given.
#include <imbrex/imbrex.hpp>

#include <vector>

using namespace imbrex;

namespace {

struct scale {
  static constexpr names parameters{"x", "factor"};
  void operator()(view<f32, 1> x, scalar<f32> factor) const { x[box<1>(0)] *= factor; }
};

} // namespace

int main() {
  const auto named = jit(scale{});
  const auto nameless = jit([](view<f32, 1> x) { x[box<1>(0)] = 1; });
  std::vector<f32> x(1);
  named(grid(1), x, 2);
  nameless(grid(1), x);
#ifdef IMBREX_SHOULD_FAIL
  std::vector<f64> wide(1);
  named(grid(1), x, wide); // expect: argument<2, .*text<6>\{"factor"\}, .*takes<.*tile<float> ?>, .*given<std::vector<double.*>::is_number
  named(grid(1), wide, 2); // expect: argument<1, .*text<1>\{"x"\}, .*takes<.*view<float, 1> ?>, .*given<std::vector<double.*>::has_its_elements
  nameless(grid(1), wide); // expect: argument<1, .*unnamed.*, .*takes<.*view<float, 1> ?>, .*given<std::vector<double.*>::has_its_elements
#endif
}
// errors: 3
