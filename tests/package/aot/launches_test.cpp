#include "app.hpp"
#include "backend/package/archive/assumed.h"
#include "dsl/traced_kernel.h"
#include "kernels.h"
#include "tests/package/aot/checks.h"
#include "tests/run/runtime/played_gpu.h"
#include "tests/support/ending_thread.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

/// Launches of a library of kernels on the processor and through a fake driver, whose results the
/// emulator makes of the very code that the driver was handed (CMakeLists.txt compiles this once
/// for each vendor).
namespace imbrex::aot_tests {
namespace {

using aot::array;
using aot::device_buffer;
using aot::memory;
using aot::status;
using aot::stream_ref;
namespace kernels = aot_kernels;

[[maybe_unused]] const int isSet = setenv(FAKE_VARIABLE, FAKE_DRIVER, 1);

constexpr stream_ref kGpu = FAKE_IS_CUDA ? stream_ref::cuda() : stream_ref::hip();

/// A fake driver of two devices, the first of which plays a kernel of the library.
struct Fake {
  explicit Fake(traced_kernel recorded)
      : Fake(std::move(recorded), [](const analysis::Assumptions &) { return true; }) {}
  /// Which is to run the code that assumes this, and no other.
  Fake(traced_kernel recorded, bool (*isWanted)(const analysis::Assumptions &))
      : kernel(std::move(recorded)), driver(testing::freshDriver(FAKE_DRIVER)),
        played(driver, irOf(kernel), machine(), wanted(irOf(kernel), isWanted)) {
    driver.isa = FAKE_ISA;
    driver.devices = 2;
    const auto play = driver.device;
    driver.device = [this, play](const fake::SeenLaunch &launch) {
      launches.push_back(launch);
      return play(launch);
    };
  }
  std::int64_t calls(const char *member) const { return std::ranges::count(driver.calls, member); }

