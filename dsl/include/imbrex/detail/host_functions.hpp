#pragma once

#include <imbrex/tile.hpp>

/// The standard library's functions of values of the host, of which a tile is none: each is refused
/// in one sentence. They take a pack, so that what names a function without std:: and knows both
/// finds imbrex's own, which does not.
namespace imbrex::detail {

template <class... X>
concept with_operand = (operand<X> || ...);

template <class... X>
constexpr auto refuse_on_host() {
  static_assert(always_false<X...>,
                "imbrex: a tile has no value while the kernel is traced, and this function of std "
                "takes values of the host; write imbrex's own without std::, as exp(x), "
                "max(x, y), clamp(x, low, high); x * x for pow, var for swap, device_print for "
                "printf and to_string; docs/language.md has all");
  return refused{};
}

} // namespace imbrex::detail

#define IMBREX_DETAIL_ON_HOST(name)                                                                \
  template <class... X>                                                                            \
    requires imbrex::detail::with_operand<X...>                                                    \
  auto name(const X &...) {                                                                        \
    return imbrex::detail::refuse_on_host<X...>();                                                 \
  }
namespace std {

IMBREX_DETAIL_ON_HOST(abs)
IMBREX_DETAIL_ON_HOST(fabs)
IMBREX_DETAIL_ON_HOST(sqrt)
IMBREX_DETAIL_ON_HOST(cbrt)
IMBREX_DETAIL_ON_HOST(exp)
IMBREX_DETAIL_ON_HOST(exp2)
IMBREX_DETAIL_ON_HOST(expm1)
IMBREX_DETAIL_ON_HOST(log)
IMBREX_DETAIL_ON_HOST(log2)
IMBREX_DETAIL_ON_HOST(log10)
IMBREX_DETAIL_ON_HOST(log1p)
IMBREX_DETAIL_ON_HOST(sin)
IMBREX_DETAIL_ON_HOST(cos)
IMBREX_DETAIL_ON_HOST(tan)
IMBREX_DETAIL_ON_HOST(sinh)
IMBREX_DETAIL_ON_HOST(cosh)
IMBREX_DETAIL_ON_HOST(tanh)
IMBREX_DETAIL_ON_HOST(atan)
IMBREX_DETAIL_ON_HOST(erf)
IMBREX_DETAIL_ON_HOST(floor)
IMBREX_DETAIL_ON_HOST(ceil)
IMBREX_DETAIL_ON_HOST(round)
IMBREX_DETAIL_ON_HOST(rint)
IMBREX_DETAIL_ON_HOST(trunc)
IMBREX_DETAIL_ON_HOST(isnan)
IMBREX_DETAIL_ON_HOST(isinf)
IMBREX_DETAIL_ON_HOST(isfinite)
IMBREX_DETAIL_ON_HOST(to_string)
IMBREX_DETAIL_ON_HOST(min)
IMBREX_DETAIL_ON_HOST(max)
IMBREX_DETAIL_ON_HOST(fmin)
IMBREX_DETAIL_ON_HOST(fmax)
IMBREX_DETAIL_ON_HOST(pow)
IMBREX_DETAIL_ON_HOST(fmod)
IMBREX_DETAIL_ON_HOST(atan2)
IMBREX_DETAIL_ON_HOST(hypot)
IMBREX_DETAIL_ON_HOST(swap)
IMBREX_DETAIL_ON_HOST(fma)
IMBREX_DETAIL_ON_HOST(clamp)
IMBREX_DETAIL_ON_HOST(printf)

} // namespace std

namespace imbrex {

/// Which C++ lets pass, and prints bytes of.
IMBREX_DETAIL_ON_HOST(printf)

} // namespace imbrex

#undef IMBREX_DETAIL_ON_HOST
