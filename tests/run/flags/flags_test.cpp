// A program of a user who compiles with -ffast-math, -fno-exceptions and -fno-rtti, and with many
// warnings as errors: infinities reach kernels and arrays, and what gives its errors as values
// needs no exceptions. Without doctest, which wants both.
#include <imbrex/imbrex.hpp>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

using namespace imbrex;

namespace {

int failures = 0;

void check(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}
#define CHECK(...) check(__VA_ARGS__, #__VA_ARGS__)

constexpr std::uint32_t infinite = 0x7f800000;
constexpr std::uint32_t negative = 0x80000000;

/// Floats from memory, so that no compiler sees their values.
float from_bits(std::uint32_t bits) {
  volatile std::uint32_t kept = bits;
  return std::bit_cast<float>(static_cast<std::uint32_t>(kept));
}
std::uint32_t bits_at(const buffer<f32> &memory, int i) {
  return std::bit_cast<std::uint32_t>(memory.data()[i]);
}

/// The largest of a row, -infinity where there is none.
struct largest {
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    var most = full<f32, 16>(-constants::infinity);
    most = max(most.get(), x[box<16>(program_id(0)).pad(-constants::infinity)]);
    y[box<16>(program_id(0))] = where(most > 0.0F, most.get(), -constants::infinity);
  }
};

/// The same with a float of the host, as a value that is known to the run alone.
struct filled {
  float number;
  void operator()(view<f32, 1> y) const { y[box<16>(0)] = full<f32, 16>(number); }
};

struct scaled {
  void operator()(view<f32, 1> y, scalar<f32> factor, scalar<f16> half) const {
    y[box<16>(0)] = full<f32, 16>(factor) + cast<f32>(half);
  }
};

struct wrong {
  void operator()(view<f32, 1> y) const { y[box<16>(0)] = y[box<16>(0)] * 1e300; }
};

void infinities_reach_kernels(device on) {
  buffer<f32> x(8), y(16);
  x.fill(-constants::infinity);
  x[1] = 3;
  x[2] = 0;
  set_element(x[2], -constants::infinity);
  CHECK(bits_at(x, 2) == (infinite | negative));
  set_element(x[2], 2);
  CHECK(x[2] == 2);
  const auto kernel = try_jit(largest{}, {.on = on});
  CHECK(kernel.ok() && kernel->try_launch(grid(1), x, y).ok());
  CHECK(bits_at(y, 0) == (infinite | negative));
  CHECK(bits_at(y, 1) == 0x40400000);
  CHECK(bits_at(y, 15) == (infinite | negative));

  const auto other = try_jit(filled{from_bits(infinite | negative)}, {.on = on});
  CHECK(other.ok() && other->try_launch(grid(1), y).ok());
  CHECK(bits_at(y, 3) == (infinite | negative));

  const auto third = try_jit(scaled{}, {.on = on});
  CHECK(third.ok() && third->try_launch(grid(1), y, constants::infinity, from_bits(infinite)).ok());
  CHECK(bits_at(y, 3) == infinite);
}

void numbers_fit_by_their_bits() {
  buffer<f16> halves(2);
  const std::vector<float> given{from_bits(infinite), from_bits(infinite | negative)};
  halves.copy_from(given);
  CHECK(halves[0].bits == 0x7c00 && halves[1].bits == 0xfc00);
  std::vector<float> back(2);
  halves.copy_to(back);
  CHECK(std::bit_cast<std::uint32_t>(back[1]) == (infinite | negative));
  // Subnormals of a float stay what they are.
  CHECK(detail::element_bits<f64>(from_bits(1)) == std::uint64_t{1023 - 149} << 52);
  CHECK(detail::element_bits<f32>(std::bit_cast<double>(std::uint64_t{1023 - 149} << 52)) == 1);
  CHECK(!detail::fits<f32>(1e300) && detail::fits<f32>(constants::nan));
}

struct copied {
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    y[box<64>(program_id(0))] = x[box<64>(program_id(0))];
  }
};

