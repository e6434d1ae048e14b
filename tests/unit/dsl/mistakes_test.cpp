#include "doctest/doctest.h"
#include "dsl/traced_kernel.h"
#include <imbrex/dsl.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace {
using namespace imbrex;

/// What a kernel is refused with, the file's folder left out: "file:line: error: …".
template <class K>
std::string refusal(const K &kernel) {
  const auto traced = try_trace(kernel);
  if (traced.ok()) return "traced";
  const std::string text = traced.error().what();
  return text.substr(text.rfind('/', text.find(": error:")) + 1);
}

/// The same for a mistake on the line `line` of this file.
std::string at(unsigned line, const std::string &message) {
  return "mistakes_test.cpp:" + std::to_string(line) + ": error: " + message;
}

/// The kernel is refused with the message, on the line that it stored while it was traced.
template <class K>
void told(const K &kernel, const unsigned &line, const std::string &message) {
  const std::string text = refusal(kernel);
  CHECK(text == at(line, message));
}

const unsigned kOutsideLine = __LINE__ + 1;
const auto made_before_main = zeros<f32, 4>();

} // namespace

TEST_CASE("a loop left by break, return or goto is told with the loop's line") {
  const std::string message =
      "the body of this loop is left by break, return or goto, which the kernel does not see\n"
      "  hint: the body is recorded once; use break_if(c) to leave a loop, exit_if(c) to end the "
      "block";
  unsigned line = 0;
  told(
      [&](ptr<i32> p) {
        line = __LINE__ + 1;
        for (auto k : range(8)) {
          store(p, k);
          break;
        }
      },
      line, message);
  told(
      [&](ptr<i32> p) {
        line = __LINE__ + 1;
        for (auto k : range(8)) {
          store(p, k);
          if (line != 0) return;
        }
      },
      line, message);
  told(
      [&](ptr<i32>) {
        line = __LINE__ + 1;
        for (auto trip : forever()) break;
      },
      line, message);
}

TEST_CASE("an IMBREX_IF left early is told with its line, also inside a loop") {
  const auto message = [](const std::string &construct) {
    return "the body of this " + construct +
           " is left by break, return or goto, which the kernel does not see\n"
           "  hint: the body is recorded once; use break_if(c) to leave a loop, exit_if(c) to end "
           "the "
           "block";
  };
  unsigned line = 0;
  told(
      [&](scalar<i32> n) {
        line = __LINE__ + 1;
        IMBREX_IF(n >= 5) { return; }
      },
      line, message("if"));
  told(
      [&](scalar<i32> n) {
        for (auto k : range(n)) {
          line = __LINE__ + 1;
          IMBREX_IF(k > 5) { break; }
        }
      },
      line, message("if"));
  told(
      [&](scalar<i32> n) {
        line = __LINE__ + 2;
        IMBREX_IF(n >= 5) { device_print("large"); }
        IMBREX_ELSE { return; }
      },
      line, message("else"));
}

TEST_CASE("break_if outside of a loop is told") {
  unsigned line = 0;
  told(
      [&](scalar<i32> n) {
        line = __LINE__ + 1;
        break_if(n > 0);
      },
      line, "break_if outside of a loop\n  hint: exit_if(c) ends the block");
}

TEST_CASE("a loop that nothing ends is told, unless its block can end") {
  unsigned line = 0;
  told(
      [&](ptr<i32> p) {
        line = __LINE__ + 1;
        for (auto trip : forever()) {
          for (auto k : range(3)) break_if(k > 1);
          store(p, 1);
        }
      },
      line,
      "nothing in this loop ends it\n"
      "  hint: leave it by break_if(c), or end the block by exit_if(c)");
  const auto ends_block = [](scalar<i32> n) {
    for (auto trip : forever()) {
      IMBREX_IF(n > 1) { exit_if(n > 2); }
    }
  };
  CHECK(refusal(ends_block) == "traced");
}

