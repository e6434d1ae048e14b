#include "runtime/devices.h"
#include "runtime/grid_limits.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace imbrex;

namespace {

struct add_one {
  static constexpr names parameters{"x", "y", "n"};
  void operator()(view<const i32, 1> x, view<i32, 1> y, scalar<i32> n) const {
    auto here = box<64>(program_id(0));
    y[here] = x[here] + n;
  }
};

struct fill_pointer {
  static constexpr names parameters{"p", "value"};
  void operator()(ptr<f32> p, scalar<f32> value) const { store(p + arange<0, 64>(), value); }
};

struct fill_view {
  void operator()(view<i32, 1> to) const { to[box<64>(program_id(0))] = 0; }
};

struct copy_pointer {
  void operator()(ptr<const i32> from, ptr<i32> to) const {
    store(to + arange<0, 64>(), load(from + arange<0, 64>()));
  }
};

struct transposed {
  static constexpr names parameters{"from", "to"};
  void operator()(view<const i16, 2> from, view<i16, 2> to) const {
    to[box<8, 8>(program_id(1), program_id(0))] =
        permute<1, 0>(from[box<8, 8>(program_id(0), program_id(1))]);
  }
};

struct copy_packed {
  void operator()(view<const f4e2m1, 1> from, view<f4e2m1, 1> to) const {
    to[box<8>(program_id(0))] = from[box<8>(program_id(0))];
  }
};

/// Runs the rest of a test on both devices, one after the other.
const std::vector<device> kBoth{device::host(), device::interpreter()};
constexpr std::string_view kEmulated = "emulated:sm_90a";

/// The message of a launch that fails, without the place, which must be this file.
std::string textOf(const result<void> &outcome) {
  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().where().file == __FILE__);
  const std::string text = outcome.error().what();
  return text.substr(text.find(": error: ") + 9);
}

std::vector<i32> counted(std::size_t n) {
  std::vector<i32> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

} // namespace

TEST_CASE("a kernel runs on whatever is like an array") {
  for (const device on : kBoth) {
    const stream_ref stream(on);
    auto kernel = jit(add_one{});
    buffer<i32> x(100), y(100);
    x.copy_from(counted(100));
    kernel(stream, grid(2), x, y, 5);
    CHECK(y[99] == 104);

    const std::vector<i32> given = counted(100);
    std::vector<i32> taken(100);
    kernel(stream, grid(2), given, taken, 1L);
    CHECK(taken[42] == 43);
    kernel(stream, grid(2), std::span(given).first(10), std::span(taken), 7U);
    CHECK(taken[9] == 16);
    CHECK(taken[10] == 7); // beyond the view: zero, and 7
    kernel(stream, grid(2), tensor_ref(given.data(), {50}, {2}), y.view({50}), std::int8_t{-1});
    CHECK(y[49] == 97);
    CHECK(y[50] == 55);
  }
}

TEST_CASE("a pointer parameter takes pointers and owners") {
  for (const device on : kBoth) {
    auto kernel = jit(fill_pointer{}, {.on = on});
    std::vector<float> values(64);
    kernel(grid(1), values.data(), 1.5);
    CHECK(values[63] == 1.5F);
    kernel(grid(1), values, 2);
    CHECK(values[0] == 2);
    buffer<f32> owned(64);
    kernel(grid(1), owned, f16(0.5));
    CHECK(owned[10] == 0.5F);
  }
}

TEST_CASE("a launch that does not keep what the kernel requires is refused before anything runs") {
  unsigned line = 0;
  const auto transpose = [&](view<const f32, 2> from, view<f32, 2> to, scalar<i32> n) {
    line = __LINE__ + 1;
    require(from.extent(0) == to.extent(1) && from.extent(1) == to.extent(0), "to is from's shape");
    require(n * 2 > 0, "n is positive");
    to[box<8, 8>(0, 0)] = imbrex::transpose(from[box<8, 8>(0, 0)]);
  };
  std::vector<device> devices = kBoth;
  devices.push_back(device::by_name("emulated:sm_90a"));
  for (const device on : devices) {
    const auto kernel = jit(transpose, {.on = on, .trace = {.parameters = {"from", "to", "n"}}});
    buffer<f32> from(3, 7), to(7, 3), other(16, 64);
    from.fill(2);
    other.fill(1);
    CHECK(kernel.try_launch(grid(1), from, to, 1).ok());
    CHECK(to(6, 2) == 2);
    const std::string where =
        "\n  hint: the kernel says so at " + std::string(__FILE__) + ":" + std::to_string(line);
    CHECK(textOf(kernel.try_launch(grid(1), from, other, 1)) ==
          "kernel 'kernel' requires: to is from's shape; it asks for "
          "from.extent(0) == to.extent(1), and from.extent(0) is 3, to.extent(1) is 64" +
              where);
    CHECK(other(0, 0) == 1);
    CHECK(
        textOf(kernel.try_launch(grid(1), from, to, -1))
            .starts_with(
                "kernel 'kernel' requires: n is positive; it asks for (n * 2) > 0, and n is -1\n"));
  }
}

