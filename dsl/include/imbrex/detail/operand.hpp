#pragma once

#include <imbrex/detail/promotion.hpp>
#include <imbrex/detail/recorder.hpp>
#include <imbrex/detail/traced.hpp>

#include <string>

/// What may stand in an expression: tiles, expressions, variables, boxes of views, and literals.
namespace imbrex {

template <class T, int... Extents>
class tile;
template <class T, int Rank>
class view;
template <class T>
class table;

namespace detail {

template <class X>
inline constexpr bool is_view = false;
template <class T, int Rank>
inline constexpr bool is_view<view<T, Rank>> = true;
template <class X>
inline constexpr bool is_table = false;
template <class T>
inline constexpr bool is_table<table<T>> = true;

/// The element of a tile of pointers.
template <class T>
struct pointer {
  using pointee = T;
};
template <class T>
inline constexpr bool is_pointer = false;
template <class T>
inline constexpr bool is_pointer<pointer<T>> = true;

/// The recorder's type of a tile.
template <class T, class Shape>
constexpr type make_type() {
  type made;
  if constexpr (is_pointer<T>) {
    using pointee = typename T::pointee;
    made.element = element_info<std::remove_const_t<pointee>>.name;
    made.form = type_form::pointer_tile;
    made.is_const = std::is_const_v<pointee>;
  } else {
    made.element = element_info<T>.name;
  }
  made.rank = Shape::rank;
  for (int i = 0; i < Shape::rank; ++i)
    made.extents[static_cast<std::size_t>(i)] = Shape::extents[i];
  return made;
}
template <class T, class Shape>
inline constexpr type type_of = make_type<T, Shape>();

template <class T, class Shape>
struct tile_of;
template <class T, int... Extents>
struct tile_of<T, shape_t<Extents...>> {
  using type = tile<T, Extents...>;
};
template <class T, class Shape>
using tile_t = typename tile_of<T, Shape>::type;

/// Something that is recorded when it is used as a value.
template <class E>
concept expression_like = std::derived_from<E, traced> && requires(const E &e, location where) {
  typename E::element;
  typename E::shape;
  { e.record(where) } -> std::same_as<value>;
};

/// How something becomes an expression in a larger one; `E &&` and `const E &` may differ.
template <class X>
struct as_operand {
  static constexpr bool exists = false;
};
template <class X>
  requires expression_like<X>
struct as_operand<X> {
  static constexpr bool exists = true;
  static const X &of(const X &x) { return x; }
};

} // namespace detail

/// A tile, or something that gives one: an expression, a `var`, a box of a view.
template <class X>
concept operand = detail::as_operand<std::remove_cvref_t<X>>::exists;

/// An operand, or a number of the host.
template <class X>
concept operand_or_literal = operand<X> || detail::literal_number<std::remove_cvref_t<X>>;

namespace detail {

template <class X>
decltype(auto) operand_of(const X &x) {
  return as_operand<X>::of(x);
}
template <class X>
using operand_t =
    std::remove_cvref_t<decltype(operand_of(std::declval<const std::remove_cvref_t<X> &>()))>;

template <class X>
struct element_of_operand {
  using type = typename operand_t<X>::element;
};
template <class X>
  requires literal_number<std::remove_cvref_t<X>>
struct element_of_operand<X> {
  using type = own_element_t<std::remove_cvref_t<X>>;
};
template <class X>
using element_t = typename element_of_operand<std::remove_cvref_t<X>>::type;

template <class X>
struct shape_of_operand {
  using type = typename operand_t<X>::shape;
};
template <class X>
  requires literal_number<std::remove_cvref_t<X>>
struct shape_of_operand<X> {
  using type = scalar_shape;
};
template <class X>
using shape_of = typename shape_of_operand<std::remove_cvref_t<X>>::type;

template <class S>
std::string number_text(const S &number) {
  if constexpr (is_float_number<S>)
    return float_text(std::bit_cast<double>(double_bits(number)));
  else
    return std::to_string(number);
}

/// An error when the element cannot hold the number.
template <class T, class S>
void check_literal(const S &number, location where) {
  if (fits<T>(number)) return;
  bool negative = false;
  if constexpr (is_float_number<S>)
    negative = double_bits(number) >> 63 != 0;
  else if constexpr (std::is_signed_v<S>)
    negative = number < 0;
  raise(negative && !element_info<T>.is_signed ? "NegativeLiteral" : "LiteralOutOfRange", where,
        {number_text(number), element_info<T>.name});
}

/// Memory of integers takes no number of the host with a fraction.
template <class T, class X>
constexpr void check_fraction() {
  static_assert(!is_float_number<X> || kind_of<T> >= element_kind::floating,
                "imbrex: the number's fraction would be lost; write it as an integer or cast");
}

/// A host number as a constant.
template <class T, class Shape, class S>
value record_literal(const S &number, location where) {
  check_literal<T>(number, where);
  return record_constant(type_of<T, Shape>, element_bits<T>(number), where);
}

value record_cast(value from, const type &to, location where);
value record_broadcast(value from, const type &to, location where);

/// An operand or literal as a tile of element T and of a shape that its own broadcasts to.
template <class T, class Shape, class X>
value record_as(const X &x, location where) {
  if constexpr (literal_number<X>) {
    return record_literal<T, Shape>(x, where);
  } else {
    using E = operand_t<X>;
    value v = operand_of(x).record(where);
    if constexpr (!std::same_as<typename E::element, T>)
      v = record_cast(v, type_of<T, typename E::shape>, where);
    if constexpr (!std::same_as<typename E::shape, Shape>)
      v = record_broadcast(v, type_of<T, Shape>, where);
    return v;
  }
}

/// An operand as it is.
template <operand X>
value record_value(const X &x, location where) {
  return operand_of(x).record(where);
}

} // namespace detail
} // namespace imbrex
