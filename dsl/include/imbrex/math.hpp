#pragma once

#include <imbrex/create.hpp>

/// Elementwise functions. Operands broadcast and meet as under operators; each call is recorded
/// where it stands and gives a tile.
namespace imbrex {

namespace detail {

template <class... Xs>
struct meet_held;
template <class A>
struct meet_held<A> {
  using type = typename A::element;
};
template <class A, class B, class... Rest>
struct meet_held<A, B, Rest...> {
  struct both {
    using element = typename expression_meet<A, B>::type;
  };
  using type = typename meet_held<both, Rest...>::type;
};
template <class X>
using held_t = decltype(hold(std::declval<const X &>()));
/// The element in which operands and literals meet.
template <class... Xs>
using common_t = typename meet_held<held_t<Xs>...>::type;

/// Record an op whose operands and result have one element type and one shape.
template <class T, class... Xs>
auto same_type_op(const char *op, location where, const Xs &...xs) {
  using Shape = broadcast_t<shape_of<Xs>...>;
  return tile_t<T, Shape>(
      record(op, {record_as<T, Shape>(xs, where)...}, type_of<T, Shape>, {}, where));
}

} // namespace detail

/// a / b rounded up, for integers; x / 0 = 0. Two numbers of the host give one.
template <class A, class B>
  requires detail::operator_pair<A, B>
auto cdiv(const A &a, const B &b, detail::location where = detail::location::current()) {
  using T = detail::common_t<A, B>;
  detail::check_signs<A, B>();
  static_assert(integer_element<T>, "imbrex: cdiv divides integers");
  return detail::same_type_op<T>("cdiv", where, a, b);
}
template <std::integral A, std::integral B>
constexpr auto cdiv(A a, B b) {
  return b == 0 ? 0 : a / b + (a % b != 0 && (a % b > 0) == (b > 0) ? 1 : 0);
}

} // namespace imbrex