  traced_kernel kernel;
  fake::State &driver;
  testing::PlayedGpu played;
  std::vector<fake::SeenLaunch> launches;

private:
  static const machine::Machine &machine() { return *machine::findMachine(FAKE_MACHINE); }
  static std::vector<analysis::Assumptions>
  wanted(const ir::Kernel &kernel, bool (*isWanted)(const analysis::Assumptions &)) {
    std::vector<analysis::Assumptions> assumed = archive::assumedOnGpu(kernel, machine());
    std::erase_if(assumed, [&](const analysis::Assumptions &one) { return !isWanted(one); });
    return assumed;
  }
};

template <class T>
std::vector<T> random(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<float> values(-2, 2);
  std::vector<T> made;
  for (std::size_t i = 0; i < size; ++i) made.push_back(T(values(generator)));
  return made;
}

template <class T>
device_buffer<T> on(const stream_ref &stream, const std::vector<T> &values) {
  device_buffer<T> made;
  const aot::status came = made.make(stream, values);
  REQUIRE_MESSAGE(came.ok(), std::string(came.message()));
  return made;
}

/// What an earlier launch may have left on the stack is overwritten: none may lead there.
[[gnu::noinline]] void scribble() {
  std::array<volatile std::uint64_t, 1 << 14> over;
  for (volatile std::uint64_t &word : over) word = 0xdead;
}

template <class T>
std::vector<T> contentOf(const device_buffer<T> &buffer) {
  std::vector<T> content(static_cast<std::size_t>(buffer.size()));
  REQUIRE(buffer.copy_to(content).ok());
  return content;
}

} // namespace

TEST_CASE("a library's kernel gives on the host the bits that jit gives") {
  for (const std::int64_t n : {1, 7, 1024, 5000}) {
    CAPTURE(n);
    const auto size = static_cast<std::size_t>(n);
    const std::vector<f32> a = random<f32>(size, 1), b = random<f32>(size, 2);
    std::vector<f32> here(size), there(size);
    check(app::add(stream_ref::host(), cdiv(n, 1024), a, b, here));
    jit(kernels::add{}, {.on = device::host()})(grid(cdiv(n, 1024)), a, b, there);
    CHECK(here == there);
    check(app::scale(stream_ref::host(), cdiv(n, 256), a, here, static_cast<i32>(n), 3.0f, f16(0.5),
                     true, -7));
    jit(kernels::scale{}, {.on = device::host()})(grid(cdiv(n, 256)), a, there, static_cast<i32>(n),
                                                  3.0f, f16(0.5), true, i64{-7});
    CHECK(here == there);
  }
  for (const auto &[rows, columns] : {std::pair{3, 128}, {8, 100}, {5, 1}}) {
    const std::vector<f32> x = random<f32>(static_cast<std::size_t>(rows * columns), 3);
    std::vector<f32> here(x.size()), there(x.size());
    check(app::softmax(stream_ref::host(), cdiv(rows, 4),
                       array<const f32, 2>(x.data(), {rows, columns}),
                       array<f32, 2>(here.data(), {rows, columns})));
    jit(kernels::softmax{}, {.on = device::host()})(grid(cdiv(rows, 4)),
                                                    tensor_ref(x.data(), {rows, columns}),
                                                    tensor_ref(there.data(), {rows, columns}));
    CHECK(here == there);
  }
}

TEST_CASE("a launch on the host may overlap itself") {
  std::vector<f32> x = random<f32>(3000, 4), expected = x;
  // Every second element, and in place.
  const array<f32, 1> second(x.data(), {1500}, {2});
  check(app::add(stream_ref::host(), 2, second, second, second));
  for (std::size_t i = 0; i < expected.size(); i += 2) expected[i] += expected[i];
  CHECK(x == expected);
  // One place further: a block reads its tiles before it writes one.
  constexpr std::size_t kBlock = 1024;
  const array<f32, 1> here(x.data(), {kBlock}), behind(x.data() + 1, {kBlock});
  check(app::add(stream_ref::host(), 1, here, here, behind));
  for (std::size_t i = 0; i < kBlock; ++i) CHECK(x[i + 1] == 2 * expected[i]);
}

TEST_CASE("what overlaps on a GPU runs other code, unless it is only read") {
  Fake fake(trace(kernels::add{}));
  const auto a = on(kGpu, random<f32>(2048, 1)), c = on(kGpu, std::vector<f32>(2048));
  const auto all = [](const device_buffer<f32> &of) {
    return array<f32, 1>(of.data(), {of.size()});
  };
  const auto imageOf = [&](const array<f32, 1> &x, const array<f32, 1> &y, const array<f32, 1> &z) {
    const status came = app::add(kGpu, 2, x, y, z);
    CHECK(fake.played.problem() == "");
    check(came);
    return fake.launches.back().image;
  };
  const std::vector<f32> before = contentOf(a);
  const auto b = on(kGpu, before);
  const std::string usual = imageOf(all(a), all(b), all(c));
  CHECK(imageOf(all(a), all(a), all(c)) == usual);
  imageOf(all(a), all(b), all(a)); // in place
  const std::vector<f32> after = contentOf(a);
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == 2 * before[i]);
}

TEST_CASE("numbers arrive as they are, on the host and on a GPU") {
  const std::vector<f64> expected{1, -8, 200, -30000, 60000, 4e9, -9e15, 1.8e19, 0.5, 448, 1e-300};
  const auto launch = [&](const stream_ref &stream, const array<f64, 1> &out) {
    return app::numbers(stream, 1, true, -8, 200, -30000, 60000, 4000000000U, -9000000000000000,
                        18000000000000000000U, bf16(0.5), f8e4m3fn(448.0), 1e-300, out);
  };
  std::vector<f64> here(expected.size());
  check(launch(stream_ref::host(), here));
  CHECK(here == expected);
  Fake fake(trace(kernels::numbers{}));
  const auto there = on(kGpu, std::vector<f64>(expected.size()));
  check(launch(kGpu, array<f64, 1>(there.data(), {there.size()})));
  CHECK(fake.played.problem() == "");
  CHECK(contentOf(there) == expected);
}

