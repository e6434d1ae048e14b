// An image filter on a real picture: tiles of three axes that overlap, and C++'s own loops, which
// run while the kernel is recorded. Reads roof.ppm, sharpens it, and writes sharpened.ppm.
//
//   y = x + amount · (x - blur(x))

#include "../support.hpp"

#include <array>
#include <fstream>
#include <string>

using namespace imbrex;

constexpr std::array weight{1.0F, 4.0F, 6.0F, 4.0F, 1.0F}; // of neighbours at -2 … 2

// Which of N rows, or columns, from the first one on lie within the picture.
template <int N>
auto inside(const scalar<i32> &first, const scalar<i64> &extent) {
  auto at = first + arange<0, N>();
  return (at >= 0) & (at < extent);
}

struct sharpen {
  static constexpr int rows = 16, columns = 32;

  // A picture has an axis of rows, one of columns, and one of red, green and blue.
  void operator()(view<const u8, 3> x, scalar<f32> amount, view<u8, 3> y) const {
    scalar<i32> top = program_id(0) * rows, left = program_id(1) * columns;
    var blur = zeros<f32, rows, columns, 3>();
    var total = zeros<f32, rows, columns>();
    for (int i = -2; i <= 2; ++i)
      for (int j = -2; j <= 2; ++j) {
        const float w =
            weight[static_cast<std::size_t>(i + 2)] * weight[static_cast<std::size_t>(j + 2)];
        // box_at counts in elements: a neighbour's box is the same one, a few elements further.
        blur += w * cast<f32>(x[box_at<rows, columns, 3>(top + i, left + j, 0)]);
        // Pixels beyond the edge read as zero, and must not count in the average either.
        auto counts = expand<1>(inside<rows>(top + i, x.extent(0))) &
                      expand<0>(inside<columns>(left + j, x.extent(1)));
        total += w * cast<f32>(counts);
      }
    auto here = box_at<rows, columns, 3>(top, left, 0);
    auto pixel = cast<f32>(x[here]);
    // The cast to u8 saturates: what is darker than black is black.
    y[here] = cast<u8>(rint(pixel + amount * (pixel - blur / expand<2>(total))));
  }
};

// The same for one value, in float64.
template <class Picture>
double sharpened(const Picture &x, int height, int width, std::array<int, 3> at, double amount) {
  double blur = 0, total = 0;
  for (int i = std::max(at[0] - 2, 0); i <= std::min(at[0] + 2, height - 1); ++i)
    for (int j = std::max(at[1] - 2, 0); j <= std::min(at[1] + 2, width - 1); ++j) {
      const double w = weight[static_cast<std::size_t>(i - at[0] + 2)] *
                       weight[static_cast<std::size_t>(j - at[1] + 2)];
      blur += w * x(i, j, at[2]);
      total += w;
    }
  const double pixel = x(at[0], at[1], at[2]);
  return std::clamp(pixel + amount * (pixel - blur / total), 0.0, 255.0);
}

int main(int count, char **words) {
  const std::string path = count > 1 ? words[1] : EXAMPLE_FOLDER "/roof.ppm";
  std::ifstream file(path, std::ios::binary);
  std::string format;
  int width = 0, height = 0, white = 0;
  file >> format >> width >> height >> white;
  if (format != "P6" || white != 255) return std::printf("cannot read %s\n", path.c_str()), 1;
  file.get();
  buffer<u8> picture(height, width, 3), result(height, width, 3);
  file.read(reinterpret_cast<char *>(picture.data()), picture.bytes());

  // The interpreter gets a window of the picture: the same memory and strides, smaller extents.
  const int rows = std::min(height, example::size(height, 50));
  const int columns = std::min(width, example::size(width, 70));
  const auto x = picture.view({rows, columns, 3}, {3 * width, 3, 1});
  const auto y = result.view({rows, columns, 3}, {3 * width, 3, 1});
  const float amount = 1.5F;
  auto kernel = jit(sharpen{});
  const grid blocks(cdiv(rows, sharpen::rows), cdiv(columns, sharpen::columns));
  const double milliseconds = example::best_milliseconds([&] { kernel(blocks, x, amount, y); });

  example::max_error error;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      for (int c = 0; c < 3; ++c)
        error.compare(y(i, j, c), sharpened(x, rows, columns, {i, j, c}, amount));
  std::ofstream output("sharpened.ppm", std::ios::binary);
  output << "P6\n" << width << " " << height << "\n255\n";
  output.write(reinterpret_cast<const char *>(result.data()), result.bytes());
  std::printf("sharpened.ppm: %d x %d pixels of %s\n", columns, rows, path.c_str());
  // Half a step of rounding, and a little for float32.
  return example::report(error, 0.501, milliseconds, 25.0 * 2 * 3 * rows * columns, "gflops");
}
