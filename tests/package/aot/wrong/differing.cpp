#include <imbrex/generator.hpp>

using imbrex::f32, imbrex::i32, imbrex::view;

template <class T>
struct filled {
  void operator()(view<T, 1> x) const {
    x[imbrex::box<8>(imbrex::program_id(0))] = imbrex::zeros<T, 8>();
  }
  auto blocks(view<T, 1> x) const { return imbrex::cdiv(x.extent(0), 8); }
};
IMBREX_KERNEL_CONFIG(fill, even, filled<f32>{});
IMBREX_KERNEL(fill, filled<f32>{});
IMBREX_KERNEL_CONFIG(none, odd, filled<f32>{});
static const int again = [] {
  IMBREX_KERNEL_CONFIG(fill, even, filled<f32>{});
  return 0;
}();

IMBREX_KERNEL_CONFIG(fill, count, [](view<f32, 1>, view<f32, 1>) {});
IMBREX_KERNEL_CONFIG(fill, type, filled<i32>{});
IMBREX_KERNEL_CONFIG(fill, grid, [](view<f32, 1>) {});