TEST_CASE("a launch runs the code that assumes most of what it keeps") {
  Fake fake(trace(kernels::add{}));
  std::vector<std::string> images;
  const auto a = on(kGpu, random<f32>(3000, 1)), b = on(kGpu, random<f32>(3000, 2));
  const auto c = on(kGpu, std::vector<f32>(3000));
  const auto addOf = [&](std::int64_t first, std::int64_t size, std::int64_t step) {
    const auto part = [&](const device_buffer<f32> &of) {
      return array<f32, 1>(of.data() + first, {size}, {step});
    };
    check(app::add(kGpu, cdiv(size, 1024), part(a), part(b), part(c)));
    CHECK(fake.played.problem() == "");
    images.push_back(fake.launches.back().image);
    const std::vector<f32> one = contentOf(a), other = contentOf(b), sum = contentOf(c);
    for (std::int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(first + i * step);
      CHECK(sum[at] == one[at] + other[at]);
    }
  };
  addOf(0, 2048, 1); // all that is usual
  addOf(0, 2047, 1); // sizes that divide nothing
  addOf(1, 2047, 1); // addresses that do not either
  addOf(0, 1000, 2);
  CHECK(images[0] != images[1]);
  CHECK(images[1] != images[2]);
  CHECK(images[2] == images[3]);
  // Each was loaded once.
  fake.driver.calls.clear();
  addOf(0, 2048, 1);
  addOf(0, 2047, 1);
  CHECK(fake.calls("loadModule") == 0);
}

TEST_CASE("pointers of which nobody knows how far they reach run code that lets them overlap") {
  const auto launch = [](const Fake &fake, const memory<const f32> &from, const memory<f32> &to) {
    check(app::scale(kGpu, 4, from, to, 1000, 2.0f, f16(1.0), false, 5));
    CHECK(fake.played.problem() == "");
    return fake.launches.back().image;
  };
  const auto x = on(kGpu, random<f32>(1000, 1)), y = on(kGpu, std::vector<f32>(1000));
  const Fake known(trace(kernels::scale{}));
  const std::string apart = launch(known, x, y);
  const Fake unknown(trace(kernels::scale{}),
                     [](const analysis::Assumptions &one) { return !one.areDisjoint; });
  CHECK(launch(unknown, x.data(), y.data()) != apart);
  const std::vector<f32> given = contentOf(x), made = contentOf(y);
  for (std::size_t i = 0; i < made.size(); ++i) CHECK(made[i] == given[i] * 2 + 6);
}

TEST_CASE("a product's boxes are described, and what it requires is checked") {
  Fake fake(trace(kernels::product{}, {.warps = 4}));
  for (const auto &[m, n, k] : {std::tuple{64, 64, 64}, {128, 64, 96}, {70, 50, 41}}) {
    CAPTURE(m);
    const std::vector<f16> a = random<f16>(static_cast<std::size_t>(m * k), 1),
                           b = random<f16>(static_cast<std::size_t>(k * n), 2);
    const auto x = on(kGpu, a), y = on(kGpu, b);
    const auto z = on(kGpu, std::vector<f32>(static_cast<std::size_t>(m * n)));
    const aot::status came =
        app::product(kGpu, array<f16, 2>(x.data(), {m, k}), array<f16, 2>(y.data(), {k, n}),
                     array<f32, 2>(z.data(), {m, n}));
    CHECK(fake.played.problem() == "");
    check(came);
    const std::vector<f32> sums = contentOf(z);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l)
          sum += double(a[static_cast<std::size_t>(i * k + l)]) *
                 double(b[static_cast<std::size_t>(l * n + j)]);
        CHECK(sums[static_cast<std::size_t>(i * n + j)] == doctest::Approx(sum).epsilon(1e-4));
      }
    const aot::status unmet =
        app::product(kGpu, array<f16, 2>(x.data(), {m, k - 1}, {k, 1}),
                     array<f16, 2>(y.data(), {k, n}), array<f32, 2>(z.data(), {m, n}));
    CHECK(unmet.code() == IMBREX_UNMET);
    CHECK(std::string(unmet.message()) ==
          "'product' requires a.extent(1) == b.extent(0), and a.extent(1) is " +
              std::to_string(k - 1) + ", b.extent(0) is " + std::to_string(k) +
              ": the rows of b are the columns of a");
  }
}