TEST_CASE("names that are not those of the parameters are told where the kernel is traced") {
  const auto copy = [](ptr<i32> to, ptr<const i32> from) { store(to, load(from)); };
  const auto told_of = [&](names given) {
    const auto outcome = try_trace(copy, {.name = "copy", .parameters = given});
    REQUIRE_FALSE(outcome.ok());
    CHECK(outcome.error().where().line == __LINE__ - 2);
    const std::string text = outcome.error().what();
    return text.substr(text.find(": error: ") + 9);
  };
  CHECK(told_of({"to"}) == "kernel 'copy' has 2 parameters, but 1 names for them\n"
                           "  hint: name each, or none: they are p0, p1, … then");
  CHECK(told_of({"to", "from", "n"}).starts_with("kernel 'copy' has 2 parameters, but 3 names"));
  CHECK(told_of({"to", "to"}) == "two parameters of kernel 'copy' have the name 'to'\n"
                                 "  hint: give each a name of its own");
}

TEST_CASE("a number that the tile's element cannot hold is told where it is used") {
  unsigned line = 0;
  told(
      [&](ptr<i8> p) {
        auto x = load(p) + 300;
        line = __LINE__ + 1;
        store(p, x);
      },
      line,
      "the number 300 does not fit into the element type i8\n"
      "  hint: take a wider element type; of a tile by a cast");
  told(
      [&](ptr<u32> p) {
        line = __LINE__ + 1;
        store(p, load(p) * -1);
      },
      line,
      "the number -1 is negative, but elements of type u32 are not\n"
      "  hint: take a signed element type; of a tile by a cast");
  told(
      [&](ptr<i32> p) {
        line = __LINE__ + 1;
        store(p, 0x80000000U);
      },
      line,
      "the number 2147483648 does not fit into the element type i32\n"
      "  hint: take a wider element type; of a tile by a cast");
}

TEST_CASE("a finite number that would become infinite is told where it is used") {
  unsigned line = 0;
  const std::string hint = "\n  hint: take a wider element type; of a tile by a cast";
  told(
      [&](ptr<f32> p) {
        line = __LINE__ + 1;
        store(p, load(p) * 1e300);
      },
      line, "the number 1e+300 does not fit into the element type f32" + hint);
  told(
      [&](ptr<f32> p, scalar<i32> n) {
        line = __LINE__ + 1;
        store(p, n * -1e300);
      },
      line, "the number -1e+300 does not fit into the element type f32" + hint);
  told(
      [&](ptr<f16> p) {
        line = __LINE__ + 1;
        store(p, load(p) + 1e6);
      },
      line, "the number 1e+06 does not fit into the element type f16" + hint);
  told(
      [&](ptr<f16> p) {
        line = __LINE__ + 1;
        store(p, 65520);
      },
      line, "the number 65520 does not fit into the element type f16" + hint);
}

TEST_CASE("a float holds what rounds to a finite number, and infinities and NaN as such") {
  using detail::fits;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double largest = std::numeric_limits<float>::max();
  const double half_step_beyond = std::ldexp(1 - std::ldexp(1.0, -25), 128);
  CHECK(fits<f32>(largest));
  CHECK(fits<f32>(std::nextafter(half_step_beyond, 0)));
  CHECK(!fits<f32>(half_step_beyond));
  CHECK(!fits<f32>(-half_step_beyond));
  CHECK(fits<f16>(std::nextafter(65520.0, 0)));
  CHECK(!fits<f16>(-65520.0));
  CHECK(fits<bf16>(3.38e38));
  CHECK(!fits<bf16>(largest));
  CHECK(fits<f64>(1e300));
  CHECK(fits<f8e4m3fn>(1e300));
  for (const double x : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(fits<f16>(x));
    CHECK(fits<bf16>(x));
    CHECK(fits<f32>(x));
    CHECK(fits<f32>(static_cast<float>(x)));
  }
}

TEST_CASE("a shift by a number that reaches the width is told") {
  unsigned line = 0;
  const std::string hint =
      "\n  hint: shift by 0 to 31; a shift by a tile may go further and gives 0 or the sign";
  told(
      [&](ptr<i32> p) {
        line = __LINE__ + 1;
        store(p, load(p) << 32);
      },
      line, "a shift by 32, but i32 has 32 bits" + hint);
  told(
      [&](ptr<u32> p) {
        line = __LINE__ + 1;
        store(p, load(p) >> -1);
      },
      line, "a shift by -1, but u32 has 32 bits" + hint);
  CHECK(refusal([](ptr<i32> p) { store(p, load(p) << 31); }) == "traced");
}

