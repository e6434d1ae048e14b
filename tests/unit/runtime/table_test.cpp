// Tables of pointers, and views that kernels make of pointers, from the launch to the results.

#include "runtime/devices.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

using namespace imbrex;

namespace {

/// Where code for each vendor's GPUs is checked, beside the host and the reference.
std::vector<device> devices() {
  std::vector<device> found;
  for (const char *name : {"host", "interpreter", "emulated:sm_80", "emulated:sm_90a",
                           "emulated:gfx90a", "emulated:gfx1201"})
    if (const auto on = device::try_by_name(name)) found.push_back(*on);
  return found;
}
bool checksAccesses(device on) { return on.name() != "host"; }

/// Row g of each of three groups, plus a number.
struct add_to_groups {
  static constexpr names parameters{"x", "y", "counts"};
  void operator()(table<const i32> x, table<i32> y, ptr<const i32> counts) const {
    auto g = program_id(0);
    auto n = load(counts + g);
    view from(x[g], {n});
    view to(y[g], {n});
    for (auto i : range(0, cdiv(n, 16))) to[box<16>(i)] = from[box<16>(i)] + g;
  }
};

struct add_one_of {
  static constexpr names parameters{"x", "y", "which"};
  void operator()(table<const f32> x, ptr<f32> y, scalar<i32> which) const {
    auto i = arange<0, 4>();
    store(y + i, load(x[which] + i) + 1);
  }
};

std::string messageOf(const result<void> &outcome) {
  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().where().file == __FILE__);
  const std::string text = outcome.error().what();
  return text.substr(text.find(": error: ") + 9);
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> made(count);
  std::iota(made.begin(), made.end(), 1.0F);
  return made;
}

} // namespace

TEST_CASE("each group is reached through its own pointer, with extents of its own") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(add_to_groups{}, {.on = on});
    const std::vector<i32> counts{40, 0, 7};
    std::vector<buffer<i32>> x, y;
    for (const i32 count : counts) {
      x.emplace_back(count).fill(count);
      y.emplace_back(count + 1).fill(-1);
    }
    kernel(grid(3), x, y, counts);
    for (std::size_t g = 0; g < 3; ++g) {
      for (std::int64_t i = 0; i < counts[g]; ++i)
        CHECK(y[g][i] == counts[g] + static_cast<i32>(g));
      CHECK(y[g][counts[g]] == -1);
    }
  }
}

TEST_CASE("a table takes whatever a pointer takes, one by one or as a range") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(add_to_groups{}, {.on = on});
    const std::vector<i32> counts{4, 4, 4};
    buffer<i32> own(4);
    own.fill(10);
    const std::vector<i32> loose(4, 20);
    const std::array<i32, 6> fixed{0, 30, 30, 30, 30, 0};
    std::vector<i32> out(12, -1);
    const std::array parts{tensor_ref(out.data() + 8, {4}), tensor_ref(out.data(), {4}),
                           tensor_ref(out.data() + 4, {4})};
    kernel(grid(3), table_of(own, loose, std::span(fixed).subspan(1, 4)), parts, counts);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(out[i] == 21);
      CHECK(out[i + 4] == 32);
      CHECK(out[i + 8] == 10);
    }
    std::vector<std::vector<i32>> to(3, std::vector<i32>(4));
    kernel(grid(3), std::vector<std::vector<i32>>(3, std::vector<i32>(4, 5)), to, counts);
    CHECK(to[2] == std::vector<i32>{7, 7, 7, 7});
  }
}

TEST_CASE("arrays of a table may be the same, and overlap what other parameters have") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(
        [](table<const i32> x, table<i32> y, ptr<i32> p) {
          var sum = 0;
          for (auto g : range(0, cast<i32>(x.size()))) {
            sum += load(x[g]);
            store(y[g], sum); // which the next trip reads
            sum += load(p);
          }
          store(p, sum);
        },
        {.on = on});
    std::vector<i32> memory{1, 2, 3};
    const auto at = [&](std::size_t i) { return std::span(memory).subspan(i, 1); };
    kernel(grid(1), table_of(at(0), at(1), at(0)), table_of(at(1), at(0), at(2)), at(2));
    std::vector<i32> meant{1, 2, 3};
    i32 sum = 0;
    const std::array<std::size_t, 3> x{0, 1, 0}, y{1, 0, 2};
    for (std::size_t g = 0; g < 3; ++g) {
      sum += meant[x[g]];
      meant[y[g]] = sum;
      sum += meant[2];
    }
    meant[2] = sum;
    CHECK(memory == meant);
  }
}