TEST_CASE("a launch like an earlier one asks a driver for nothing but itself") {
  Fake fake(trace(kernels::add{}));
  const auto a = on(kGpu, random<f32>(2048, 1)), c = on(kGpu, std::vector<f32>(2048));
  const array<f32, 1> from(a.data(), {2048}), to(c.data(), {2048});
  check(app::add(kGpu, 2, from, from, to));
  fake.driver.calls.clear();
  check(app::add(kGpu, 2, from, from, to));
  for (const char *asking : {"pointerFacts", "loadModule", "isCapturing"})
    CHECK(fake.calls(asking) == 0);
  CHECK(fake.calls("launch") == 1);
  check(app::add(kGpu, 1, from, from, to)); // another grid
  CHECK(fake.calls("pointerFacts") > 0);
  CHECK(fake.launches.back().grid[0] == 1);
}

TEST_CASE("a product like an earlier one has the boxes of its own") {
  const Fake fake(trace(kernels::product{}, {.warps = 4}));
  constexpr std::int64_t kMost = 96;
  const auto x = on(kGpu, std::vector<f16>(kMost * kMost, f16(1.0)));
  const auto y = on(kGpu, std::vector<f16>(kMost * kMost, f16(2.0)));
  auto z = on(kGpu, std::vector<f32>(kMost * kMost));
  for (const std::int64_t k : {64, 64, 96, 96, 64}) {
    scribble();
    check(z.copy_from(std::vector<f32>(kMost * kMost)));
    check(app::product(kGpu, array<f16, 2>(x.data(), {64, k}), array<f16, 2>(y.data(), {k, 64}),
                       array<f32, 2>(z.data(), {64, 64})));
    CHECK(fake.played.problem() == "");
    CHECK(contentOf(z).front() == 2.0f * static_cast<f32>(k));
  }
}

TEST_CASE("large arrays beside one of them are launched again") {
  Fake fake(trace(kernels::add{}));
  fake.driver.device = [](const fake::SeenLaunch &) { return 0; }; // their sums are no matter
  // As far from each other as drivers put them.
  constexpr std::int64_t kApart = 2 << 20, kFloats = kApart / 4;
  constexpr int kLaunches = 8;
  const auto all = on(kGpu, std::vector<f32>((kLaunches + 1) * kFloats));
  const auto part = [&](int i) { return array<f32, 1>(all.data() + i * kFloats, {1024}); };
  const auto round = [&] {
    for (int i = 1; i <= kLaunches; ++i) check(app::add(kGpu, 1, part(0), part(i), part(i)));
  };
  round();
  fake.driver.calls.clear();
  round();
  CHECK(fake.calls("launch") == kLaunches);
  // Two may have one place, but not each with another.
  CHECK(fake.calls("pointerFacts") < 3 * kLaunches);
}

