#pragma once

#include <imbrex/detail/operand.hpp>

/// What stands in an expression beside tiles: numbers of the host, which follow the others'
/// elements, and expressions that have a name.
namespace imbrex {

namespace detail {

/// A host number among the operands of an expression.
template <class S>
struct literal : traced {
  using element = own_element_t<S>;
  using shape = scalar_shape;
  S number;
  explicit constexpr literal(const S &n) : number(n) {}
  value record(location where) const { return record_literal<element, shape>(number, where); }
};

/// A number that is known while the kernel is compiled by C++, so that a mistake is told there.
template <auto N>
struct static_literal : traced {
  using element = own_element_t<decltype(N)>;
  using shape = scalar_shape;
  value record(location where) const { return record_literal<element, shape>(N, where); }
};
template <class E>
inline constexpr bool is_static_literal = false;
template <auto N>
inline constexpr bool is_static_literal<static_literal<N>> = true;

/// An expression that has a name: its product is a value of its own and is rounded, so that
/// contraction never reaches from one statement into another.
template <class E>
struct settled : traced {
  using element = typename E::element;
  using shape = typename E::shape;
  E inner;
  explicit constexpr settled(const E &e) : inner(e) {}
  value record(location where) const { return inner.record(where); }
};

/// The elements of expressions and literals meet; a literal follows the others.
template <class E>
struct decides {
  template <class T>
  using with = meet<T, typename E::element>;
};
template <class S>
struct decides<literal<S>> {
  template <class T>
  using with = literal_element<S, T>;
};
template <auto N>
struct decides<static_literal<N>> : decides<literal<decltype(N)>> {};
template <class A, class B>
struct expression_meet {
  using type = typename decides<B>::template with<typename A::element>;
};
template <class S, class B>
struct expression_meet<literal<S>, B> {
  using type = literal_element<S, typename B::element>;
};

template <auto N, class B>
struct expression_meet<static_literal<N>, B> : expression_meet<literal<decltype(N)>, B> {};

template <class T, class Shape, class E>
value record_operand(const E &e, location where) {
  return record_as<T, Shape>(e, where);
}
template <class T, class Shape, class S>
value record_operand(const literal<S> &e, location where) {
  return record_literal<T, Shape>(e.number, where);
}

template <class T, class Shape, auto N>
value record_operand(const static_literal<N> &, location where) {
  static_assert(fits<T>(N), "imbrex: the number does not fit into the tile's element type");
  return record_literal<T, Shape>(N, where);
}

} // namespace detail

/// A number checked by the C++ compiler against the tile's element type: `x << lit<5>`. A plain 5
/// is checked when the kernel is traced.
template <auto N>
  requires detail::literal_number<decltype(N)>
inline constexpr detail::static_literal<N> lit{};

/// Numbers that C++ can't be trusted with: under -ffast-math it believes that there are none.
namespace constants {

inline constexpr detail::special_number infinity{detail::infinite_double};
inline constexpr detail::special_number nan{std::uint64_t{0x7ff8} << 48};

} // namespace constants

} // namespace imbrex
