// Tries each elementary function on every f32, against the C library in f64, and on many f64,
// against MPFR; prints the largest errors and where they are. Fails where one exceeds
// elementary.def. And the exponential of what is never positive on every such f32, against that.
//
//   exhaustive_math [f64 numbers per function, 10000000] [function, all]

#include "backend/math/elementary.h"

#include "tests/unit/math/reference.h"
#include "tests/unit/math/samples.h"

#include <cstdio>
#include <mpfr.h>
#include <string_view>
#include <thread>

using namespace imbrex;

namespace {

/// The function's value in the 64 bits of an x87 long double or more, correctly rounded.
template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
long double exactly(long double x) {
  thread_local mpfr_t argument, result;
  thread_local const bool initialised = [] {
    mpfr_init2(argument, 53);
    mpfr_init2(result, std::numeric_limits<long double>::digits);
    return true;
  }();
  static_cast<void>(initialised);
  mpfr_set_ld(argument, x, MPFR_RNDN);
  function(result, argument, MPFR_RNDN);
  return mpfr_get_ld(result, MPFR_RNDN);
}

int mpfr_rsqrt(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  const int ternary = mpfr_rec_sqrt(result, x, rounding);
  if (mpfr_zero_p(x)) mpfr_setsign(result, result, mpfr_signbit(x), rounding); // as 1 / sqrt(-0)
  return ternary;
}

struct Function {
  std::string_view name;
  float (*ofFloat)(float);
  double (*ofDouble)(double);
  double (*exactFloat)(double);
  long double (*exactDouble)(long double);
  double floatUlps, doubleUlps;
};

const Function kFunctions[] = {
#define IMBREX_ELEMENTARY(name, ulps32, ulps64, operations32, operations64)                        \
  {#name,                                                                                          \
   math::name<math::Single>,                                                                       \
   math::name<math::Double>,                                                                       \
   [](double x) { return reference::name(x); },                                                    \
   exactly<mpfr_##name>,                                                                           \
   ulps32,                                                                                         \
   ulps64},
#include "backend/math/elementary.def"
};

struct Worst {
  double ulps = 0.5, at = 0;

  template <class Float, class Wide>
  void see(Float x, Float value, Wide exact) {
    if (math::bitsOf(value) == math::bitsOf(static_cast<Float>(exact)))
      return; // at most 0.5, most are
    see(reference::ulps(value, exact), static_cast<double>(x));
  }

  void see(double error, double x) {
    if (error > ulps) ulps = error, at = x;
  }
};

/// The worst of what `search(part, parts)` finds, one part for each processor.
template <class Search>
Worst worstOf(Search search) {
  const unsigned parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst> found(parts);
  {
    std::vector<std::jthread> threads;
    for (unsigned part = 0; part < parts; ++part)
      threads.emplace_back([&, part] { found[part] = search(part, parts); });
  }
  Worst worst;
  for (const Worst &one : found) worst.see(one.ulps, one.at);
  return worst;
}

Worst searchFloats(const Function &function) {
  return worstOf([&](std::uint64_t part, std::uint64_t parts) {
    constexpr std::uint64_t kFloats = std::uint64_t{1} << 32;
    Worst worst;
    for (auto bits = kFloats * part / parts; bits < kFloats * (part + 1) / parts; ++bits) {
      const float x = math::floatOf(static_cast<std::uint32_t>(bits));
      worst.see(x, function.ofFloat(x), function.exactFloat(x));
    }
    return worst;
  });
}

/// Of how many floats that are not positive, or NaN, the shorter exponential has other bits.
std::int64_t differingExponentials() {
  std::int64_t differing = 0;
  for (std::uint64_t bits = 0x80000000; bits <= 0xffffffff; ++bits) {
    const float x = math::floatOf(static_cast<std::uint32_t>(bits));
    const float shorter = math::expOfNonePositive<math::Single>(x);
    differing += samples::areAlike(shorter, math::exp<math::Single>(x)) ? 0 : 1;
  }
  return differing;
}

Worst searchDoubles(const Function &function, std::uint64_t count) {
  return worstOf([&](std::uint64_t part, std::uint64_t parts) {
    Worst worst;
    auto see = [&](double x) { worst.see(x, function.ofDouble(x), function.exactDouble(x)); };
    for (double x : samples::specials<double>()) see(x);
    std::mt19937_64 rng(part + 1);
    for (auto i = count * part / parts; i < count * (part + 1) / parts; ++i)
      see(samples::random<double>(rng));
    return worst;
  });
}

} // namespace

int main(int argc, char **argv) {
  const std::uint64_t count = argc > 1 ? std::stoull(argv[1]) : 10'000'000;
  const std::string_view only = argc > 2 ? argv[2] : "all";
  bool kept = true;
  std::puts("function  f32 ulp  bound  at               f64 ulp  bound  at");
  for (const Function &function : kFunctions) {
    if (only != "all" && only != function.name) continue;
    const Worst f32 = searchFloats(function), f64 = searchDoubles(function, count);
    std::printf("%-8s  %7.4f  %5.2f  %-15a  %7.4f  %5.2f  %a\n", function.name.data(), f32.ulps,
                function.floatUlps, f32.at, f64.ulps, function.doubleUlps, f64.at);
    std::fflush(stdout);
    kept = kept && f32.ulps <= function.floatUlps && f64.ulps <= function.doubleUlps;
  }
  if (only == "all" || only == "exp") {
    const std::int64_t differing = differingExponentials();
    std::printf("exp of what is never positive: %lld floats have other bits\n",
                static_cast<long long>(differing));
    kept = kept && differing == 0;
  }
  return kept ? 0 : 1;
}