TEST_CASE(
    "what was read through a table before another of its pointers was written keeps its value") {
  // In place, each number into the next place, as if the whole tile were read before any is
  // written.
  const auto shift = [](const auto &from, const auto &to) {
    view<const i32, 1> x(from, {100});
    view<i32, 1> y(to, {100});
    y[box_at<128>(1)] = x[box<128>(0)];
  };
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto of_one = jit([&](table<i32> t) { shift(t[0], t[1]); }, {.on = on});
    auto of_two = jit([&](table<const i32> t, table<i32> u) { shift(t[0], u[0]); }, {.on = on});
    auto of_other = jit([&](table<const i32> t, ptr<i32> p) { shift(t[0], p); }, {.on = on});
    std::vector<i32> memory(100), shifted(100);
    std::iota(memory.begin(), memory.end(), 0);
    const std::vector<i32> first = memory;
    std::iota(shifted.begin() + 1, shifted.end(), 0);
    of_one(grid(1), table_of(memory, memory));
    CHECK(memory == shifted);
    memory = first;
    of_two(grid(1), table_of(memory), table_of(memory));
    CHECK(memory == shifted);
    memory = first;
    of_other(grid(1), table_of(memory), memory);
    CHECK(memory == shifted);
  }
}

TEST_CASE("a pipelined loop reads through a table what it wrote through another in time") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(
        [](table<const f32> x, table<f32> y, scalar<i32> rows) {
          view from(x[0], {rows, 64});
          view to(y[0], {rows, 64});
          for (auto k : range(0, rows - 1).pipelined(3))
            to[box<1, 64>(k + 1, 0)] = from[box<1, 64>(k, 0)] * 2;
        },
        {.on = on});
    buffer<f32> apart(6, 64), same(6, 64);
    apart.fill(1);
    same.fill(1);
    kernel(grid(1), table_of(same), table_of(same), 6);
    CHECK(same(5, 63) == 32); // each row is made of the one before
    buffer<f32> out(6, 64);
    out.fill(0);
    kernel(grid(1), table_of(apart), table_of(out), 6);
    CHECK(out(5, 63) == 2);
  }
}

TEST_CASE("loads through a table run ahead in a loop, and give what they should") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(
        [](table<const f32> x, ptr<f32> y, ptr<const i32> blocks) {
          auto g = program_id(0);
          auto count = load(blocks + g);
          view from(x[g], {count * 8, 32}); // whose rows are known to be of whole 16 bytes
          var acc = zeros<f32, 8, 32>();
          for (auto k : range(0, count).pipelined(3)) acc += from[box<8, 32>(k, 0)];
          store(y + g, sum(acc));
        },
        {.on = on});
    std::vector<buffer<f32>> x;
    for (const int blocks : {5, 1, 0, 3}) x.emplace_back(8 * blocks, 32).fill(0.5);
    std::vector<float> y(4, -1);
    kernel(grid(4), x, y, std::vector<i32>{5, 1, 0, 3});
    CHECK(y == std::vector<float>{640, 128, 0, 384});
  }
}

TEST_CASE("a view that is made of a pointer has extents, strides, ends and padding") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(
        [](view<const f32, 2> a, ptr<f32> y, scalar<i32> n) {
          // Every second column from the second on.
          view<const f32, 2> part(a.data() + 1, {a.extent(0), n}, {a.stride(0), 2});
          auto i = arange<0, 8>();
          auto j = arange<0, 4>();
          auto to = y + expand<1>(i) * 4 + expand<0>(j);
          store(to, part[box<8, 4>(0, 0).pad(-1)]);
          store(to + 32, part[box_at<8, 4>(1, -1).within(2, 2).pad_nan()]);
          store(y + 64, cast<f32>(part.extent(0) * 100 + part.stride(0) * 10 + part.stride(1)));
          store(y + 65, load(part.data()));
          view flat(y, {2, 3, 11});
          store(y + 66, cast<f32>(flat.stride(0) * 1000 + flat.stride(1) * 10 + flat.stride(2)));
        },
        {.on = on});
    const std::vector<float> x = numbers(3 * 8);
    std::vector<float> y(67);
    kernel(grid(1), tensor_ref(x.data(), {3, 8}), y, 3);
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        const bool isIn = i < 3 && j < 3;
        CHECK(y[4 * i + j] == (isIn ? x[8 * i + 2 * j + 1] : -1));
        const bool isWithin = i == 0 && (j == 1 || j == 2);
        const float got = y[32 + 4 * i + j];
        if (isWithin)
          CHECK(got == x[8 * (i + 1) + 2 * (j - 1) + 1]);
        else
          CHECK(got != got);
      }
    CHECK(y[64] == 300 + 80 + 2);
    CHECK(y[65] == 2);
    CHECK(y[66] == 33 * 1000 + 11 * 10 + 1);
  }
}