TEST_CASE("axes, slots and repetitions out of range are told") {
  unsigned line = 0;
  told(
      [&](view<f32, 2> a) {
        line = __LINE__ + 1;
        a.extent(2);
      },
      line, "axis 2 of a view that has 2\n  hint: axes count from 0");
  told(
      [&](view<f32, 2>) {
        line = __LINE__ + 1;
        num_programs(3);
      },
      line,
      "a grid has the axes 0, 1 and 2, not 3\n"
      "  hint: they are grid(x, y, z) of the launch, in that order");
  told(
      [&](view<f32, 2>) {
        line = __LINE__ + 1;
        for (auto k : range(3).pipelined(0)) device_print("k", k);
      },
      line,
      "pipelined(0) asks for slots that no loop has: there are from 1 to 16\n"
      "  hint: leave the number out to have it chosen");
  told(
      [&](view<f32, 2>) {
        line = __LINE__ + 1;
        for (auto k : range(3).pipelined(17)) device_print("k", k);
      },
      line,
      "pipelined(17) asks for slots that no loop has: there are from 1 to 16\n"
      "  hint: leave the number out to have it chosen");
  CHECK_NOTHROW(trace([](view<f32, 2>) {
    for (auto k : range(3).pipelined(16)) device_print("k", k);
  }));
  told(
      [&](view<f32, 2>) {
        line = __LINE__ + 1;
        for (auto k : range(3).unroll(0)) device_print("k", k);
      },
      line, "unroll(0) needs at least 1\n  hint: leave it out to have each trip once");
}

TEST_CASE("a tile used after its kernel, in another, or from outside of any is told") {
  std::optional<tile<i32>> kept;
  unsigned line = 0;
  trace([&](ptr<i32> p) { kept.emplace(load(p) + 1); });
  try {
    line = __LINE__ + 1;
    [[maybe_unused]] const tile<i32> later = *kept + 1;
    FAIL("a tile was used after its kernel");
  } catch (const error &mistake) {
    CHECK(mistake.code() == "TileAfterKernel");
    CHECK(mistake.where().line == line);
    CHECK(mistake.where().file == __FILE__);
    REQUIRE(mistake.notes().size() == 1);
    CHECK(mistake.notes()[0] ==
          "tiles are values of a kernel; results leave it through pointers and views");
  }
  told(
      [&](ptr<i32> p) {
        line = __LINE__ + 1;
        store(p, *kept);
      },
      line,
      "a tile of one kernel is used in another\n"
      "  hint: pass numbers of the host, or compute it again");
  const auto uses_it = [&](ptr<f32> p) {
    line = __LINE__ + 1;
    store(p + arange<0, 4>(), made_before_main);
  };
  const std::string text = refusal(uses_it);
  CHECK(text.starts_with(at(line, "this tile was made outside of a kernel, at ")));
  CHECK(text.ends_with("mistakes_test.cpp:" + std::to_string(kOutsideLine) +
                       "\n  hint: make it inside, or pass a number of the host"));
}

TEST_CASE("a tile used outside of the loop or the if that made it is told") {
  unsigned line = 0;
  const std::string message =
      "a tile made in the body of a loop or an if is used outside of that body\n"
      "  hint: declare a var in front of the body and assign to it inside";
  told(
      [&](ptr<i32> p) {
        std::vector<tile<i32>> kept;
        for (auto k : range(4)) kept.push_back(k + 1);
        line = __LINE__ + 1;
        store(p, kept[0]);
      },
      line, message);
  told(
      [&](ptr<i32> p, scalar<i32> n) {
        std::optional<var<tile<i32>>> inner;
        IMBREX_IF(n > 0) { inner.emplace(n); }
        line = __LINE__ + 1;
        *inner = 3;
        store(p, *inner);
      },
      line, message);
}

