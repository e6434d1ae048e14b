// What a launch refuses by the types of its arguments.
#include <imbrex/imbrex.hpp>

#include <string>
#include <vector>

using namespace imbrex;

namespace {

struct kernel {
  void operator()(view<f32, 1> x, ptr<const i32> p, scalar<i32> n, scalar<bool> flag,
                  scalar<f32> factor, view<const f4e2m1, 1> packed) const {
    store(x.data(), where(flag, factor, cast<f32>(load(p) + n + cast<i32>(packed[box<1>(0)]))));
  }
};

} // namespace

int main() {
  const auto launch = jit(kernel{});
  buffer<f32> x(1);
  std::vector<i32> p(1);
  buffer<f4e2m1> packed(1);
  launch(grid(1), x, p, 1, true, 0.5, packed);
#ifdef IMBREX_SHOULD_FAIL
  buffer<f64> wide(1);
  std::vector<f4e2m1> loose(1);
  const buffer<f32> &fixed = x;
  const grid one(1);
  launch(one, wide, p, 1, true, 1, packed); // expect: elements have another type than the kernel's
  launch(one, fixed, p, 1, true, 1, packed); // expect: may write through this parameter, but the argument is const
  launch(one, x.data(), p, 1, true, 1, packed); // expect: a view needs extents; pass tensor_ref
  launch(one, 3.5, p, 1, true, 1, packed); // expect: the kernel's parameter is a view; pass a buffer
  launch(one, x, 3, 1, true, 1, packed); // expect: the kernel's parameter is a pointer; pass a pointer
  launch(one, x, p, 1.5, true, 1, packed); // expect: parameter is an integer, the argument is not
  launch(one, x, p, 1, 1, 1, packed); // expect: parameter is a bool, the argument is not
  launch(one, x, p, 1, true, std::string(), packed); // expect: parameter is a number, the argument is not
  launch(one, x, p, 1, true, 1, loose); // expect: two f4e2m1 share a byte; pass a buffer<f4e2m1>
#endif
}