/// Sizes and indices as containers have them, of any integer type, in braces as well.
void sizes_are_of_any_integers() {
  const std::vector<float> v(100, 3);
  buffer<f32> one(v.size()), braced{v.size()}, two(v.size(), 2U), three(v.size(), 1, short{1});
  buffer<f32> four(2, v.size(), 1U, 1L), five(1, 1, v.size(), 1, 1);
  one.copy_from(v);
  std::size_t count = 0;
  for (std::size_t i = 0; i < v.size(); ++i) count += one[i] == 3 ? 1U : 0U;
  CHECK(count == v.size() && one[99U] == 3 && std::as_const(one)[count - 1] == 3);
  two(count - 1, 1U) = 5;
  CHECK(two(99, 1) == 5 && two.view({v.size(), std::size_t{2}})(count - 1, 1) == 5);
  CHECK(two.view({v.size()}, {std::size_t{2}}).extent(0) == 100);
  CHECK(three.elements() == 100 && four.elements() == 200 && five.elements() == 100);
  const tensor_ref all(v.data(), {v.size()}), every(v.data(), {v.size() / 2}, {std::size_t{2}});
  const tensor_ref known(v.data(), {v.size()}, v.size() * sizeof(float));
  CHECK(all.extent(0) == 100 && every.stride(0) == 2 && known.bytes() == 400);
  const auto kernel = try_jit(copied{});
  CHECK(kernel.ok() && kernel->try_launch(grid(cdiv(v.size(), 64)), all, braced).ok());
  CHECK(braced[99] == 3);
  CHECK(cdiv(v.size(), 64) == 2 && cdiv(64U, 64) == 1 && cdiv(-7, 2) == -3 && cdiv(7, 0UL) == 0);
  CHECK(grid(v.size(), 2U, short{3}).extents()[0] == 100);
}

/// The largest of each row and where it is, the axis kept, of a box with both hints.
struct peaks {
  void operator()(view<const f32, 2> x, view<f32, 2> y, view<i32, 2> at) const {
    auto rows = x[box<4, 8>(0, 0).hint({cache::streaming, eviction::first})];
    auto [most, place] = reduce<1>(
        std::tuple{rows, reshape<1, 8>(arange<0, 8>()) + full<i32, 4, 1>(0)},
        [](auto a, auto i, auto b, auto j) {
          return std::tuple{where(b > a, b, a), where(b > a, j, i)};
        },
        keep_dims);
    y[box<4, 1>(0, 0)] =
        most + reduce<1>(rows, [](auto a, auto b) { return min(a, b); }, keep_dims);
    at[box<4, 1>(0, 0)] = place;
  }
};

void kept_axes_have_one_element() {
  buffer<f32> x(4, 8), y(4, 1);
  buffer<i32> at(4, 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 5 % 8);
  const auto kernel = try_jit(peaks{});
  CHECK(kernel.ok() && kernel->try_launch(grid(1), x, y, at).ok());
  CHECK(y[3] == 7 && at[3] == 3 && x(3, at[3]) == 7);
}

void mistakes_are_values() {
  const auto refused = try_trace(wrong{});
  CHECK(!refused.ok() && refused.error().code() == "LiteralOutOfRange");
  CHECK(!try_jit(wrong{}).ok());
  CHECK(try_trace(largest{}).ok()); // nothing is left of the mistake before
  CHECK(!device::try_by_name("abacus").ok() && device::try_by_name("host").ok());
  buffer<f32> x(8), y(16);
  const auto kernel = try_jit(largest{});
  CHECK(!kernel->try_launch(grid(-1), x, y).ok());
  CHECK(kernel->try_prepare().ok());
}

} // namespace

/// With an argument, a mistake that nothing can catch: the program ends with its text.
int main(int count, char **) {
  if (count > 1) {
    jit(wrong{});
    std::puts("a mistake was passed over");
    return 0;
  }
  for (const device on : {device::host(), device::interpreter()}) infinities_reach_kernels(on);
  numbers_fit_by_their_bits();
  sizes_are_of_any_integers();
  kept_axes_have_one_element();
  mistakes_are_values();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
