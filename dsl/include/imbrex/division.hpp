#pragma once

#include <imbrex/math.hpp>

/// Quotients and remainders beside the operators `/` and `%`.
namespace imbrex {

/// a / b rounded up, for integers; x / 0 = 0. Two numbers of the host give one.
template <class A, class B>
  requires detail::some_operands<A, B>
auto cdiv(const A &a, const B &b, detail::location where = detail::location::current()) {
  using T = detail::common_t<A, B>;
  detail::check_signs<A, B>();
  static_assert(integer_element<T>, "imbrex: cdiv divides integers");
  return detail::same_type_op<T>("cdiv", {}, where, a, b);
}
template <std::integral A, std::integral B>
constexpr auto cdiv(A a, B b) {
  using T = decltype(a / b);
  const auto x = static_cast<T>(a), y = static_cast<T>(b);
  if (y == 0) return T{0};
  const bool is_cut = x % y != 0 && (x % y > 0) == (y > 0);
  return is_cut ? x / y + T{1} : x / y;
}

namespace detail {

/// The float in which two operands divide: integers in f32.
template <class T>
using quotient_of = at_least_f32<std::conditional_t<float_element<computed<T>>, T, f32>>;

} // namespace detail

/// The quotient as a float, also of integers (in f32). `/` on integers truncates.
template <class A, class B>
  requires detail::some_operands<A, B>
auto fdiv(const A &a, const B &b, detail::location where = detail::location::current()) {
  using T = detail::quotient_of<detail::common_t<A, B>>;
  return detail::same_type_op<T>("div", {}, where, a, b);
}
/// The exact remainder of floats, with the dividend's sign; the same as `%`.
template <class A, class B>
  requires detail::some_operands<A, B>
auto fmod(const A &a, const B &b, detail::location where = detail::location::current()) {
  static_assert(float_element<detail::common_t<A, B>>, "imbrex: fmod works on floats; use %");
  return detail::same_type_op<detail::quotient_of<detail::common_t<A, B>>>("rem", {}, where, a, b);
}

} // namespace imbrex