TEST_CASE("a kernel may require what bits an argument has") {
  const auto kernel = jit(
      [](view<i32, 1> y, scalar<f16> h, scalar<i32> n) {
        require(bitcast<u16>(h) < 1024, "h is below the normal numbers");
        require(bitcast<u32>(n) > 0x7fffffffU, "n is negative");
        y[box<1>(0)] = full<i32, 1>(1);
      },
      {.on = device::interpreter()});
  buffer<i32> y(1);
  CHECK(kernel.try_launch(grid(1), y, 0.00005, -1).ok());
  CHECK(y(0) == 1);
  CHECK(textOf(kernel.try_launch(grid(1), y, 1.0, -1)).find("bitcast(p1)") != std::string::npos);
  CHECK(textOf(kernel.try_launch(grid(1), y, 0.00005, 1)).find("and p2 is 1") != std::string::npos);
}

TEST_CASE_TEMPLATE("floats of any width are padded by a number with a fraction", T, f8e4m3fn,
                   f8e5m2fnuz, f4e2m1, e8m0, f16) {
  const auto padded = [](view<const T, 2> x, view<f32, 2> y) {
    y[box<2, 8>(0, 0)] = cast<f32>(x[box<2, 8>(0, 0).pad(0.5)]);
  };
  for (const char *name : {"host", "interpreter", "emulated:sm_90a", "emulated:gfx942"}) {
    CAPTURE(name);
    buffer<T> x(1, 6);
    x.copy_from(std::vector<f32>(6, 2.0f));
    buffer<f32> y(2, 8);
    jit(padded, {.on = device::by_name(name)})(grid(1), x, y);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 8; ++j) CHECK(y(i, j) == (i == 0 && j < 6 ? 2.0f : 0.5f));
  }
}

TEST_CASE_TEMPLATE("memory of floats of any width takes a number with a fraction", T, f8e4m3fn,
                   f8e5m2fnuz, e8m0, f16) {
  const auto halves = [](ptr<const T> from, ptr<T> to, view<T, 1> box_of) {
    auto i = arange<0, 8>();
    store(to + i, load(from + i, i < 6, 0.5));
    store(to + 8, 0.5);
    box_of[box<8>(0)] = 0.5;
  };
  for (const char *name : {"host", "interpreter", "emulated:sm_90a", "emulated:gfx942"}) {
    CAPTURE(name);
    buffer<T> x(6), y(9), z(8);
    x.copy_from(std::vector<f32>(6, 2.0f));
    jit(halves, {.on = device::by_name(name)})(grid(1), x, y, z);
    for (int i = 0; i < 9; ++i) CHECK(float(y(i)) == (i < 6 ? 2.0f : 0.5f));
    for (int i = 0; i < 8; ++i) CHECK(float(z(i)) == 0.5f);
  }
}

