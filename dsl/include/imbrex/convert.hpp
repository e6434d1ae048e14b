#pragma once

#include <imbrex/tile.hpp>

namespace imbrex {

/// How a conversion to a narrower float rounds.
enum class rounding { nearest, toward_zero };

namespace detail {

inline value record_cast(value from, const type &to, location where) {
  return record("cast", {from}, to, {}, where);
}
inline value record_broadcast(value from, const type &to, location where) {
  return record("broadcast", {from}, to, {}, where);
}

} // namespace detail

/// The same number in another element type: to a float rounded to nearest even (or toward zero), to
/// an integer truncated and saturated (NaN gives 0), to a narrower integer wrapped, to f8 and f4
/// saturated, to bool: x != 0.
template <element To, operand X>
auto cast(const X &x, rounding how, detail::location where = detail::location::current()) {
  using From = detail::element_t<X>;
  using Shape = detail::shape_of<X>;
  static_assert(element<From>,
                "imbrex: pointers are not converted; use bitcast on what they point to");
  const detail::value from = detail::record_value(x, where);
  if constexpr (std::same_as<From, To>) {
    return detail::tile_t<To, Shape>(from);
  } else {
    const std::string_view word = how == rounding::nearest ? "nearest" : "toward_zero";
    return detail::tile_t<To, Shape>(
        detail::record("cast", {from}, detail::type_of<To, Shape>, {{"rounding", word}}, where));
  }
}
template <element To, operand X>
auto cast(const X &x, detail::location where = detail::location::current()) {
  return cast<To>(x, rounding::nearest, where);
}

template <element To, detail::literal_number S, class... Rest>
auto cast(S number, const Rest &...) {
  static_assert(detail::always_false<S>,
                "imbrex: cast works on tiles; of a number of the host make "
                "one by scalar<T>(number), or T(number)");
  return tile<To>(number);
}

namespace detail {

/// A byte that becomes two f4e2m1 doubles the last axis; back halves it.
template <class From, class To, class Shape>
constexpr auto bitcast_shape() {
  constexpr int from = element_info<From>.bits, to = element_info<To>.bits;
  if constexpr (from == to) {
    return Shape{};
  } else {
    constexpr bool bytes_and_fours = (from == 8 && to == 4) || (from == 4 && to == 8);
    static_assert(bytes_and_fours && Shape::rank > 0,
                  "imbrex: bitcast needs element types of the same number of bits");
    constexpr int last = Shape::extents[Shape::rank - 1];
    static_assert(to == 4 || last % 2 == 0, "imbrex: two f4e2m1 make a byte; the last axis is odd");
    constexpr auto extent = [](int i) {
      const int e = Shape::extents[i];
      return i < Shape::rank - 1 ? e : to == 4 ? e * 2 : e / 2;
    };
    return shape_by<Shape::rank, extent>{};
  }
}

} // namespace detail

/// The same bits as another element type. u8 and f4e2m1: two elements per byte along the last axis.
template <element To, operand X>
auto bitcast(const X &x, detail::location where = detail::location::current()) {
  using From = detail::element_t<X>;
  static_assert(!std::same_as<From, bool> && !std::same_as<To, bool>,
                "imbrex: a bool has no bits to cast");
  using Shape = decltype(detail::bitcast_shape<From, To, detail::shape_of<X>>());
  const detail::value from = detail::record_value(x, where);
  if constexpr (std::same_as<From, To>)
    return detail::tile_t<To, Shape>(from);
  else
    return detail::tile_t<To, Shape>(
        detail::record("bitcast", {from}, detail::type_of<To, Shape>, {}, where));
}

} // namespace imbrex
