#include "large.hpp"

#include <cstdio>
#include <vector>

/// Which configuration launches of two sizes run: compiled once, and linked with two libraries that
/// differ in their tuning tables.
int main() {
  for (const std::size_t size : {10, 1000}) {
    std::vector<float> x(size);
    const auto came = tuned::chosen(imbrex::aot::stream_ref::host(), x, 0, false);
    if (!came) return std::puts(came.message()), 1;
    std::printf("%zu: %g\n", size, x.back());
  }
}