TEST_CASE("a box ends where its group does, for what is read and for what is written") {
  // Rows of three groups lie one behind the other; a group's last box reaches into the next.
  const auto doubled = [](view<const i32, 1> ends, view<const i32, 2> x, view<i32, 2> y) {
    auto group = program_id(0);
    auto begin = sum(ends[box<1>(group - 1)]);
    auto end = sum(ends[box<1>(group)]);
    for (auto row : range(begin, end, 4).pipelined(2)) {
      auto v = x[box_at<4, 8>(row, 0).within(end, 5).pad(-1)];
      y[box_at<4, 8>(row, 0).within(end, 6)] = v * 2 + sum(where(v < 0, 1, 0));
    }
  };
  std::vector<device> devices = kBoth;
  devices.push_back(device::by_name("emulated:sm_90a"));
  devices.push_back(device::by_name("emulated:gfx942"));
  const std::vector<i32> ends{3, 3, 10}; // the second group is empty
  for (const device on : devices) {
    CAPTURE(on.name());
    buffer<i32> x(10, 7), y(12, 7);
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 7; ++j) x(i, j) = 10 * i + j;
    y.fill(-9);
    jit(doubled, {.on = on})(grid(3), ends, x, y);
    std::int64_t wrong = 0;
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 7; ++j) {
        const int rows = i < 3 || i >= 7 ? 3 : 4; // of the group, in the box of row i
        const int outside = 4 * 8 - rows * 5;
        const int v = j < 5 ? 10 * i + j : -1;
        const int wanted = i < 10 && j < 6 ? v * 2 + outside : -9;
        if (y(i, j) != wanted) ++wrong;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("strides and extents of several axes arrive") {
  for (const device on : kBoth) {
    auto kernel = jit(transposed{}, {.on = on});
    buffer<i16> from(20, 12), to(12, 20);
    for (int i = 0; i < 240; ++i) from[i] = static_cast<i16>(i);
    kernel(grid(3, 2), from, to);
    for (int row = 0; row < 20; ++row)
      for (int column = 0; column < 12; ++column) CHECK(to(column, row) == from(row, column));
    buffer<i16> again(20, 12);
    kernel(grid(2, 3), to.view({12, 20}), again.view({20, 12}));
    kernel(grid(3, 2), again.view({20, 12}), to.view({12, 20}));
    CHECK(to(11, 19) == 239);
  }
}

TEST_CASE("two f4e2m1 to a byte arrive as they are") {
  for (const device on : kBoth) {
    auto kernel = jit(copy_packed{}, {.on = on});
    buffer<f4e2m1> from(16), to(16);
    std::vector<float> values(16);
    for (int i = 0; i < 16; ++i) values[static_cast<std::size_t>(i)] = i % 3 == 0 ? 6.0F : -0.5F;
    from.copy_from(values);
    kernel(grid(2), from, to);
    CHECK(std::ranges::equal(from, to));
  }
}

TEST_CASE("what is wrong with an argument is said with its name") {
  auto kernel = jit(add_one{}, {.on = device::interpreter()});
  buffer<i32> x(64), y(64), matrix(8, 8);
  CHECK(textOf(kernel.try_launch(grid(1), matrix, y, 1)) ==
        "the argument 'x' has rank 2, but the kernel's view has rank 1\n"
        "  hint: give it the kernel's extents: buffer.view({rows, columns}), or "
        "tensor_ref(pointer, {rows, columns})");
  const std::string without_memory =
      "the argument 'x' is a buffer that owns no memory: it was "
      "made without extents, or moved from\n"
      "  hint: give it extents, as in buffer<f32> x(rows, columns), or "
      "device_buffer<f32> x(stream, {rows, columns})";
  buffer<i32> source(64), none;
  const buffer<i32> taken = std::move(source);
  CHECK(textOf(kernel.try_launch(grid(1), none, y, 1)) == without_memory);
  CHECK(textOf(kernel.try_launch(grid(1), source, y, 1)) == without_memory);
  CHECK(
      textOf(kernel.try_launch(grid(1), x, y, 1LL << 40)) ==
      "the argument 'n' is 1099511627776, which does not fit into i32\n"
      "  hint: pass a number that i32 holds, or let the kernel's parameter be a scalar of another "
      "type");
  CHECK(
      textOf(kernel.try_launch(grid(1), x, y, ~0ULL))
          .starts_with("the argument 'n' is 18446744073709551615, which does not fit into i32\n"));
  CHECK(textOf(kernel.try_launch(grid(1), x, tensor_ref(static_cast<i32 *>(nullptr), {64}), 1)) ==
        "the argument 'y' is a null pointer\n"
        "  hint: pass memory of as many elements as the kernel touches, such as a buffer");
  const auto odd = reinterpret_cast<i32 *>(reinterpret_cast<std::byte *>(y.data()) + 1);
  CHECK(textOf(kernel.try_launch(grid(1), x, tensor_ref(odd, {10}), 1)) ==
        "the argument 'y' is not aligned to 4 bytes\n"
        "  hint: its first element must lie at a multiple of an element's size");
  CHECK(textOf(kernel.try_launch(grid(-1), x, y, 1)) ==
        "the grid has -1 blocks along x\n  hint: a grid has at least 0 blocks along each axis");
  CHECK(textOf(kernel.try_launch(grid(1, 1LL << 31), x, y, 1)) ==
        "the grid has 2147483648 blocks along y, but at most 2147483647 are possible\n"
        "  hint: give each block a larger tile");
  CHECK(textOf(kernel.try_launch(grid(1 << 30, 1 << 30, 1 << 30), x, y, 1)) ==
        "the grid has more blocks than a 64-bit number counts\n"
        "  hint: give each block a larger tile");
  CHECK_THROWS_AS(kernel(grid(1), matrix, y, 1), error);
}

TEST_CASE("a kernel that stores nothing is warned of, once, when it is made") {
  std::vector<std::string> lines;
  set_logger([&](log_level level, std::string_view topic, std::string_view text) {
    if (level == log_level::warn) lines.push_back(std::string(topic) + ": " + std::string(text));
  });
  const std::string line = __FILE__ ":" + std::to_string(__LINE__ + 1);
  const auto idle = jit([](view<const f32, 1> x) { sum(x[box<8>(program_id(0))]); },
                        {.on = device::interpreter(), .trace = {.name = "idle"}});
  buffer<f32> x(8);
  x.fill(1);
  idle(grid(1), x);
  const auto told = std::move(lines);
  lines.clear();
  const auto in_a_loop = [](ptr<i32> p, scalar<i32> n) {
    for (auto k : range(n)) {
      IMBREX_IF(k > 2) { store(p, k); }
    }
  };
  jit(in_a_loop);
  jit([](ptr<i32> p) { atomic_add(p, 1); });
  jit([](scalar<i32> n) { device_print("n", n); });
  jit([](scalar<i32> n) { device_assert(n > 0, "n is positive"); });
  set_logger({});
  CHECK(told ==
        std::vector<std::string>{
            "kernel: " + line +
            ": kernel 'idle' stores nothing, so that a launch of it does "
            "nothing that "
            "can be seen; results leave a kernel by view[box<...>(...)] = x and store(p, x)"});
  CHECK(lines.empty());
}

TEST_CASE("a grid that the GPU cannot launch is refused by its emulation, too") {
  auto kernel = jit(fill_view{}, {.on = device::by_name("emulated:sm_90a")});
  buffer<i32> to(64);
  CHECK(textOf(kernel.try_launch(grid(1, 70000), to)) ==
        "the grid has 70000 blocks along y, but sm_90a takes at most 65535\n"
        "  hint: lay the longest axis along x, or give each block a larger tile");
  CHECK(textOf(kernel.try_launch(grid(1, 1, 65536), to))
            .starts_with("the grid has 65536 blocks along z"));
}

TEST_CASE("what a grid may have depends on the GPU, and on the threads of a block") {
  const auto problem = [](const char *name, ir::Grid grid, std::int32_t threads) {
    return runtime::checkGrid(grid, *machine::findMachine(name), threads, {});
  };
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  CHECK(!problem("sm_80", {{kMost, 65535, 65535}}, 1024));
  CHECK(problem("sm_80", {{1, 1, 65536}}, 32));
  CHECK(!problem("gfx942", {{1, 65536, kMost}}, 256));
  CHECK(!problem("gfx942", {{(1 << 24) - 1, 1, 1}}, 256));
  CHECK(problem("gfx942", {{1 << 24, 1, 1}}, 256));
}

TEST_CASE("a number that a float parameter cannot hold is an error, infinity is not") {
  auto kernel = jit([](ptr<f32> to, scalar<f16> value) { store(to, value); });
  buffer<f32> to(1);
  CHECK(
      textOf(kernel.try_launch(grid(1), to, 1e10)) ==
      "the argument 'p1' is 1e+10, which does not fit into f16\n"
      "  hint: pass a number that f16 holds, or let the kernel's parameter be a scalar of another "
      "type");
  CHECK(textOf(kernel.try_launch(grid(1), to, -70000)).starts_with("the argument 'p1' is -70000"));
  kernel(grid(1), to, 65504);
  CHECK(to[0] == 65504);
  kernel(grid(1), to, std::numeric_limits<double>::infinity());
  CHECK(to[0] == std::numeric_limits<float>::infinity());
}

TEST_CASE("an array made like an mdspan is checked as one") {
  struct strided {
    i32 *first;
    std::int64_t length, step;
    static constexpr std::size_t rank() { return 1; }
    std::int64_t extent(std::size_t) const { return length; }
    std::int64_t stride(std::size_t) const { return step; }
    i32 *data_handle() const { return first; }
  };
  std::vector<i32> values = counted(64);
  std::vector<i32> out(64);
  for (const device on : kBoth) {
    auto kernel = jit(add_one{}, {.on = on});
    kernel(grid(1), strided{values.data(), 32, 2}, out, 0);
    CHECK(out[31] == 62);
    CHECK(out[32] == 0);
    CHECK(textOf(kernel.try_launch(grid(1), strided{values.data(), -3, 1}, out, 0)) ==
          "the argument 'x' has extent -3 along axis 0\n  hint: an extent is at least 0");
    CHECK(textOf(kernel.try_launch(grid(1), strided{values.data(), 3, -1}, out, 0)) ==
          "the argument 'x' has stride -1 along axis 0\n"
          "  hint: a stride is at least 0; copy the array, or flip the tile in the kernel");
    CHECK(
        textOf(kernel.try_launch(grid(1), strided{values.data(), 1LL << 40, 1LL << 40}, out, 0)) ==
        "the argument 'x' has more elements than any memory holds\n"
        "  hint: check its extents and strides; both count elements");
  }
}

TEST_CASE("a grid of no blocks does nothing, also to empty arrays") {
  for (const device on : kBoth) {
    auto kernel = jit(add_one{}, {.on = on});
    const std::vector<i32> given(128, 3);
    std::vector<i32> kept(128, 7);
    kernel(grid(0), given, kept, 1);
    kernel(grid(1, 0, 3), given, kept, 1);
    CHECK(kept == std::vector<i32>(128, 7));
    buffer<i32> none(0);
    kernel(grid(1), none, none, 1);
    std::vector<i32> empty;
    kernel(grid(1), empty, empty, 1);
  }
}

TEST_CASE("the interpreter finds what was never set, also from one launch to the next") {
  auto kernel = jit(add_one{}, {.on = device::interpreter()});
  buffer<i32> fresh(128), half(128);
  CHECK(kernel.try_launch(grid(1), fresh, half, 1).error().code() == "UnwrittenRead");
  fresh.fill(1);
  kernel(grid(1), fresh, half, 1); // sets the first 64
  kernel(grid(1), half.view({64}), fresh, 1);
  CHECK(kernel.try_launch(grid(2), half, fresh, 1).error().code() == "UnwrittenRead");
}

TEST_CASE("an emulated GPU finds what was never set, through views, pointers and const buffers") {
  for (const char *name : {"emulated:sm_90a", "emulated:gfx942"}) {
    const device on = device::by_name(name);
    auto kernel = jit(add_one{}, {.on = on});
    const buffer<i32> fresh(64);
    buffer<i32> half(128), out(128);
    const result<void> outcome = kernel.try_launch(grid(1), fresh, out, 1);
    REQUIRE_FALSE(outcome.ok());
    CHECK(outcome.error().code() == "EmulatedUnwritten");
    CHECK(outcome.error().where().file == __FILE__);

    jit(fill_view{}, {.on = on})(grid(1), half); // sets the first 64
    kernel(grid(1), half.view({64}), out, 1);
    CHECK(kernel.try_launch(grid(2), half, out, 1).error().code() == "EmulatedUnwritten");
    half.fill(1);
    kernel(grid(2), half, out, 1);

    auto copy = jit(copy_pointer{}, {.on = on});
    buffer<i32> unset(64);
    CHECK(copy.try_launch(grid(1), unset, out).error().code() == "EmulatedUnwritten");
    CHECK(out[127] == 2);
  }
}

TEST_CASE("what is compiled for one launcher serves every launcher of the same kernel") {
  for (const device on : kBoth) {
    clear_cache();
    const cache_statistics before = cache_usage();
    CHECK(before.entries == 0);
    buffer<i32> x(64), y(64);
    x.fill(1);
    for (int i = 0; i < 3; ++i) jit(add_one{}, {.on = on})(grid(1), x, y, i);
    CHECK(cache_usage().entries == 1);
    CHECK(cache_usage().misses == before.misses + 1);
    CHECK(cache_usage().hits == before.hits + 2);
  }
}

/// One of each kind that compiles or runs in a way of its own.
std::vector<device> devicesOfEachKind() {
  return {device::host(), device::interpreter(), device::by_name("emulated:sm_90a"),
          device::by_name("emulated:gfx942")};
}

TEST_CASE("each kind of launch is compiled when it is first made, and none before") {
  std::vector<std::string> made;
  set_logger([&](log_level, std::string_view topic, std::string_view text) {
    if (topic == "variant") made.emplace_back(text);
  });
  set_log_filter("none,variant:debug");
  const auto kernel = jit(
      [](view<const f32, 1> from, view<f32, 1> to) { to[box<16>(0)] = from[box<16>(0)] + 2.75F; },
      {.on = device::by_name("emulated:sm_80")});
  alignas(16) std::array<float, 20> from{}, to{};
  const auto launch = [&](std::size_t first) {
    kernel(grid(1), std::span<const float>(from).subspan(first, 16), std::span(to).first(16));
    CHECK(to[15] == 2.75F);
  };
  kernel(grid(0), from, to);
  CHECK(made.empty()); // a grid of no blocks needs no code
  launch(1);
  CHECK(made.size() == 1);
  launch(0);
  CHECK(made.size() == 2);
  launch(3);
  launch(0);
  CHECK(made.size() == 2);
  set_log_filter("warn");
  set_logger({});
}

TEST_CASE("many threads may launch one kernel, the first time too") {
  for (const device on : devicesOfEachKind()) {
    clear_cache();
    auto kernel = jit(add_one{}, {.on = on});
    const cache_statistics before = cache_usage();
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        buffer<i32> x(64), y(64);
        x.fill(t);
        for (int i = 0; i < 20; ++i) {
          kernel(grid(1), x, y, i);
          if (y[63] != t + i) ++wrong;
        }
      });
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(cache_usage().misses == before.misses + 1);
  }
}

