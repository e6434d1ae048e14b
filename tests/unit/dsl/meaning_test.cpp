// What kernels compute, through the whole front end, in the interpreter.

#include "backend/interpret/interpret.h"
#include "backend/passes/construct_ssa.h"
#include "doctest/doctest.h"
#include "dsl/traced_kernel.h"
#include <imbrex/dsl.hpp>

#include <cmath>
#include <vector>

namespace {
using namespace imbrex;

template <class T>
ir::Argument pointer_to(std::vector<T> &memory) {
  ir::Argument argument;
  argument.data = reinterpret_cast<std::byte *>(memory.data());
  argument.bytes = static_cast<std::int64_t>(memory.size() * sizeof(T));
  return argument;
}
ir::Argument number(std::int32_t n) {
  ir::Argument argument;
  argument.scalar = static_cast<std::uint32_t>(n);
  return argument;
}

template <class K>
void run(const K &kernel, const std::vector<ir::Argument> &arguments) {
  ir::Kernel copy = irOf(trace(kernel)).clone();
  Diagnostics diagnostics;
  passes::constructSsa(copy, diagnostics);
  interpret::run(copy, ir::Grid{}, arguments, diagnostics);
  CHECK(diagnostics.render() == "");
}

std::int32_t steps_of(std::int32_t n) {
  std::int32_t total = 0, best = -1;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = i; j > 0; j -= 2) {
      if (j % 3 == 0)
        total += j;
      else if (j % 3 == 1)
        best = total -= j * 2;
      else
        total *= 2;
    }
    if (total > 1000) break;
    total %= 77;
  }
  for (std::int32_t k = n; k > 1;) total ^= k /= 2;
  return n > 2 ? total + best : n * 2;
}

} // namespace

TEST_CASE("variables in nested loops, ifs and whiles end as they would in C++") {
  for (std::int32_t n = 0; n < 24; ++n) {
    CAPTURE(n);
    std::vector<std::int32_t> out(1, -7);
    run(
        [](ptr<i32> p, scalar<i32> count) {
          var total = 0;
          var best = -1;
          for (auto i : range(count)) {
            for (auto j : range(i, 0, -2)) {
              IMBREX_IF(j % 3 == 0) { total += j; }
              IMBREX_ELSE_IF(j % 3 == 1) {
                total -= j * 2;
                best = total;
              }
              IMBREX_ELSE { total *= 2; }
            }
            break_if(total > 1000);
            total %= 77;
          }
          var k = count;
          while_([&] { return k > 1; },
                 [&] {
                   k /= 2;
                   total ^= k;
                 });
          store(p, if_(count > 2, [&] { return total + best; }, [&] { return count * 2; }));
        },
        {pointer_to(out), number(n)});
    CHECK(out[0] == steps_of(n));
  }
}

TEST_CASE("a condition of the host ends a loop or a block, or does not") {
  std::vector<std::int32_t> out(1);
  run(
      [](ptr<i32> p) {
        var trips = 0;
        for (auto i : range(10)) {
          trips += 1;
          break_if(false);
          IMBREX_IF(i == 3) {
            trips += 100;
            break_if(true);
          }
        }
        store(p, trips);
        exit_if(false);
        store(p, trips + 1000);
        exit_if(true);
        store(p, -1);
      },
      {pointer_to(out)});
  CHECK(out[0] == 1104);
}

TEST_CASE("small floats are made of the numbers that C++ cannot be trusted with") {
  CHECK(f16(constants::infinity).bits == 0x7c00);
  CHECK(bf16(-constants::infinity).bits == 0xff80);
  CHECK(f8e5m2(constants::nan).bits == f8e5m2::format.nan);
  CHECK(f8e4m3fn(constants::infinity).bits == f8e4m3fn::format.largest);
}

TEST_CASE("f16 and bf16 of the host are numbers as float is") {
  std::vector<float> out(4, 0.0f);
  std::vector<bf16> half(4);
  run(
      [](ptr<f32> p, ptr<bf16> q) {
        const auto x = cast<f16>(arange<0, 4>());
        const auto twice = bf16(2) * cast<bf16>(x);
        static_assert(std::same_as<decltype(x * f16(2))::element, f16>);
        static_assert(std::same_as<decltype(arange<0, 4>() * f16(2))::element, f32>);
        store(p + arange<0, 4>(), x * f16(0.5) + cast<f32>(twice) + f16(-0.25));
        var v = full<bf16, 4>(bf16(3));
        v = bf16(7);
        store(q + arange<0, 4>(), where(x > f16(1), v, bf16(-constants::infinity)));
      },
      {pointer_to(out), pointer_to(half)});
  CHECK(out == std::vector<float>{-0.25f, 2.25f, 4.75f, 7.25f});
  CHECK(half[1].bits == 0xff80);
  CHECK(half[2].bits == bf16(7).bits);
}

