// The next version of a kernel, in a library of its own that a program links beside the first.
#include <imbrex/generator.hpp>

// What the processor's code calls functions for: it sorts, and has small floats.
IMBREX_KERNEL(order, [](imbrex::view<const float, 1> x, imbrex::view<imbrex::bf16, 1> sorted) {
  const auto here = imbrex::box<128>(0);
  const auto rounded = imbrex::cast<imbrex::bf16>(x[here.pad(1e30f)]);
  sorted[here] = imbrex::sort<0>(rounded);
});

// What is required is computed by functions that no processor has instructions for.
IMBREX_KERNEL(grow, [](imbrex::scalar<float> rate, imbrex::view<float, 1> x) {
  imbrex::require(imbrex::exp(rate) > 0.5f, "it does not shrink by half");
  const auto here = imbrex::box<64>(0);
  x[here] = x[here] * imbrex::exp(rate);
});

IMBREX_KERNEL(add, [](imbrex::view<const float, 1> a, imbrex::view<const float, 1> b,
                      imbrex::view<float, 1> c) {
  // A text that could end a comment, or go on behind it.
  imbrex::require(a.extent(0) == b.extent(0), "see\n#error C:/*\\ \"both\" */ \\");
  const auto here = imbrex::box<512>(imbrex::program_id(0));
  c[here] = a[here] + b[here] + 1.0f;
});