TEST_CASE("boxes of views that are made are written, added to, and met by atomics") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(
        [](table<f32> y, scalar<i32> rows) {
          view c(y[program_id(0)], {rows, 5});
          c[box<4, 8>(0, 0)] = 1;
          c[box<4, 8>(0, 0)] += 2.5;
          c[box_at<2, 2>(rows - 1, 4)] *= 2;
          atomic_add(c.data() + 1, 10);
        },
        {.on = on});
    std::vector<buffer<f32>> y;
    y.emplace_back(3, 5).fill(0);
    y.emplace_back(3, 5).fill(0);
    kernel(grid(2), y, 3);
    for (const buffer<f32> &one : y)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 5; ++j)
          CHECK(one(i, j) == 3.5 * (i == 2 && j == 4 ? 2 : 1) + (i == 0 && j == 1 ? 10 : 0));
  }
}

TEST_CASE("pointers of tables are kept in variables, and chosen between") {
  for (const device on : devices()) {
    CAPTURE(on.name());
    auto kernel = jit(
        [](table<f32> y, scalar<i32> n) {
          var p = ptr<f32>(y[0]);
          for (auto g : range(0, n)) {
            ptr<f32> next = where(g % 2 == 0, y[1] + g, y[0] + g);
            store(next, load(p) + 1);
            p = next;
          }
        },
        {.on = on});
    std::vector<std::vector<float>> y(2, std::vector<float>(6));
    kernel(grid(1), y, 6);
    CHECK(y[0] == std::vector<float>{0, 2, 0, 4, 0, 6});
    CHECK(y[1] == std::vector<float>{1, 0, 3, 0, 5, 0});
  }
}

TEST_CASE("an access that leaves what its pointer leads to is found, with the pointer's number") {
  // Both in one array, so that what lies behind the first is the second.
  std::vector<float> memory = numbers(8), y(4);
  const std::array parts{tensor_ref(memory.data(), {3}), tensor_ref(memory.data() + 3, {4})};
  for (const device on : devices()) {
    if (!checksAccesses(on)) continue;
    CAPTURE(on.name());
    auto kernel = jit(add_one_of{}, {.on = on});
    kernel(grid(1), parts, y, 1);
    CHECK(y == std::vector<float>{5, 6, 7, 8});
    const std::string text = messageOf(kernel.try_launch(grid(1), parts, y, 0));
    const bool isWhole = on.name() == "interpreter";
    CHECK_MESSAGE(text.find(isWhole ? "of 'x[0]', which ends 4 bytes past its 12 bytes and lies in "
                                      "'x[1]'"
                                    : "of 'x[0]', which has 12 bytes") != std::string::npos,
                  text);
  }
}

TEST_CASE("nothing is reached through a null pointer of a table") {
  for (const device on : devices()) {
    if (!checksAccesses(on)) continue;
    CAPTURE(on.name());
    auto kernel = jit(add_one_of{}, {.on = on});
    const std::vector<std::vector<float>> x{numbers(4), {}};
    std::vector<float> y(4);
    for (const int which : {-1, 1, 2, 1 << 30}) {
      const std::string text = messageOf(kernel.try_launch(grid(1), x, y, which));
      CAPTURE(which);
      CHECK_MESSAGE(text.find("null pointer") != std::string::npos, text);
      CHECK_MESSAGE(text.find("'x") != std::string::npos, text);
    }
  }
}