TEST_CASE("a variable read outside of the body that made it is told with the line of the use") {
  unsigned line = 0;
  told(
      [&](ptr<i32> p, scalar<i32> n) {
        std::optional<var<tile<i32>>> inner;
        IMBREX_IF(n > 0) { inner.emplace(n); }
        line = __LINE__ + 1;
        store(p, *inner + 1);
      },
      line,
      "a tile made in the body of a loop or an if is used outside of that body\n"
      "  hint: declare a var in front of the body and assign to it inside");
}

TEST_CASE("what has effects outside of a kernel is told") {
  std::optional<view<i32, 1>> kept;
  trace([&](view<i32, 1> a) { kept.emplace(a); });
  unsigned line = 0;
  try {
    line = __LINE__ + 1;
    device_print("outside");
    FAIL("printed outside of a kernel");
  } catch (const error &mistake) {
    const std::string text = mistake.what();
    CHECK(
        text.ends_with(at(line, "print outside of a kernel\n"
                                "  hint: a kernel is run by jit(kernel) or trace(kernel), and not "
                                "called")));
  }
  CHECK_THROWS_AS(range(3).begin(), error);
}

TEST_CASE("a kernel traced inside of a kernel is told, and the outer one goes on") {
  unsigned line = 0;
  const traced_kernel outer = trace([&](ptr<i32> p) {
    line = __LINE__ + 1;
    const auto inner = try_trace([](ptr<i32> q) { store(q, 1); });
    CHECK(!inner.ok());
    CHECK(inner.error().where().line == line);
    CHECK(inner.error().code() == "NestedTrace");
    store(p, 2);
  });
  CHECK(outer.text().find("store") != std::string::npos);
}

TEST_CASE("two calls with effects in one expression are told, two statements are not") {
  unsigned line = 0;
  told(
      [&](ptr<i32> p) {
        line = __LINE__ + 1;
        store(p, atomic_add(p, 1) - atomic_add(p + 1, 1));
      },
      line,
      "two operations with effects in one expression; C++ leaves their order open\n"
      "  hint: give each a statement of its own");
  CHECK(refusal([](ptr<i32> p) {
          auto a = atomic_add(p, 1);
          auto b = atomic_add(p + 1, 1);
          IMBREX_IF(atomic_add(p, 2) > 0) { atomic_add(p, 3); }
          store(p, a - b);
        }) == "traced");
}

TEST_CASE("a combine that does more than compute is told") {
  unsigned line = 0;
  told(
      [&](ptr<i32> p) {
        reduce<0>(arange<0, 8>(), [&](auto a, auto b) {
          line = __LINE__ + 1;
          return a + b * load(p);
        });
      },
      line,
      "'load' inside a combine, which may only compute\n"
      "  hint: choose by where in place of IMBREX_IF; load and read variables (v.get()) before, "
      "store after");
  told(
      [&](ptr<i32>) {
        var seen = scalar<i32>(0);
        reduce<0>(arange<0, 8>(), [&](auto a, auto b) {
          line = __LINE__ + 1;
          seen += b;
          return a + b;
        });
      },
      line,
      "'var.read' inside a combine, which may only compute\n"
      "  hint: choose by where in place of IMBREX_IF; load and read variables (v.get()) before, "
      "store after");
  told(
      [&](ptr<i32>) {
        line = __LINE__ + 1;
        scan<0>(arange<0, 8>(), [](auto a, auto b) { return a + b; }, exclusive);
      },
      line,
      "an exclusive scan with a combine of your own needs a scalar to start from\n"
      "  hint: scan<axis>(x, initial, combine)");
}

TEST_CASE("an exception of the body passes through and leaves nothing behind") {
  const auto throwing = [](ptr<i32> p) {
    for (auto k : range(3)) {
      IMBREX_IF(k > 1) {
        store(p, k);
        throw 42;
      }
    }
  };
  CHECK_THROWS_AS(trace(throwing), int);
  CHECK(refusal([](ptr<i32> p) { store(p, 1); }) == "traced");
}

TEST_CASE("an exception that the kernel catches around a body is told") {
  unsigned line = 0;
  told(
      [&](ptr<i32> p) {
        try {
          line = __LINE__ + 1;
          for (auto k : range(3)) {
            store(p, k);
            throw 42;
          }
        } catch (const int thrown) {
          CHECK(thrown == 42);
        }
      },
      line,
      "the body of this loop is left by an exception that the kernel catches\n"
      "  hint: let exceptions leave the kernel");
}

