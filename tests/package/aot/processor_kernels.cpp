// What code for newer processors multiplies otherwise.
#include <imbrex/generator.hpp>

IMBREX_KERNEL(product, [](imbrex::view<const imbrex::bf16, 2> a,
                          imbrex::view<const imbrex::bf16, 2> b, imbrex::view<float, 2> c) {
  auto [m, n] = imbrex::program_id<2>();
  imbrex::var sums = imbrex::zeros<float, 32, 32>();
  for (auto k : imbrex::range(0, imbrex::cdiv(a.extent(1), 64)))
    sums += imbrex::dot(a[imbrex::box<32, 64>(m, k)], b[imbrex::box<64, 32>(k, n)]);
  c[imbrex::box<32, 32>(m, n)] = sums;
});