TEST_CASE("what is wrong with an array of a table is said with its number") {
  auto kernel = jit(add_one_of{}, {.on = device::interpreter()});
  std::vector<float> x = numbers(4), y(4);
  CHECK(
      messageOf(kernel.try_launch(grid(1), std::vector<const float *>{x.data(), nullptr}, y, 0)) ==
      "the argument 'x[1]' is a null pointer\n"
      "  hint: pass memory of as many elements as the kernel touches, such as a buffer");
  const auto *odd = reinterpret_cast<const float *>(reinterpret_cast<const char *>(x.data()) + 1);
  CHECK(messageOf(kernel.try_launch(grid(1), table_of(x, x, tensor_ref(odd, {1})), y, 0)) ==
        "the argument 'x[2]' is not aligned to 4 bytes\n"
        "  hint: its first element must lie at a multiple of an element's size");
  kernel(grid(1), std::vector<const float *>{x.data()}, y, 0); // for which memory is memory
  CHECK(y[3] == 5);
  const auto emulated = device::try_by_name("emulated:sm_90a");
  if (!emulated) return;
  const std::string text = messageOf(kernel.try_launch(stream_ref(*emulated), grid(1),
                                                       std::vector<const float *>{x.data()}, y, 0));
  CHECK_MESSAGE(text.find("the argument 'x[0]' is a bare pointer") == 0, text);
}

TEST_CASE("memory behind a table that nothing has set is not read") {
  for (const char *name : {"interpreter", "emulated:sm_90a", "emulated:gfx942"}) {
    const auto on = device::try_by_name(name);
    if (!on) continue;
    auto kernel = jit(add_one_of{}, {.on = *on});
    std::vector<buffer<f32>> x;
    x.emplace_back(4).fill(1);
    x.emplace_back(4);
    std::vector<float> y(4);
    kernel(grid(1), x, y, 0);
    const std::string code(kernel.try_launch(grid(1), x, y, 1).error().code());
    CHECK(code.ends_with("Unwritten" + std::string(code == "UnwrittenRead" ? "Read" : "")));
  }
}

TEST_CASE("blocks that meet in memory behind a table race") {
  for (const char *name : {"interpreter", "emulated:sm_90a"}) {
    const auto on = device::try_by_name(name);
    if (!on) continue;
    auto kernel = jit([](table<i32> y) { store(y[program_id(0)], program_id(0)); }, {.on = *on});
    std::vector<i32> one(1), other(1);
    kernel(grid(2), table_of(one, other));
    CHECK(other[0] == 1);
    const std::string code(kernel.try_launch(grid(2), table_of(one, one)).error().code());
    CHECK(code.find("BlocksRace") != std::string::npos);
  }
}

TEST_CASE("a kernel may require of a table how many pointers it has") {
  auto kernel = jit(
      [](table<i32> y, scalar<i32> n) {
        require(cast<i32>(y.size()) >= n, "there is a pointer for each group");
        store(y[n - 1], n);
      },
      {.on = device::interpreter()});
  std::vector<i32> one(1), other(1);
  kernel(grid(1), table_of(one, other), 2);
  CHECK(other[0] == 2);
  const std::string text = messageOf(kernel.try_launch(grid(1), table_of(one, other), 3));
  CHECK_MESSAGE(text.find("it asks for p0.size() >= p1, and p0.size() is 2, p1 is 3") !=
                    std::string::npos,
                text);
}

TEST_CASE("a table may have no pointers, and very many") {
  auto kernel = jit(
      [](table<i32> y) {
        auto g = program_id(0);
        IMBREX_IF(g < cast<i32>(y.size())) { store(y[g], g); }
      },
      {.on = device::host()});
  kernel(grid(4), std::vector<std::vector<i32>>());
  std::vector<std::vector<i32>> many(70'000, std::vector<i32>(1));
  kernel(grid(70'000), many);
  CHECK(many.back()[0] == 69'999);
  const auto emulated = device::try_by_name("emulated:sm_90a");
  if (!emulated) return;
  // More than have marks of their own.
  kernel(stream_ref(*emulated), grid(4), std::vector<std::vector<i32>>());
  kernel(stream_ref(*emulated), grid(70), many);
  auto last = jit([](table<i32> y) { store(y[y.size() - 1 - cast<i64>(program_id(0))], 5); },
                  {.on = *emulated});
  last(grid(2), many);
  CHECK(many.back()[0] == 5);
  CHECK(many[69'998][0] == 5);
}
