#include "backend/ir/text.h"
#include "doctest/doctest.h"
#include "dsl/traced_kernel.h"
#include <imbrex/dsl.hpp>

#include <thread>
#include <type_traits>
#include <vector>

namespace {
using namespace imbrex;

/// The body of a traced kernel's text, without indentation.
template <class K>
std::string body(const K &kernel, const trace_options &options = {}) {
  const std::string text = trace(kernel, options).text();
  std::string lines;
  bool at_start = false;
  for (const char c : text.substr(text.find('\n') + 1)) {
    if (c == '\n')
      at_start = true;
    else if (c == ' ' && (at_start || lines.empty()))
      continue;
    else
      at_start = false;
    lines += c;
  }
  return lines.substr(0, lines.rfind('}'));
}

template <int N, class F>
struct mapped {
  F f;
  void operator()(ptr<i32> p) const { store(p, f(load(p) + N)); }
};

struct named {
  static constexpr const char *name = "renamed";
  static constexpr names parameters{"out", "value"};
  void operator()(ptr<i32> p, scalar<i32> n) const { store(p, n); }
};

template <class X, class T>
constexpr bool gives = std::same_as<typename detail::operand_t<X>::element, T>;
template <class T>
using four = tile<T, 4>;
template <class A, class B>
using sum_t = decltype(std::declval<A>() + std::declval<B>());
template <class A, class B>
using quotient_t = decltype(std::declval<A>() / std::declval<B>());

// Kinds: bool < integer < float; the wider wins; equally wide integers meet in the unsigned.
static_assert(gives<sum_t<four<i8>, four<i8>>, i8> && gives<sum_t<four<i8>, four<u8>>, u8>);
static_assert(gives<sum_t<four<i32>, four<u16>>, i32> && gives<sum_t<four<u32>, four<i64>>, i64>);
static_assert(gives<sum_t<four<i64>, four<f16>>, f16> && gives<sum_t<four<bf16>, four<f32>>, f32>);
static_assert(gives<sum_t<four<bool>, four<bool>>, i32> && gives<sum_t<four<f64>, four<f32>>, f64>);
// Quotients of halves are f32, of integers integers.
static_assert(gives<quotient_t<four<f16>, four<f16>>, f32> &&
              gives<quotient_t<four<bf16>, int>, f32>);
static_assert(gives<quotient_t<four<i32>, four<i8>>, i32> &&
              gives<quotient_t<four<f64>, int>, f64>);
// A literal takes the tile's type unless its kind is later.
static_assert(gives<sum_t<four<f32>, double>, f32> && gives<sum_t<four<i8>, int>, i8>);
static_assert(gives<sum_t<four<i32>, double>, f32> && gives<sum_t<four<f16>, int>, f16>);
static_assert(gives<sum_t<four<bool>, int>, i32> && gives<sum_t<std::int64_t, four<i32>>, i32>);

template <class X>
using summed = typename decltype(sum(std::declval<four<X>>()))::element;
template <class X>
using largest = typename decltype(max(std::declval<four<X>>()))::element;
static_assert(std::same_as<summed<i8>, i32> && std::same_as<summed<u16>, u32>);
static_assert(std::same_as<summed<bool>, i32> && std::same_as<summed<f16>, f32>);
static_assert(std::same_as<summed<i64>, i64> && std::same_as<summed<f64>, f64>);
static_assert(std::same_as<largest<bf16>, f32> && std::same_as<largest<f16>, f16>);
static_assert(std::same_as<largest<u8>, u32> && std::same_as<largest<i64>, i64>);

static_assert(cdiv(7, 2) == 4 && cdiv(-7, 2) == -3 && cdiv(8, 4) == 2 && cdiv(1, 0) == 0);

} // namespace

TEST_CASE("a product and a sum in one expression become one fma, in all four forms") {
  const auto form = [](auto f) {
    return body(
        [f](ptr<f32> p, scalar<f32> a, scalar<f32> b, scalar<f32> c) { store(p, f(a, b, c)); },
        {.parameters = {"p", "a", "b", "c"}});
  };
  CHECK(form([](auto a, auto b, auto c) { return a * b + c; }) ==
        "%0 = fma %a, %b, %c : f32\nstore %p, %0\n");
  CHECK(form([](auto a, auto b, auto c) { return c + a * b; }) ==
        "%0 = fma %a, %b, %c : f32\nstore %p, %0\n");
  CHECK(form([](auto a, auto b, auto c) { return a * b - c; }) ==
        "%0 = neg %c : f32\n%1 = fma %a, %b, %0 : f32\nstore %p, %1\n");
  CHECK(form([](auto a, auto b, auto c) { return c - a * b; }) ==
        "%0 = neg %a : f32\n%1 = fma %0, %b, %c : f32\nstore %p, %1\n");
  // Of two products the left one; each further sum in turn.
  CHECK(form([](auto a, auto b, auto c) { return a * b + b * c; }) ==
        "%0 = mul %b, %c : f32\n%1 = fma %a, %b, %0 : f32\nstore %p, %1\n");
  CHECK(form([](auto a, auto b, auto c) { return a * b + b * c + c * a; }) ==
        "%0 = mul %b, %c : f32\n%1 = fma %a, %b, %0 : f32\n%2 = fma %c, %a, %1 : f32\n"
        "store %p, %2\n");
}