TEST_CASE("threads compile, launch, and clear the cache at once, on devices of every kind") {
  const std::vector<device> devices = devicesOfEachKind();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < devices.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 2 * devices.size(); ++i) {
        buffer<i32> x(64), y(64);
        x.fill(1);
        jit(add_one{}, {.on = devices[(t + i) % devices.size()]})(grid(1), x, y, 2);
        if (y[63] != 3) ++wrong;
        clear_cache();
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a stream's device goes before the kernel's, and that before the current one") {
  std::vector<std::string> lines;
  set_logger([&](log_level, std::string_view, std::string_view text) { lines.emplace_back(text); });
  REQUIRE(set_log_filter("info"));
  clear_cache();
  buffer<i32> x(64), y(64);
  x.fill(1);
  const device before = device::current();
  device::set_current(device::interpreter());
  jit(add_one{})(grid(1), x, y, 1);
  jit(add_one{}, {.on = device::host()})(grid(1), x, y, 1);
  clear_cache();
  jit(add_one{}, {.on = device::host()})(stream_ref(device::interpreter()), grid(1), x, y, 1);
  device::set_current(before);
  set_log_filter("");
  set_logger({});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("kernel=add_one device=interpreter ms="));
  CHECK(lines[1].starts_with("kernel=add_one device=host ms="));
  CHECK(lines[2].starts_with("kernel=add_one device=interpreter ms="));
}

