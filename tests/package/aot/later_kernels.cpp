// The next version of a kernel, in a library of its own that a program links beside the first.
#include <imbrex/generator.hpp>

IMBREX_KERNEL(add, [](imbrex::view<const float, 1> a, imbrex::view<const float, 1> b,
                      imbrex::view<float, 1> c) {
  const auto here = imbrex::box<512>(imbrex::program_id(0));
  c[here] = a[here] + b[here] + 1.0f;
});