TEST_CASE("nothing is contracted across statements, in integers, over a conversion, or when off") {
  CHECK(body([](ptr<f32> p, scalar<f32> a) {
          auto product = a * a;
          store(p, product + a);
        }) == "%0 = mul %p1, %p1 : f32\n%1 = add %0, %p1 : f32\nstore %p0, %1\n");
  CHECK(body([](ptr<i32> p, scalar<i32> a) { store(p, a * a + a); }) ==
        "%0 = mul %p1, %p1 : i32\n%1 = add %0, %p1 : i32\nstore %p0, %1\n");
  CHECK(body([](ptr<f32> p, scalar<f16> a, scalar<f32> b) { store(p, a * a + b); }) ==
        "%0 = mul %p1, %p1 : f16\n%1 = cast %0 : f32\n%2 = add %1, %p2 : f32\nstore %p0, %2\n");
  CHECK(body([](ptr<f32> p, scalar<f32> a) { store(p, a * a + a); },
             {.contract = fp_contract::off}) ==
        "%0 = mul %p1, %p1 : f32\n%1 = add %0, %p1 : f32\nstore %p0, %1\n");
}

TEST_CASE("a product added to a variable is one fma too") {
  CHECK(body([](ptr<f32> p, scalar<f32> a) {
          var v = a;
          v += a * a;
          v -= a * 2;
          store(p, v);
        }) == "%0 = var.new %p1 : var<f32>\n%1 = fma %p1, %p1, %p1 : f32\nvar.write %0, %1\n"
              "%2 = neg %p1 : f32\n%3 = constant 2 : f32\n%4 = fma %2, %3, %1 : f32\n"
              "var.write %0, %4\nstore %p0, %4\n");
}

TEST_CASE("auto holds the values of the moment, also of variables and boxes") {
  CHECK(body([](ptr<i32> p, scalar<i32> n) {
          var v = n;
          auto e = v + 1;
          v = 5;
          store(p, e);
        }) == "%0 = var.new %p1 : var<i32>\n%1 = constant 5 : i32\nvar.write %0, %1\n"
              "%2 = constant 1 : i32\n%3 = add %p1, %2 : i32\nstore %p0, %3\n");
  CHECK(body([](view<f32, 1> a) {
          auto before = a[box<4>(0)];
          a[box<4>(0)] = 1;
          a[box<4>(1)] = before;
        }) == "%0 = constant 0 : i32\n%1 = view.load %p0, %0 : f32[4]\n%2 = constant 1 : f32[4]\n"
              "%3 = constant 0 : i32\nview.store %p0, %2, %3\n%4 = constant 1 : i32\n"
              "view.store %p0, %1, %4\n");
}

TEST_CASE("reads stay between the writes that they stand between") {
  CHECK(body([](ptr<i32> p, ptr<i32> q) {
          auto a = load(p);
          store(q, 1);
          auto b = load(p);
          store(q, b - a);
        }) == "%0 = load %p0 : i32\n%1 = constant 1 : i32\nstore %p1, %1\n%2 = load %p0 : i32\n"
              "%3 = sub %2, %0 : i32\nstore %p1, %3\n");
}

TEST_CASE("an amount wider than what is shifted keeps that it is too large") {
  CHECK(body([](ptr<i8> p, scalar<i8> x, scalar<i32> n) { store(p, x << n); }) ==
        "%0 = bitcast %p2 : u32\n%1 = constant 8 : u32\n%2 = min %0, %1 : u32\n%3 = cast %2 : i8\n"
        "%4 = shl %p1, %3 : i8\nstore %p0, %4\n");
}

TEST_CASE("every op knows its line") {
  const unsigned first = __LINE__ + 2;
  const auto kernel = [](ptr<f32> p, scalar<f32> a, scalar<i32> n) {
    var v = a;
    for (auto k : range(n)) {
      v = v * 2;
      v += a * a;
      IMBREX_IF(k > 3) v = a;
    }
    const tile<f32> t = v + 1;
    store(p, exp(t));
  };
  const traced_kernel traced = trace(kernel);
  std::string lines;
  ir::walk(irOf(traced).body(), [&](const ir::Op &op) {
    lines += std::string(ir::info(op.kind).mnemonic) + " " + std::to_string(op.where.line - first) +
             "\n";
    CHECK(op.where.file == __FILE__);
  });
  CHECK(lines == "var.new 0\nconstant 1\nconstant 1\nfor 1\nvar.read 2\nconstant 2\nmul 2\n"
                 "var.write 2\nfma 3\nvar.write 3\nconstant 4\ngt 4\nif 4\nvar.write 4\nyield 4\n"
                 "yield 4\nyield 1\nvar.read 6\nconstant 6\nadd 6\nexp 7\nstore 7\n");
}