TEST_CASE(
    "a bare pointer is an argument where memory is memory, and none of a GPU, emulated or not") {
  std::vector<f32> memory(64);
  const auto fill = jit(fill_pointer{});
  for (const device on : kBoth) {
    fill(stream_ref(on), grid(1), memory.data(), 2.0f);
    CHECK(memory.back() == 2);
  }
  const Result<device> gpu = runtime::findDevice(kEmulated, {});
  if (!gpu) return; // a build without code for it
  const auto refused = fill.try_launch(stream_ref(*gpu), grid(1), memory.data(), 3.0f);
  CHECK(textOf(refused) ==
        "the argument 'p' is a bare pointer to the host's memory, of which nobody knows how "
        "much to copy to emulated:sm_90a\n"
        "  hint: pass a buffer, a span or a tensor_ref; or a pointer to the device's own memory");
  CHECK(memory.back() == 2);
  fill(stream_ref(*gpu), grid(1), tensor_ref(memory.data(), {64}), 3.0f);
  CHECK(memory.back() == 3);
  fill(stream_ref(*gpu), grid(1), memory, 4.0f);
  CHECK(memory.back() == 4);

  std::vector<i32> both(128, 7);
  both.back() = 0;
  jit(copy_pointer{})(stream_ref(*gpu), grid(1), std::as_const(both), both.data() + 64);
  CHECK(both.back() == 7);
}

TEST_CASE("an array with extents is as large as they say, also for a pointer") {
  std::vector<f32> memory(64);
  const auto outcome = jit(fill_pointer{})
                           .try_launch(stream_ref(device::interpreter()), grid(1),
                                       tensor_ref(memory.data(), {32}), 1.0f);
  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().code() == "OutOfBounds");
}

TEST_CASE("a kernel can be compiled before its first launch") {
  clear_cache();
  const auto kernel = jit(add_one{});
  CHECK(cache_usage().entries == 0);
  kernel.prepare(device::host());
  CHECK(cache_usage().entries == 1);
  CHECK(kernel.kernel().name() == "add_one");
}