TEST_CASE("launches of few arguments in any order give what each alone does") {
  constexpr std::size_t kSize = 512;
  const Fake fake(trace(kernels::scale{}));
  std::vector<f32> few(kSize), other(kSize); // whose results are exact
  std::iota(few.begin(), few.end(), 1.0f);
  std::iota(other.begin(), other.end(), 1000.0f);
  const std::array from{on(kGpu, few), on(kGpu, other)};
  std::array to{on(kGpu, std::vector<f32>(kSize)), on(kGpu, std::vector<f32>(kSize))};
  std::mt19937 generator(5);
  const auto choice = [&](int count) {
    return static_cast<std::size_t>(std::uniform_int_distribution<int>(0, count - 1)(generator));
  };
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const auto &x = from[choice(2)];
    auto &y = to[choice(2)];
    constexpr std::array<int, 4> kCounts{512, 496, 511, 100};
    const int count = kCounts[choice(4)], shift = choice(2) == 0 ? -16 : 32;
    const float factor = choice(2) == 0 ? 0.5f : 3.0f;
    const f16 bias(choice(2) == 0 ? 1.0 : -2.0);
    const bool negate = choice(2) == 0;
    const auto blocks = static_cast<std::int64_t>(1 + choice(2));
    REQUIRE(y.copy_from(std::vector<f32>(kSize, -1)).ok());
    check(app::scale(kGpu, blocks, memory<const f32>(x), y, count, factor, bias, negate, shift));
    REQUIRE(fake.played.problem() == "");
    const std::vector<f32> given = contentOf(x), made = contentOf(y);
    for (std::size_t k = 0; k < kSize; ++k) {
      const float value = given[k] * factor + float(bias) + static_cast<float>(shift);
      const bool isInside = k < 256 * static_cast<std::size_t>(blocks) && std::cmp_less(k, count);
      REQUIRE(made[k] == (!isInside ? -1 : negate ? -value : value));
    }
  }
}

TEST_CASE("what follows from a number is looked at every time") {
  const Fake fake(trace(kernels::tiles{}));
  auto x = on(kGpu, std::vector<f32>(96));
  const array<f32, 1> all(x.data(), {96});
  int before = 0;
  for (const int count : {1, 3, 3, 2}) {
    REQUIRE(x.copy_from(std::vector<f32>(96)).ok());
    fake.driver.calls.clear();
    check(app::tiles(kGpu, all, count));
    CHECK(fake.calls("pointerFacts") == (count == before ? 0 : 1));
    before = count;
    std::vector<f32> expected(96);
    std::fill_n(expected.begin(), 32 * count, static_cast<f32>(count));
    CHECK(contentOf(x) == expected);
  }
  CHECK(app::tiles(kGpu, all, 4).code() == IMBREX_UNMET);
  CHECK(fake.launches.size() == 4);
}

TEST_CASE("a hook sees the beginning and the end of each launch, also of one that is made again") {
  const Fake fake(trace(kernels::add{}));
  std::vector<std::string> seen;
  imbrex_set_launch_hook(
      [](const imbrex_launch *launch, void *own) {
        static_cast<std::vector<std::string> *>(own)->push_back(
            std::string(launch->library) + "." + launch->kernel + " on " +
            std::to_string(launch->on.device) + ": " + std::to_string(launch->status));
      },
      &seen);
  const auto x = on(kGpu, std::vector<f32>(64));
  const array<f32, 1> there(x.data(), {64});
  std::vector<f32> here(64);
  for (int i = 0; i < 2; ++i) check(app::add(kGpu, 1, there, there, there));
  check(app::add(stream_ref::host(), 1, here, here, here));
  CHECK(!app::add(kGpu, 1, there, there, array<f32, 1>(here)).ok());
  CHECK(!app::add(kGpu, -1, there, there, there).ok());
  const imbrex_dltensor wrong{};
  CHECK(app_add_dlpack(&kGpu, nullptr, &wrong, &wrong, &wrong) != IMBREX_OK);
  imbrex_set_launch_hook(nullptr, nullptr);
  check(app::add(stream_ref::host(), 1, here, here, here));
  const std::string gpu = "app.add on " + std::to_string(kGpu.device);
  const auto number = [](imbrex_status status) { return std::to_string(status); };
  CHECK(seen == std::vector<std::string>{gpu + ": -1", gpu + ": 0", gpu + ": -1", gpu + ": 0",
                                         "app.add on 0: -1", "app.add on 0: 0", gpu + ": -1",
                                         gpu + ": " + number(IMBREX_BAD_ARGUMENT), gpu + ": -1",
                                         gpu + ": " + number(IMBREX_BAD_ARGUMENT), gpu + ": -1",
                                         gpu + ": " + number(IMBREX_BAD_ARGUMENT)});
}

