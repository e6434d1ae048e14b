#include "app.hpp"
#include "kernels.h"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/played_library.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <utility>

/// Launches of a library of kernels on the processor and through a fake driver.
namespace imbrex::aot_tests {

TEST_CASE("a library's kernel gives on the host the bits that jit gives") {
  for (const std::int64_t n : {1, 7, 1024, 5000}) {
    CAPTURE(n);
    const auto size = static_cast<std::size_t>(n);
    const std::vector<f32> a = random<f32>(size, 1), b = random<f32>(size, 2);
    std::vector<f32> here(size), there(size);
    check(app::add(stream_ref::host(), cdiv(n, 1024), a, b, here));
    jit(aot_kernels::add{}, {.on = device::host()})(grid(cdiv(n, 1024)), a, b, there);
    CHECK(here == there);
    check(app::scale(stream_ref::host(), cdiv(n, 256), a, here, static_cast<i32>(n), 3.0f, f16(0.5),
                     true, -7));
    jit(aot_kernels::scale{}, {.on = device::host()})(
        grid(cdiv(n, 256)), a, there, static_cast<i32>(n), 3.0f, f16(0.5), true, i64{-7});
    CHECK(here == there);
  }
  for (const auto &[rows, columns] : {std::pair{3, 128}, {8, 100}, {5, 1}}) {
    const std::vector<f32> x = random<f32>(static_cast<std::size_t>(rows * columns), 3);
    std::vector<f32> here(x.size()), there(x.size());
    check(app::softmax(stream_ref::host(), cdiv(rows, 4),
                       array<const f32, 2>(x.data(), {rows, columns}),
                       array<f32, 2>(here.data(), {rows, columns})));
    jit(aot_kernels::softmax{}, {.on = device::host()})(grid(cdiv(rows, 4)),
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
  Fake fake(trace(aot_kernels::add{}));
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
  Fake fake(trace(aot_kernels::numbers{}));
  const auto there = on(kGpu, std::vector<f64>(expected.size()));
  check(launch(kGpu, array<f64, 1>(there.data(), {there.size()})));
  CHECK(fake.played.problem() == "");
  CHECK(contentOf(there) == expected);
}

TEST_CASE("a launch runs the code that assumes most of what it keeps") {
  Fake fake(trace(aot_kernels::add{}));
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
  const Fake known(trace(aot_kernels::scale{}));
  const std::string apart = launch(known, x, y);
  const Fake unknown(trace(aot_kernels::scale{}),
                     [](const analysis::Assumptions &one) { return !one.areDisjoint; });
  CHECK(launch(unknown, x.data(), y.data()) != apart);
  const std::vector<f32> given = contentOf(x), made = contentOf(y);
  for (std::size_t i = 0; i < made.size(); ++i) CHECK(made[i] == given[i] * 2 + 6);
}

TEST_CASE("a product's boxes are described, and what it requires is checked") {
  Fake fake(trace(aot_kernels::product{}, {.warps = 4}));
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

TEST_CASE("a hook sees the beginning and the end of each launch, also of one that is made again") {
  const Fake fake(trace(aot_kernels::add{}));
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
  for (int i = 0; i < 3; ++i) check(app::add(kGpu, 1, there, there, there));
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
                                         gpu + ": -1", gpu + ": 0", "app.add on 0: -1",
                                         "app.add on 0: 0", gpu + ": -1",
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
  Fake fake(trace(aot_kernels::groups{}));
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

#if FAKE_IS_CUDA
TEST_CASE("a driver that knows of no boxes is given code without them") {
  constexpr stream_ref kBoxless = stream_ref::cuda(9); // opened here first
  const traced_kernel kernel = trace(aot_kernels::product{}, {.warps = 4});
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
  Fake fake(trace(aot_kernels::halve{}));
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