TEST_CASE("an access by a box of an earlier line has a line of its own") {
  const unsigned first = __LINE__ + 2;
  const auto kernel = [](view<const f32, 1> x, view<f32, 1> y, view<f32, 1> z) {
    auto at = box<8>(1);
    const tile<f32, 8> a = x[at];
    auto b = y[at]; // of a value in `auto` the first use's
    z[at] = a + b;
    z[at] += 1;
    z[box<8>(2)] = y[at.pad_nan()];
    z[at] = y[at];
    x[at]; // of one that is not used the box's
  };
  std::string lines;
  ir::walk(irOf(trace(kernel)).body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::ViewLoad || op.kind == ir::OpKind::ViewStore)
      lines += std::string(ir::info(op.kind).mnemonic) + " " +
               std::to_string(op.where.line - first) + "\n";
  });
  CHECK(lines == "view.load 1\nview.load 3\nview.store 3\nview.load 4\nview.store 4\n"
                 "view.load 5\nview.store 5\nview.load 6\nview.store 6\nview.load 0\n");
}

TEST_CASE("options and the functor itself name the kernel and its parameters") {
  CHECK(trace(named{}).text() ==
        "kernel @renamed(%out: ptr<i32>, %value: i32) stage traced {\n  store %out, %value\n}\n");
  const traced_kernel given = trace(named{}, {.name = "other", .parameters = {"q", "m"}});
  CHECK(given.name() == "other");
  CHECK(given.parameter_count() == 2);
  CHECK(given.parameter_name(1) == "m");
  CHECK(trace([](ptr<i32> p) { store(p, 1); }).name() == "kernel");
  const auto twice = [](const auto &x) { return x * 2; };
  CHECK(trace(mapped<4, decltype(twice)>{twice}).name() == "mapped");
  struct local {
    void operator()(ptr<i32> p) const { store(p, 1); }
  };
  CHECK(trace(local{}).name() == "local");
  using parameters = kernel_traits<named>::parameters;
  static_assert(std::same_as<parameters, std::tuple<ptr<i32>, scalar<i32>>>);
}

TEST_CASE("threads trace at the same time, each its own kernel") {
  const auto kernel = [](ptr<i32> p, scalar<i32> n) {
    var v = n;
    for (auto k : range(n)) v += k;
    store(p, v);
  };
  const std::string expected = trace(kernel).text();
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string &text : texts)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) text = trace(kernel).text();
    });
  for (std::thread &thread : threads) thread.join();
  for (const std::string &text : texts) CHECK(text == expected);
}

TEST_CASE("a kernel may be a plain function, and pointers may be chosen") {
  CHECK(trace(+[](ptr<i32> p, ptr<i32> q, scalar<bool> c) { store(where(c, p, q), 1); }).text() ==
        "kernel @kernel(%p0: ptr<i32>, %p1: ptr<i32>, %p2: bool) stage traced {\n"
        "  %0 = select %p2, %p0, %p1 : ptr<i32>\n  %1 = constant 1 : i32\n  store %0, %1\n}\n");
}

namespace {

struct asking {
  static constexpr const char *name = "asking";
  static constexpr int warps = 8;
  static constexpr int registers = 128;
  void operator()(ptr<i32> p) const { store(p, 1); }
};

struct launched_specially {
  static constexpr cluster_shape cluster{2, 1, 3};
  static constexpr bool cooperative = true, programmatic = true;
  void operator()(ptr<i32> p) const { store(p, 1); }
};

/// A member of another kind, which asks for nothing.
struct counting {
  int warps = 3;
  bool cooperative = true;
  void operator()(ptr<i32> p) const { store(p, warps); }
};

template <class K>
std::string header(const K &kernel, const trace_options &options = {}) {
  const std::string text = trace(kernel, options).text();
  const auto from = text.find("stage ");
  return text.substr(from, text.find(" {") - from);
}

} // namespace

TEST_CASE("what an author asks of the code stands in the kernel's header") {
  CHECK(header(asking{}) == "stage traced [warps = 8, registers = 128]");
  CHECK(header(asking{}, {.registers = 64}) == "stage traced [warps = 8, registers = 64]");
  CHECK(header(counting{}) == "stage traced");
  CHECK(header(counting{}, {.contract = fp_contract::off, .warps = 16}) ==
        "stage traced [warps = 16, contract = off]");
}

TEST_CASE("what an author asks of launches stands in the kernel's header") {
  const std::string all = "cooperative = true, programmatic = true]";
  CHECK(header(launched_specially{}) == "stage traced [cluster = [2, 1, 3], " + all);
  CHECK(header(launched_specially{}, {.cluster = {4}}) ==
        "stage traced [cluster = [4, 1, 1], " + all);
  CHECK(header(counting{}, {.cluster = {1, 16}}) == "stage traced [cluster = [1, 16, 1]]");
  CHECK(header(counting{}, {.cluster = {1, 1, 1}}) == "stage traced");
  CHECK(header(counting{}, {.cooperative = true}) == "stage traced [cooperative = true]");
  CHECK(header(asking{}, {.programmatic = true}) ==
        "stage traced [warps = 8, registers = 128, programmatic = true]");
}