TEST_CASE("tables lead to groups of memory, on the host and on a GPU") {
  using aot::promise, aot::table;
  // On the host, also in place.
  std::vector<std::vector<f32>> in{random<f32>(64, 1), random<f32>(64, 2), random<f32>(64, 3)};
  std::vector<f32> first(64), second(64);
  const std::array<const f32 *, 4> from{in[0].data(), in[1].data(), in[2].data(), nullptr};
  const std::array<f32 *, 4> to{first.data(), second.data(), in[2].data(), nullptr};
  const std::vector<std::vector<f32>> before = in;
  check(app::groups(stream_ref::host(), table<const f32>(from.data(), 3), table<f32>(to.data(), 3),
                    50));
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(first[i] == (i < 50 ? before[0][i] + 1 : 0));
    CHECK(second[i] == (i < 50 ? before[1][i] + 1 : 0));
    CHECK(in[2][i] == (i < 50 ? before[2][i] + 1 : before[2][i]));
  }
  const auto refused = app::groups(stream_ref::host(), table<const f32>(from.data(), 3),
                                   table<f32>(to.data(), 2), 50);
  CHECK(refused.code() == IMBREX_UNMET);
  CHECK(std::string(refused.message()) ==
        "'groups' requires from.size() == to.size(), and from.size() is 3, to.size() is 2: each "
        "group has two places");
  CHECK(
      !app::groups(stream_ref::host(), table<const f32>(nullptr, 0), table<f32>(to.data(), 0), 1));
  CHECK(!app::groups(stream_ref::host(), table<const f32>(from.data(), -1),
                     table<f32>(to.data(), -1), 1));
  // On a GPU: once as another code, since nothing is promised.
  Fake fake(trace(kernels::groups{}));
  const auto x = on(kGpu, before[0]), y = on(kGpu, before[1]);
  const auto z = on(kGpu, std::vector<f32>(64)), w = on(kGpu, std::vector<f32>(64));
  const auto sources = on(kGpu, std::vector<const f32 *>{x.data(), y.data(), nullptr});
  const auto places = on(kGpu, std::vector<f32 *>{z.data(), w.data(), nullptr});
  const auto launch = [&](promise kept, int count) {
    return app::groups(kGpu, table<const f32>(sources.data(), 2, kept),
                       table<f32>(places.data(), 2, kept), count);
  };
  for (const int count : {64, 64, 30}) {
    check(launch(promise::aligned_and_apart, count));
    CHECK(fake.played.problem() == "");
    const std::vector<f32> one = contentOf(z), other = contentOf(w);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      CHECK(one[i] == before[0][i] + 1);
      CHECK(other[i] == before[1][i] + 1);
    }
  }
  const std::string usual = fake.launches.back().image;
  CHECK(!launch(promise::none, 30)); // which the GPU of this test does not take for such arguments
  CHECK(fake.launches.back().image != usual);
  CHECK(!launch(promise::aligned, 30));
  CHECK(fake.launches.size() == 5);
}