TEST_CASE("the value of a failed result throws its error") {
  auto failed = try_trace([](scalar<i32> n) { break_if(n > 0); });
  CHECK_THROWS_AS(failed.value(), error);
}

TEST_CASE("warps and registers that no machine has are told with the line of the trace") {
  const auto kernel = [](ptr<i32> p) { store(p, 1); };
  const auto refused = [&](const trace_options &options, unsigned line) {
    const auto traced = try_trace(kernel, options);
    REQUIRE_FALSE(traced.ok());
    CHECK(traced.error().where().line == line);
    return std::string(traced.error().code());
  };
  CHECK(refused({.warps = 3}, __LINE__ - 5) == "WarpsOfKernel");
  CHECK(refused({.warps = 64}, __LINE__ - 6) == "WarpsOfKernel");
  CHECK(refused({.warps = -1}, __LINE__ - 7) == "WarpsOfKernel");
  CHECK(refused({.registers = 8}, __LINE__ - 8) == "RegistersOfKernel");
  CHECK(refused({.registers = 2048}, __LINE__ - 9) == "RegistersOfKernel");
  CHECK(refused({.cluster = {17}}, __LINE__ - 10) == "ClusterOfKernel");
  CHECK(refused({.cluster = {4, 4, 2}}, __LINE__ - 11) == "ClusterOfKernel");
  CHECK(refused({.cluster = {1, 0, 2}}, __LINE__ - 12) == "ClusterOfKernel");
  CHECK(refused({.cluster = {1, 1, 1 << 30}}, __LINE__ - 13) == "ClusterOfKernel");
}

TEST_CASE("options of a product that are not for its operands are told") {
  unsigned line = 0;
  const auto product = [&](auto element, const dot_options &options) {
    using T = decltype(element);
    using Sum = std::conditional_t<std::same_as<T, f64>, f64, f32>;
    return [&line, options](view<const T, 2> a, view<Sum, 2> c) {
      line = __LINE__ + 1;
      c[box<16, 16>(0, 0)] = dot(a[box<16, 16>(0, 0)], a[box<16, 16>(0, 0)], options);
    };
  };
  told(product(f16(), precision::tf32), line,
       "dot with precision 'tf32' of f16: it says what becomes of f32\n"
       "  hint: leave it out: products of f16 are exact");
  told(product(f64(), precision::bf16x3), line,
       "dot with precision 'bf16x3' of f64: it says what becomes of f32\n"
       "  hint: leave it out: products of f64 are exact");
  told(product(f16(), promote_every(32)), line,
       "promote_every(32) in a dot of f16: it takes a number from 1, for 8-bit floats\n"
       "  hint: leave it out");
  told(product(f8e5m2(), promote_every(0)), line,
       "promote_every(0) in a dot of f8e5m2: it takes a number from 1, for 8-bit floats\n"
       "  hint: leave it out");
  CHECK(refusal(product(f8e5m2(), promote_every(1))) == "traced");
  CHECK(refusal(product(f32(), precision::tf32)) == "traced");
  CHECK(refusal(product(f16(), precision::ieee)) == "traced");
}

TEST_CASE("a requirement of what only the run knows, or in a body, is told") {
  unsigned line = 0;
  unsigned first = 0;
  const std::string text = refusal([&](view<const f32, 1> x) {
    first = __LINE__ + 1;
    auto i = program_id(0);
    line = __LINE__ + 1;
    require(i * 64 < x.extent(0), "each block has elements");
  });
  const std::string wanted =
      at(line, "a requirement ('require') is made of what only the run knows: 'program_id', ");
  CHECK(text.substr(0, wanted.size()) == wanted);
  CHECK(text.find(":" + std::to_string(first) +
                  "\n  hint: it may use arguments that are scalars") != std::string::npos);
  told(
      [&](scalar<i32> n) {
        IMBREX_IF(n > 3) {
          line = __LINE__ + 1;
          require(n < 8, "n is less than 8");
        }
      },
      line,
      "a requirement ('require') stands in the body of a loop or an if\n"
      "  hint: write it in the kernel's own body; the launch tests it once, before anything runs");
}
