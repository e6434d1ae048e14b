// What a launch refuses for a table of pointers by the types of its arguments.
#include <imbrex/imbrex.hpp>

#include <array>
#include <span>
#include <vector>

using namespace imbrex;

namespace {

struct kernel {
  void operator()(table<const f32> x, table<f32> y) const { store(y[0], load(x[0])); }
};

} // namespace

int main() {
  const auto launch = jit(kernel{});
  buffer<f32> one(4);
  std::vector<buffer<f32>> many;
  const std::vector<buffer<f32>> &fixed = many;
  std::vector<float> loose(4);
  launch(grid(1), fixed, many);
  launch(grid(1), table_of(one, loose, std::span(loose)), std::array{tensor_ref(loose.data(), {4})});
  launch(grid(1), std::vector<std::vector<float>>(2), std::vector<float *>{loose.data()});
#ifdef IMBREX_SHOULD_FAIL
  buffer<f64> wide(4);
  const grid once(1);
  launch(once, one, many); // expect: the kernel's parameter is a table of pointers; pass a range of arrays
  launch(once, 3, many); // expect: the kernel's parameter is a table of pointers; pass a range of arrays
  launch(once, many, fixed); // expect: may write through this parameter, but the argument is const
  launch(once, table_of(wide), many); // expect: elements have another type than the kernel's
  launch(once, many, std::vector<std::vector<i32>>(2)); // expect: elements have another type than the kernel's
  auto mixed = table_of(one, wide); // expect: the arrays of a table have elements of one type
#endif
}