TEST_CASE("a launch runs the configuration that the first row names that fits it") {
  struct Choice {
    std::int64_t size;
    i32 n;
    bool isOdd;
    int here, there; ///< What it runs on the host, and on a GPU.
  };
  const std::vector<Choice> choices{
      {999, 0, false, 0, 0}, {1000, 0, false, 1, 1}, {1000, 7, true, 1, 1},  {64, 7, false, 4, 0},
      {64, 8, false, 0, 6},  {64, 7, true, 4, 2},    {64, -2, true, 3, 3},   {64, -5, true, 3, 3},
      {64, -6, true, 2, 2},  {64, -1, false, 0, 0},  {500, -3, false, 3, 3}, {502, -3, true, 2, 2},
      {63, -3, true, 2, 2},  {0, 7, true, 4, 2}};
  const auto isOnly = [](const std::vector<f32> &x, int number) {
    return std::ranges::all_of(x, [&](f32 one) { return one == static_cast<f32>(number); });
  };
  for (const Choice &one : choices) {
    CAPTURE(one.size);
    CAPTURE(one.n);
    std::vector<f32> x(static_cast<std::size_t>(one.size), -1.0f);
    check(app::chosen(stream_ref::host(), x, one.n, one.isOdd));
    CHECK(isOnly(x, one.here));
  }
  const auto onGpu = [&](int number, traced_kernel recorded) {
    const Fake fake(std::move(recorded));
    for (const Choice &one : choices) {
      if (one.there != number || one.size == 0) continue;
      CAPTURE(one.size);
      CAPTURE(one.n);
      const auto x = on(kGpu, std::vector<f32>(static_cast<std::size_t>(one.size), -1.0f));
      for (int repeated = 0; repeated < 2; ++repeated) {
        check(app::chosen(kGpu, array<f32, 1>(x.data(), {one.size}), one.n, one.isOdd));
        CHECK(fake.played.problem() == "");
        CHECK(isOnly(contentOf(x), number));
      }
    }
    CHECK(!fake.launches.empty());
  };
  onGpu(0, trace(kernels::chosen<0, 32>{}));
  onGpu(1, trace(kernels::chosen<1, 256>{}, {.warps = 2}));
  onGpu(2, trace(kernels::chosen<2, 64>{}));
  onGpu(3, trace(kernels::chosen<3, 64>{}));
  onGpu(6, trace(kernels::chosen<6, 128>{}));
}

TEST_CASE("another number may be another configuration, of a launch made again too") {
  Fake fake(trace(kernels::chosen<0, 32>{}));
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    return fake.launches.push_back(launch), 0;
  };
  const auto x = on(kGpu, std::vector<f32>(64));
  const array<f32, 1> all(x.data(), {64});
  for (const auto &[n, blocks] : {std::pair{0, 2}, {-3, 1}, {0, 2}, {-3, 1}, {1, 2}, {-2, 1}}) {
    check(app::chosen(kGpu, all, n, false));
    CHECK(fake.launches.back().grid[0] == blocks);
  }
  // Where nothing else follows from it, too. The GPU takes no code but the configuration's.
  const Fake other(trace(kernels::marked<1000>{}));
  for (const int n : {101, 103, 7, 105, 9}) {
    CHECK(app::marked(kGpu, 1, x, n, 0, 0, 0).ok() == (n > 100));
    if (n > 100) CHECK(contentOf(x).front() == 1000.0f + static_cast<f32>(n));
  }
  for (const std::uint64_t large : {11, 13, 9, 15, 7})
    CHECK(app::marked(kGpu, 1, x, 5, large, 0, 0).ok() == (large > 10));
  // Numbers of which no row speaks change in a launch that is kept.
  check(app::marked(kGpu, 1, x, 101, 0, 0, 0.5f));
  other.driver.calls.clear();
  check(app::marked(kGpu, 1, x, 101, 0, 0, 0.25f));
  CHECK(other.calls("pointerFacts") == 0);
  CHECK(contentOf(x).front() == 1101.25f);
}

TEST_CASE("a tuning table knows whole numbers of any kind") {
  struct Numbers {
    std::uint64_t large;
    std::int8_t small;
    bool isTuned;
  };
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  for (const auto &[large, small, isTuned] : {Numbers{9, 0, false},
                                              {10, 0, true},
                                              {kLargest, 0, true},
                                              {kLargest / 2, 0, true},
                                              {0, -1, true},
                                              {0, -3, true},
                                              {0, -4, false},
                                              {0, -128, false},
                                              {0, 127, false}}) {
    CAPTURE(large);
    CAPTURE(static_cast<int>(small));
    std::vector<f32> x(32);
    check(app::marked(stream_ref::host(), 1, x, 5, large, small, 0));
    CHECK(x[0] == (isTuned ? 1005 : 5));
  }
}