// What compilers warn of is what is tested.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-else"
TEST_CASE("an else belongs to the nearest if, with braces or without") {
  for (std::int32_t n = -1; n < 4; ++n) {
    CAPTURE(n);
    std::vector<std::int32_t> out(2, -7);
    run(
        [](ptr<i32> p, scalar<i32> count) {
          IMBREX_IF(count > 0)
          IMBREX_IF(count > 2) store(p, 1);
          IMBREX_ELSE store(p, 2);
          IMBREX_IF(count > 0) {
            // The braces end this one.
            IMBREX_IF(count > 2) store(p + 1, 1);
          }
          IMBREX_ELSE store(p + 1, 2);
        },
        {pointer_to(out), number(n)});
    CHECK(out[0] == (n > 2 ? 1 : n > 0 ? 2 : -7));
    CHECK(out[1] == (n > 2 ? 1 : n > 0 ? -7 : 2));
  }
}
#pragma GCC diagnostic pop

TEST_CASE("Philox gives the published words, and rand and randn follow from them") {
  std::vector<std::uint32_t> words(4);
  std::vector<float> uniform(8), normal(8);
  run(
      [](ptr<u32> w, ptr<f32> u, ptr<f32> n) {
        auto [a, b, c, d] = randint4x(0, full<i32>(0));
        store(w, a);
        store(w + 1, b);
        store(w + 2, c);
        store(w + 3, d);
        auto i = arange<0, 8>();
        store(u + i, rand(1234, i));
        store(n + i, randn(1234, i));
      },
      {pointer_to(words), pointer_to(uniform), pointer_to(normal)});
  CHECK(words == std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});

  std::vector<std::uint32_t> first(8), second(8);
  run(
      [](ptr<u32> x, ptr<u32> y) {
        auto i = arange<0, 8>();
        auto [a, b, c, d] = randint4x(1234, cast<i64>(i));
        store(x + i, a);
        store(y + i, b);
      },
      {pointer_to(first), pointer_to(second)});
  const auto to_uniform = [](std::uint32_t word) {
    const auto x = static_cast<std::int32_t>(word);
    return static_cast<float>(x < 0 ? -x - 1 : x) * 4.6566127342e-10F;
  };
  for (std::size_t i = 0; i < 8; ++i) {
    const float u1 = to_uniform(first[i]), u2 = to_uniform(second[i]);
    CHECK(uniform[i] == u1);
    CHECK(uniform[i] < 1.0F);
    const double expected = std::sqrt(-2.0 * std::log(std::fmax(u1, 1e-7))) *
                            std::cos(6.283185307179586 * static_cast<double>(u2));
    CHECK(normal[i] == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("a shift by any tile gives 0 or the sign once it reaches the width") {
  std::vector<std::int8_t> left(9), right(9);
  std::vector<std::int32_t> amounts{0, 1, 7, 8, 255, 256, 257, -1, -256};
  run(
      [](ptr<i8> l, ptr<i8> r, ptr<const i32> by) {
        auto i = arange<0, 9>();
        auto n = load(by + i);
        store(l + i, full<i8, 9>(-3) << n);
        store(r + i, full<i8, 9>(-3) >> n);
      },
      {pointer_to(left), pointer_to(right), pointer_to(amounts)});
  CHECK(left == std::vector<std::int8_t>{-3, -6, -128, 0, 0, 0, 0, 0, 0});
  CHECK(right == std::vector<std::int8_t>{-3, -2, -1, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("sorting, choosing and scanning compose as they are documented") {
  std::vector<std::int32_t> in{5, -2, 9, 9, 0, 7, -2, 1}, values(3), indices(3), order(8), sums(8);
  run(
      [](ptr<const i32> p, ptr<i32> v, ptr<i32> w, ptr<i32> o, ptr<i32> s) {
        auto i = arange<0, 8>();
        auto x = load(p + i);
        auto [top, at] = topk<3>(x);
        store(v + arange<0, 3>(), top);
        store(w + arange<0, 3>(), at);
        store(o + i, argsort(x));
        store(s + i, scan<0>(x, 100, [](auto a, auto b) { return a + b; }));
      },
      {pointer_to(in), pointer_to(values), pointer_to(indices), pointer_to(order),
       pointer_to(sums)});
  CHECK(values == std::vector<std::int32_t>{9, 9, 7});
  CHECK(indices == std::vector<std::int32_t>{2, 3, 5});
  CHECK(order == std::vector<std::int32_t>{1, 6, 4, 7, 0, 5, 2, 3});
  CHECK(sums == std::vector<std::int32_t>{100, 105, 103, 112, 121, 121, 128, 126});
}
