#include "twice.hpp"

#include <cstdio>
#include <vector>

/// The arguments are files that must be there.
int main(int count, char **files) {
  for (int i = 1; i < count; ++i)
    if (std::FILE *file = std::fopen(files[i], "r"); file == nullptr || std::fclose(file) != 0)
      return 2;
  const std::vector<float> x(100, 1.5f);
  std::vector<float> y(100);
  const auto came = twice::twice(imbrex::aot::stream_ref::host(), 2, x, y);
  if (!came) std::puts(came.message());
  return came && y == std::vector<float>(100, 3.0f) ? 0 : 1;
}