TEST_CASE("a hook that one thread sets is not lost while others launch") {
  static std::atomic<int> seen = 0;
  for (int round = 0; round < 50; ++round) {
    seen = 0;
    std::vector<f32> x(64), y(64);
    std::thread launching([&] { check(app::add(stream_ref::host(), 1, x, x, x)); });
    imbrex_set_launch_hook([](const imbrex_launch *, void *) { ++seen; }, nullptr);
    launching.join();
    const int before = seen;
    check(app::add(stream_ref::host(), 1, y, y, y));
    CHECK(seen == before + 2);
    imbrex_set_launch_hook(nullptr, nullptr);
  }
}

TEST_CASE("a thread launches even while its variables are destroyed") {
  const Fake fake(trace(kernels::tiles{}));
  const auto x = on(kGpu, std::vector<f32>(96));
  const array<f32, 1> all(x.data(), {96});
  check(app::tiles(kGpu, all, 2)); // loads
  // Played, a launch would want what the emulator keeps of the thread.
  std::vector<unsigned> blocks;
  fake.driver.device = [&](const fake::SeenLaunch &launch) {
    return blocks.push_back(launch.grid[0]), 0;
  };
  testing::inEndingThread([&] { static_cast<void>(app::tiles(kGpu, all, 1)); },
                          [&] { static_cast<void>(app::tiles(kGpu, all, 3)); });
  CHECK(blocks == std::vector<unsigned>{1, 3});
}

#if FAKE_IS_CUDA
TEST_CASE("a driver that knows of no boxes is given code without them") {
  constexpr stream_ref kBoxless = stream_ref::cuda(9); // opened here first
  const traced_kernel kernel = trace(kernels::product{}, {.warps = 4});
  fake::State &driver = testing::freshDriver(FAKE_BOXLESS);
  driver.isa = FAKE_ISA;
  driver.devices = 10;
  driver.knowsBoxes = false;
  const machine::Machine &machine = *machine::findMachine(FAKE_MACHINE);
  const testing::PlayedGpu played(driver, irOf(kernel), machine,
                                  archive::assumedOnGpu(irOf(kernel), machine));
  setenv(FAKE_VARIABLE, FAKE_BOXLESS, 1);
  const auto x = on(kBoxless, std::vector<f16>(64 * 64, f16(1.0))),
             y = on(kBoxless, std::vector<f16>(64 * 64, f16(2.0)));
  setenv(FAKE_VARIABLE, FAKE_DRIVER, 1);
  const auto z = on(kBoxless, std::vector<f32>(64 * 64));
  const status came =
      app::product(kBoxless, array<f16, 2>(x.data(), {64, 64}), array<f16, 2>(y.data(), {64, 64}),
                   array<f32, 2>(z.data(), {64, 64}));
  CHECK(played.problem() == "");
  check(came);
  CHECK(contentOf(z) == std::vector<f32>(64 * 64, 128.0f));
}
#endif

TEST_CASE("elements that share bytes go by the byte") {
  Fake fake(trace(kernels::halve{}));
  std::vector<u8> x(8 * 32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<u8>(i * 7);
  const auto there = on(kGpu, x);
  const auto y = on(kGpu, std::vector<f32>(8 * 64));
  check(app::halve(kGpu, 1, array<const f4e2m1, 2>(there.data(), {8, 64}),
                   array<f32, 2>(y.data(), {8, 64})));
  CHECK(fake.played.problem() == "");
  std::vector<f32> here(8 * 64);
  check(app::halve(stream_ref::host(), 1, array<const f4e2m1, 2>(x.data(), {8, 64}),
                   array<f32, 2>(here.data(), {8, 64})));
  CHECK(contentOf(y) == here);
}

} // namespace imbrex::aot_tests
