#pragma once

#include <imbrex/division.hpp>

/// The machine's own approximations: fast, and different from device to device within the bounds of
/// docs/semantics.md.
namespace imbrex::fast {

#define IMBREX_DETAIL_FAST(name)                                                                   \
  template <operand X>                                                                             \
  auto name(const X &x, detail::location where = detail::location::current()) {                    \
    return detail::float_op(#name, {{"accuracy", std::string_view("fast")}}, x, where);            \
  }
IMBREX_DETAIL_FAST(rsqrt)
IMBREX_DETAIL_FAST(exp)
IMBREX_DETAIL_FAST(exp2)
IMBREX_DETAIL_FAST(log)
IMBREX_DETAIL_FAST(log2)
IMBREX_DETAIL_FAST(sin)
IMBREX_DETAIL_FAST(cos)
IMBREX_DETAIL_FAST(tan)
IMBREX_DETAIL_FAST(tanh)
IMBREX_DETAIL_FAST(erf)
#undef IMBREX_DETAIL_FAST

template <class A, class B>
  requires detail::some_operands<A, B>
auto div(const A &a, const B &b, detail::location where = detail::location::current()) {
  using T = detail::quotient_of<detail::common_t<A, B>>;
  return detail::same_type_op<T>("div", {{"accuracy", std::string_view("fast")}}, where, a, b);
}
/// 1 / x
template <operand X>
auto rcp(const X &x, detail::location where = detail::location::current()) {
  static_assert(float_element<detail::element_t<X>>, "imbrex: rcp works on floats");
  return fast::div(1, x, where);
}

} // namespace imbrex::fast
